"""Errors of tasks come out of Spark with their own types."""

from __future__ import annotations

import os
import signal
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from savepoint_formats.errors import FormatError, HashCodeError, JobError, SavepointError
from savepoint_formats.hashing.key_hash import given_hashes
from savepoint_spark.session.tasks import typed_errors
from state_processor import (
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext


def kinds(root: type[SavepointError]) -> Iterator[type[SavepointError]]:
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


OURS = [kind for kind in kinds(SavepointError) if kind.__module__.startswith("savepoint_formats")]


def error_of(kind: type[SavepointError]) -> SavepointError:
    found = (
        kind("a wrong byte", "s3://jobs/sp-1/_metadata", 212)
        if issubclass(kind, FormatError)
        else kind("something is wrong: 7 at byte 3")
    )
    return found.within("state 'total'", "operator sum")


def raised_in_a_task(spark: SparkSession, error: BaseException) -> BaseException:
    """Error of a query whose task raises one."""

    def fail(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"id": pa.array([1], pa.int64())})
        raise error

    with pytest.raises((SavepointError, PySparkException)) as caught, typed_errors():
        spark.range(1, numPartitions=1).mapInArrow(fail, "id BIGINT").collect()
    return caught.value


def line_of(error: SavepointError) -> str:
    """The last line of the traceback of an error, of which alone Spark's text depends on it."""
    return "".join(traceback.format_exception_only(error)).strip()


def test_every_error_of_the_tree_comes_back_as_itself(spark: SparkSession) -> None:
    told = {}
    for base in (SavepointError, FormatError):
        found = raised_in_a_task(spark, error_of(base))
        assert (type(found), str(found)) == (base, str(error_of(base)))
        told[base] = str(found.__cause__)
        assert line_of(error_of(base)) in told[base]
    for kind in OURS:
        base = FormatError if issubclass(kind, FormatError) else SavepointError
        text = told[base].replace(line_of(error_of(base)), line_of(error_of(kind)))
        with pytest.raises(kind) as caught, typed_errors():
            raise PySparkException(text)
        assert (type(caught.value), str(caught.value)) == (kind, str(error_of(kind)))


def killed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield from batches


def test_the_death_of_a_task_is_told_in_a_line(spark: SparkSession) -> None:
    with (
        pytest.raises(JobError, match="a job of Spark has ended without") as raised,
        typed_errors(),
    ):
        spark.range(1).mapInArrow(killed, "id LONG").collect()
    assert "Python worker exited unexpectedly" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", [PySparkException, Py4JError])
def test_a_worker_that_a_busy_machine_does_not_start_in_time_is_told_with_what_to_set(
    kind: type[Exception],
) -> None:
    """Both texts are Spark's, of ``PythonWorkerFactory`` and of the task that waits for it."""
    for text in ("Python worker failed to connect back.", "the Python worker to connect back"):
        with (
            pytest.raises(JobError, match=r"the machine is busy.*spark\.master=local\[1\]"),
            typed_errors(),
        ):
            raise kind(f"org.apache.spark.SparkException: {text}")


def test_an_error_of_others_stays_an_error_of_spark(spark: SparkSession) -> None:
    error = raised_in_a_task(spark, LookupError("savepoint_formats.errors: nothing of ours"))
    assert isinstance(error, PySparkException)
    assert "nothing of ours" in str(error)


COUNT = ValueStateDescriptor("n", Types.LONG())
POJO = Types.POJO("com.example.Account", {"id": Types.LONG()})


class Count(KeyedStateBootstrapFunction):
    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)


def too_few(keys: pa.Array) -> Any:
    return np.zeros(len(keys) // 2, np.int32)


def too_large(keys: pa.Array) -> Any:
    return np.full(len(keys), 1 << 31)


def no_integers(keys: pa.Array) -> Any:
    return np.full(len(keys), 0.5)


WRONG: dict[Callable[[pa.Array], Any], str] = {
    too_few: "of shape",
    too_large: "is 2147483648",
    no_integers: "float64",
}


@pytest.mark.parametrize("hash_code", WRONG)
def test_a_function_gives_an_int_for_each_key(hash_code: Callable[[pa.Array], Any]) -> None:
    with pytest.raises(HashCodeError, match=WRONG[hash_code]):
        given_hashes(hash_code, pa.array(["a", "b", "c", "d"]))


@pytest.mark.parametrize("given", [[1, -1], np.array([1, -1]), pa.array([1, -1], pa.int32())])
def test_any_integers_of_the_size_of_an_int_will_do(given: Any) -> None:
    assert given_hashes(lambda _: given, pa.array(["a", "b"])).tolist() == [1, -1]


@pytest.mark.parametrize("by_function", [False, True])
def test_wrong_hash_codes_are_refused_whatever_makes_the_state(
    spark: SparkSession, tmp_path: Path, by_function: bool
) -> None:
    data = spark.range(10).selectExpr("struct(id) AS key", "id AS n")
    begun = OperatorTransformation.bootstrap_with(data)
    keyed = begun.key_by("key", key_type=POJO, hash_code=too_large)
    made = keyed.transform(Count()) if by_function else keyed.with_state(COUNT)
    writer = Savepoint.create(spark).with_operator("accounts", made)
    with pytest.raises(HashCodeError, match="is 2147483648"):
        writer.write(str(tmp_path / "savepoint"))
