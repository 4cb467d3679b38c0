"""The directory of a snapshot that is being written; commits and copies; and single files."""
