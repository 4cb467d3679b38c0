"""Aggregates of rows by key, within partitions and across them."""
