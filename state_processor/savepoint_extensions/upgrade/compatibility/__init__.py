"""Rules that tell whether a release of Flink restores a snapshot, each with its source."""
