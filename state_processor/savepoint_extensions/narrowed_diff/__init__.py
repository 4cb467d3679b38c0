"""Differences of savepoints by the bytes of their files: which rows have to be decoded."""
