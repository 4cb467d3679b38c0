"""Savepoints as pages for a web browser, and as tools for agents."""
