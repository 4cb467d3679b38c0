"""Searches for faults in every structure of a snapshot; a fault never ends the search."""
