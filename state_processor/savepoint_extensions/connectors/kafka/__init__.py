"""State of Flink's Kafka connector, which is bytes to Flink.

Releases up to 5.0.0; tests have state of 3.4.0-1.20, 4.0.1-2.0, 5.0.0-2.2 and a consumer of 1.17.2.

| state                            | of                               | an element is                   |
|----------------------------------|----------------------------------|---------------------------------|
| `SourceReaderState`              | source, list                     | a split                         |
| `coordinator_state`              | source                           | all partitions that it knows    |
| `topic-partition-offset-states`  | `FlinkKafkaConsumer`, union list | a partition, the last offset    |
| `writer_raw_states`              | writer of a sink, list           | prefix of ids; 4.0 transactions |
| `streaming_committer_raw_states` | committer of a sink, list        | transactions to be committed    |
"""
