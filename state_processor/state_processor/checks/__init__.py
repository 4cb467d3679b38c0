"""Whether a snapshot is whole, and in what two of them differ; without Spark."""
