"""How much Spark hands to Python at once."""

from __future__ import annotations

from pyspark.sql import DataFrame

_SIZE = "spark.sql.execution.arrow.maxBytesPerBatch"
_GREATEST = 2**31 - 1
"""What Spark takes for no limit."""


def in_arrow_batches_of(size: int, data: DataFrame) -> DataFrame:
    """The same rows, whose query hands batches of about a size to Python.

    Args:
        size: The most bytes of a batch, unless a row alone has more.
        data: The rows; their session keeps its own setting. Over Spark Connect, which lets nobody
            copy a session, that setting holds.
    """
    if not hasattr(data, "_jdf"):
        return data
    # Spark reads settings as stages begin, hence while other queries of the session do so too. It
    # copies a session for each of its own streams in this way.
    spark = data.sparkSession
    copy = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    copy.conf.set(_SIZE, str(min(size, _GREATEST)))
    datasets = getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset")
    plan = data._jdf.queryExecution().analyzed()
    return DataFrame(datasets.ofRows(copy._jsparkSession, plan), copy)
