"""How much Spark hands to Python at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
_MAX_INT = 2**31 - 1


@contextmanager
def arrow_batches_of(size: int, spark: SparkSession) -> Iterator[None]:
    """Has the queries that begin meanwhile hand batches of about a size to Python.

    Args:
        size: The most bytes of a batch, unless a row alone has more.
        spark: The session; it has its own setting again afterwards.
    """
    before = spark.conf.get(_SETTING)
    assert before is not None  # it has a default
    spark.conf.set(_SETTING, str(min(size, _MAX_INT)))
    try:
        yield
    finally:
        spark.conf.set(_SETTING, before)
