"""Savepoints as pages for a web browser."""
