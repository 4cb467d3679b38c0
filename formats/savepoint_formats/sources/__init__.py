"""Sources of keyed state and timers, one per format: entries decoded, or in stored form."""
