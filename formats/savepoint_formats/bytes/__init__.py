"""Checked views of bytes, chunks of files, compression."""
