"""Compiled plans of Flink SQL: which operator of a savepoint is which, and the names of its columns."""
