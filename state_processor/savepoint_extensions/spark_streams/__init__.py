"""Checkpoints of Spark's Structured Streaming: read as tables, made savepoints, begun from savepoints."""
