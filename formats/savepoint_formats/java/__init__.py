"""Java's object serialization streams, read and written as inert records."""
