"""Whether a release of Flink restores a snapshot: rules, each with the source that it follows."""
