"""Keys and values as they are stored: frames, portions, runs."""
