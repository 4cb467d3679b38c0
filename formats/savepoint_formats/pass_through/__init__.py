"""Existing state on its way into another savepoint, as the bytes that it is."""
