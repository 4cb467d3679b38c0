"""The session of Spark: its Java, its start, and the errors of its tasks."""
