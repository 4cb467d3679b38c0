"""Work on some items, shared by tasks of Spark, and errors of tasks as the classes that they raised.

Spark reports an error of a task as a traceback; users want the same class and the same words. If a
process was killed too often, or Java has ended, Spark reports a page of its own frames instead.
"""

from __future__ import annotations

import pickle
import re
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema

from savepoint_database.types import user_frames_first
from savepoint_formats.errors import FormatError, JobError, SavepointError
from savepoint_spark.session.session import is_remote
from savepoint_spark.workers.start import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# The last line of a traceback.
_RAISED = re.compile(r"^([A-Za-z_][\w.]*): (.*)$", re.MULTILINE)
# The message of an exception of Java, after the line that says what was called.
_MESSAGE = re.compile(r"^: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
# Spark waits 10 seconds for a worker that it starts by itself, which no option changes.
_TOO_SLOW = re.compile("Python worker (?:failed )?to connect back")
_RESULTS_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
_AT = re.compile(r"(.*) at byte (-?\d+): (.*)")

# Spark counts 100 bytes of a binary column, and 8 of a row and of its number, whose halves ``_numbers``
# divides by. A null of this type costs a task nothing.
_WIDE_ROW = "STRUCT<a: BINARY, b: BINARY, c: BINARY, d: BINARY, e: BINARY, f: BINARY>"
_ROW_SIZE = (6 * 100 + 16) // 2
_FEW_ROWS = 2

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises the ``SavepointError`` of a task, or ``JobError`` if tasks have died."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        typed = _typed(error)
        if typed is None:
            raise
        raise typed from error


def _typed(error: PySparkException | Py4JError) -> SavepointError | None:
    """The error of a task, or of a job whose tasks have died; None if it is an error of others."""
    if _TOO_SLOW.search(str(error)):
        return JobError(
            "a Python worker of Spark has not started within 10 seconds, because the machine is busy:"
            " run it again, with fewer tasks at once, e.g. with spark.master=local[1]"
        )
    if _RESULTS_LOST in str(error):
        return JobError(
            "executors have died with the results of a function: run it again; with"
            " spark.sparkContext.setCheckpointDir(…), on a file system that all machines see, the"
            " next ones outlive executors"
        )
    kinds = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _kinds(SavepointError)}
    raised = [(kinds[name], words) for name, words in _RAISED.findall(str(error)) if name in kinds]
    if raised or isinstance(error, PySparkException):
        return _error(*raised[-1]) if raised else None
    message = _MESSAGE.search(str(error))
    reason = message[1] if message else str(error).partition("\n")[0]
    return JobError(f"a job of Spark has ended without a result: {reason}")


def _kinds(root: type[SavepointError]) -> Iterator[type[SavepointError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)


def _error(kind: type[SavepointError], message: str) -> SavepointError:
    """An error with words that already tell where it happened."""
    if issubclass(kind, FormatError):
        match = _AT.fullmatch(message)
        return kind(match[3], match[1], int(match[2])) if match else SavepointError(message)
    return kind(message)


def collected(rows: DataFrame) -> pa.Table:
    """All rows, in the memory of this process, with Spark's Arrow types."""
    frame: Any = rows  # the stubs are those of one release
    if hasattr(frame, "toArrow"):  # PySpark has it since 4.0
        return frame.toArrow()
    columns = to_arrow_schema(frame.schema)
    if is_remote(frame.sparkSession):
        client = frame.sparkSession.client
        return client.to_table(frame._plan.to_proto(client))[0].cast(columns)
    return pa.Table.from_batches(frame._collect_as_arrow(), columns)


def rows_of_tasks(
    spark: SparkSession,
    work: Callable[[Item], Iterable[pa.RecordBatch]],
    items: Sequence[Item],
    columns: StructType | str,
    size: int = 0,
) -> DataFrame:
    """The rows of the work on each item, in a task of its own; lazy, like any DataFrame.

    ``size`` are the bytes of all rows, by which Spark decides whether a join broadcasts them.
    """
    numbers = _numbers(spark, len(items), size)
    return numbers.mapInArrow(partial(done_in_task, work, items), columns)


def _numbers(spark: SparkSession, count: int, size: int) -> DataFrame:
    """A row per item, with its number; together they have about ``size`` bytes for Spark's planner.

    Spark takes the rows of ``mapInArrow`` to be as large as its input. It multiplies the rows of a
    range by the width of their columns, and leaves that alone if a filter drops all but some rows.
    """
    share = size // max(count * _ROW_SIZE, 1)
    if share < _FEW_ROWS:
        return spark.range(0, count, 1, max(count, 1))
    numbers = spark.range(0, count * share, 1, count).where(f"id % {share} = 0")
    return numbers.selectExpr(f"id div {share} AS id", f"CAST(NULL AS {_WIDE_ROW}) AS bytes")


def done_by_tasks(
    spark: SparkSession, work: Callable[[Item], Result], items: Sequence[Item]
) -> list[Result]:
    """The results of the work on each item, in order; meant for a few small objects."""
    if not items:
        return []
    pickled = partial(_pickled, work)
    with typed_errors():
        rows = rows_of_tasks(
            spark, pickled, list(enumerate(items)), "number BIGINT, result BINARY"
        ).collect()
    results = {row["number"]: row["result"] for row in rows}
    # Safe to unpickle, because our own tasks have made them.
    return [pickle.loads(results[number]) for number in range(len(items))]


def run_through(rows: DataFrame) -> None:
    """Makes all rows and drops them, so that tasks raise their errors."""
    with typed_errors():
        rows.write.format("noop").mode("overwrite").save()


def _pickled(
    work: Callable[[Item], Result], numbered: tuple[int, Item]
) -> Iterator[pa.RecordBatch]:
    number, item = numbered
    columns = [pa.array([number]), pa.array([pickle.dumps(work(item))], pa.binary())]
    yield pa.RecordBatch.from_arrays(columns, ["number", "result"])


@user_frames_first
def done_in_task(
    work: Callable[[Item], Iterable[pa.RecordBatch]],
    items: Sequence[Item],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The rows of the work on the items of a task, whose numbers are the rows that it gets."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from work(items[number])
    keep_what_is_imported()
