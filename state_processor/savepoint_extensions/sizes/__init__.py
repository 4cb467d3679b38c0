"""Sizes of state: keys, entries, bytes and times, counted from the borders of stored entries."""
