"""The byte formats of Flink's savepoints and checkpoints: bytes, values and Arrow, no Spark."""
