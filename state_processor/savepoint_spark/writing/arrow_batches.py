"""The size of the batches that Spark hands to Python."""

from __future__ import annotations

from pyspark.sql import DataFrame

_SIZE = "spark.sql.execution.arrow.maxBytesPerBatch"
_GREATEST = 2**31 - 1
"""Spark takes this for no limit."""


def in_arrow_batches_of(size: int, data: DataFrame) -> DataFrame:
    """The rows, in batches of at most ``size`` bytes unless a single row has more.

    The session keeps its own setting. Spark Connect lets nobody copy a session, so there that
    setting holds.
    """
    if not hasattr(data, "_jdf"):
        return data
    # Spark reads settings when stages begin, and other queries of the session may run then. Spark
    # itself copies a session for each of its streams in this way.
    spark = data.sparkSession
    copy = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    copy.conf.set(_SIZE, str(min(size, _GREATEST)))
    datasets = getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset")
    plan = data._jdf.queryExecution().analyzed()
    return DataFrame(datasets.ofRows(copy._jsparkSession, plan), copy)
