"""From DataFrames to state, under the names of Flink's own writer."""
