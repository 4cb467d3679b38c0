"""Serializers of Flink SQL: types, rows and other values, as snapshots and as Java objects."""
