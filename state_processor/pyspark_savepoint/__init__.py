"""Lets Spark find the data source ``savepoint`` by its name, without a call to register it."""

from savepoint_spark.reading.data_source import SavepointDataSource as DefaultSource

__all__ = ["DefaultSource"]
