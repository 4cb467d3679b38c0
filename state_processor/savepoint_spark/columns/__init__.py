"""Columns of Spark: their types, and whether they fit a type of Flink."""
