"""A layout laid flat: what decodes and encodes columns in bulk."""
