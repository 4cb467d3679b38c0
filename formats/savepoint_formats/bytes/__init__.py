"""Bytes: checked views of them, pieces of files, compression."""
