"""Counts of keys, entries, bytes and times of states, from the borders of stored entries."""
