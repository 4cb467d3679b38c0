"""Finds the files of a snapshot, and decides which paths may be followed."""
