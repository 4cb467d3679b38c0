"""Savepoints in a Spark session: DataFrames of their tables, and savepoints that are written."""
