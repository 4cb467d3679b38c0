"""Savepoints for users: opened, read with Spark, changed and written."""
