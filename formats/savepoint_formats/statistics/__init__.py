"""What states weigh: keys, entries, bytes, times, counted from the borders of stored entries."""
