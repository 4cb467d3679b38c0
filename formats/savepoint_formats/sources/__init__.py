"""Keyed state and timers of a handle, decoded: a source for each format of state files."""
