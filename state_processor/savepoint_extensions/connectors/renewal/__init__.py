"""State of connectors that Flink 2 doesn't have, written for the connectors that replace them.

| module              | has                                                       |
|---------------------|-----------------------------------------------------------|
| `renewed_operator`  | an operator that loses states and gets lists of bytes     |
| `renewed_source`    | an operator that gets splits, and the coordinator's state |
| `kafka_consumer`    | `FlinkKafkaConsumer` -> `KafkaSource`                     |
| `kafka_producer`    | `FlinkKafkaProducer` -> committer of `KafkaSink`          |
| `producer_state`    | the state of a `FlinkKafkaProducer`                       |
| `kinesis_consumer`  | `FlinkKinesisConsumer` -> `KinesisStreamsSource`          |
| `file_source`       | `ContinuousFileMonitoringFunction` -> `FileSource`        |
| `message_source`    | `RMQSource` -> nothing                                    |
| `stopped_jobs`      | warnings of savepoints that stopped their job             |
| `renewals`          | the table of them, and the writer with renewed operators  |
"""
