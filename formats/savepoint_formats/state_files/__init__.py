"""Readers of state files, one per format: headers, and the places of each state's records."""
