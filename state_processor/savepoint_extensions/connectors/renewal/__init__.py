"""State of connectors that Flink 2 doesn't have, written for the connectors that replace them.

| module              | has                                                       |
|---------------------|-----------------------------------------------------------|
| `renewed_operator`  | an operator that loses states and gets lists of bytes     |
| `kafka_consumer`    | `FlinkKafkaConsumer` -> `KafkaSource`                     |
| `kafka_producer`    | `FlinkKafkaProducer` -> committer of `KafkaSink`          |
| `renewals`          | the table of them, and the writer with renewed operators  |
"""
