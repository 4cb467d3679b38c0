"""Keyed state and timers of a handle: entries, decoded or as they are stored; a source per format."""
