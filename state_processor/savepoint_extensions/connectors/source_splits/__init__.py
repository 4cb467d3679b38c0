"""Splits of sources, which are bytes to Flink, and the states of their enumerators.

| state               | of                | an element is                     |
|---------------------|-------------------|-----------------------------------|
| `SourceReaderState` | source, list      | a split of a reader               |
| `coordinator_state` | source            | all splits that no reader has     |
"""
