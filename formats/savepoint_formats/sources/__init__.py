"""Sources of keyed state and timers, one per format: entries decoded, or as they are stored."""
