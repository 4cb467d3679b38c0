"""Readers of state files, one per format: headers, and where the records of each state lie."""
