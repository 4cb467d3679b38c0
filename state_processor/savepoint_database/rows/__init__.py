"""Rows of a table as a person or a condition asks for them, without Spark."""
