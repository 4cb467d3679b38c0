"""The state of Flink's Kafka connector, which to Flink is but bytes: `docs/kafka-state.md` has the formats."""
