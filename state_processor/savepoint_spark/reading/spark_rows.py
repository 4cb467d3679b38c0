"""Rows of a DataFrame as Arrow: the first few at once, or all of them partition by partition."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception

from savepoint_database.types.sql_names import distinct
from savepoint_formats.errors import QueryError
from savepoint_spark.session.task_errors import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

# Of a row of Spark, which has to fit into memory several times on its way.
_STORED_SIZE = 1 << 26


def first_batches(frame: DataFrame, limit: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema and the first rows of a query; errors as for ``query_errors``."""
    with query_errors():
        table = frame.limit(limit).toArrow()
    return table.schema, iter(table.to_batches())


def all_batches(frame: DataFrame) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema and all rows of a query; the driver holds two partitions at a time."""
    with query_errors():
        named = frame.toDF(*distinct(frame.columns))
        schema = named.limit(0).toArrow().schema
    return schema, _batches(named.mapInArrow(_stored, "batch BINARY"), schema)


def _batches(stored: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with query_errors(), _causes():
        for row in stored.toLocalIterator(prefetchPartitions=True):
            with pa.ipc.open_stream(row["batch"]) as stream:
                for batch in stream:
                    yield batch.cast(schema)


def _stored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packs each batch into a row, as an Arrow stream; runs in a task."""
    for batch in batches:
        for piece in _pieces(batch):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, piece.schema) as stream:
                stream.write_batch(piece)
            cell = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], names=["batch"])


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = max(1, batch.num_rows * _STORED_SIZE // max(batch.nbytes, 1))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


@contextmanager
def _causes() -> Iterator[None]:
    """Raises the error of a task; an iterator of rows would only say that it waited in vain."""
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        while (deeper := cause.getCause()) is not None:
            cause = deeper
        raise convert_exception(cause) from error


@contextmanager
def query_errors() -> Iterator[None]:
    """Raises ``QueryError`` or the savepoint's error instead of Spark's errors."""
    try:
        with typed_errors():
            yield
    except PySparkException as error:
        raise QueryError(str(error).strip().splitlines()[0]) from error
