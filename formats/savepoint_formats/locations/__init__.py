"""Finds the files of a snapshot: on which file system they are, and which may be followed."""
