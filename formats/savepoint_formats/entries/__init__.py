"""Keys and values as they are stored: their borders, and the runs of entries."""
