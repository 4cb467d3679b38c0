"""How much Spark hands to Python at once.

By default Spark asks before each row how large the batch has become, which takes longer than the
rows themselves if these are small. Of rows that are known to be small it need only count some.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from savepoint_database.types.sql_names import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

_SIZE = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NO_LIMIT = 2**31 - 1
"""What Spark takes for no limit of the bytes; as a limit it is the greatest."""

_SMALL_ROW = 1 << 16
_SMALL_ROWS = 1000
"""Together no more than the 64 MiB that Spark has by default."""

_LARGE_ROW = f"a row of more than {_SMALL_ROW} bytes"

_VARYING = (T.StringType, T.BinaryType)
_FIXED = (
    T.NumericType,
    T.BooleanType,
    T.NullType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
    T.DayTimeIntervalType,
    T.YearMonthIntervalType,
)


class LargeRowError(Exception):
    """A row is larger than ``of_small_rows`` lets pass."""


def in_arrow_batches_of(size: int, data: DataFrame) -> DataFrame:
    """The same rows, whose query hands batches of about a size to Python.

    Args:
        size: The most bytes of a batch, unless a row alone has more.
        data: The rows; their session keeps its own setting. Over Spark Connect, which lets nobody
            copy a session, that setting holds.
    """
    return _with_settings(data, {_SIZE: min(size, _NO_LIMIT)})


def in_batches_of_small_rows(data: DataFrame) -> DataFrame:
    """The same rows, whose query hands rows to Python that ``of_small_rows`` let pass.

    Args:
        data: The rows, as for ``in_arrow_batches_of``. Collect them in ``large_row_errors``.
    """
    return _with_settings(data, {_SIZE: _NO_LIMIT, _ROWS: _SMALL_ROWS})


@contextmanager
def large_row_errors() -> Iterator[None]:
    """Says why ``of_small_rows`` has ended a query.

    Raises:
        LargeRowError: There is a row that does not pass: run the query again, without this.
    """
    try:
        yield
    except PySparkException as error:
        if _LARGE_ROW not in str(error):
            raise
        raise LargeRowError(_LARGE_ROW) from error


def of_small_rows(data: DataFrame) -> DataFrame | None:
    """The same rows, which end the query if one of them is large.

    Returns:
        None if a column has values whose size takes long to compute, such as arrays and maps.
    """
    columns = [(F.col(quoted(field.name)), field.dataType) for field in data.schema]
    if not all(_has_known_size(kind) for _, kind in columns):
        return None
    sizes = [size for column, kind in columns for size in _sizes(column, kind)]
    if not sizes:
        return data
    whole = reduce(lambda total, size: total + size, sizes)
    (first, kind), name = columns[0], data.columns[0]
    refused = F.raise_error(F.lit(_LARGE_ROW)).cast(kind)
    checked = F.when(whole > _SMALL_ROW, refused).otherwise(first).alias(name)
    return data.select(checked, *(column for column, _ in columns[1:]))


def _has_known_size(kind: T.DataType) -> bool:
    """Whether the size of a value is known from its type, or from ``octet_length``."""
    if isinstance(kind, T.StructType):
        return all(_has_known_size(field.dataType) for field in kind)
    return isinstance(kind, _FIXED + _VARYING)


def _sizes(column: Column, kind: T.DataType) -> Iterator[Column]:
    """The bytes of each text and binary in a column, as numbers of 64 bits."""
    if isinstance(kind, T.StructType):
        for field in kind:
            yield from _sizes(column.getField(field.name), field.dataType)
    elif isinstance(kind, _VARYING):
        yield F.coalesce(F.octet_length(column), F.lit(0)).cast("bigint")


def _with_settings(data: DataFrame, settings: dict[str, int]) -> DataFrame:
    """The same rows, planned in a copy of their session that has other settings.

    Spark reads settings as stages begin, hence while other queries of the session do so too.
    """
    if not hasattr(data, "_jdf"):
        return data
    # Spark copies a session for each of its own streams in this way.
    spark = data.sparkSession
    copy = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, value in settings.items():
        copy.conf.set(name, str(value))
    datasets = getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset")
    plan = data._jdf.queryExecution().analyzed()
    return DataFrame(datasets.ofRows(copy._jsparkSession, plan), copy)
