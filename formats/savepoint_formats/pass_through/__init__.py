"""Existing state on its way into another savepoint, as bytes."""
