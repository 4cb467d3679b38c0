"""Transformations from DataFrames to state, with the names of Flink's own writer."""
