"""Stored keys and values: their borders, and the runs of entries."""
