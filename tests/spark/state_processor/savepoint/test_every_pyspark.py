"""What every PySpark since 3.5 does, and what older ones refuse; ``.ci/matrix`` runs this on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from pyspark.sql import functions as F
from support.sample_rows import Sample

import state_processor
from savepoint_spark.session.session import expect_release
from savepoint_spark.session.tasks import collected
from state_processor import (
    KeyedProcessFunction,
    MissingPackageError,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from state_processor import KeyedStateTransformation

STATES = Sample("states-2.2.1-rocksdb-native")
RELEASE = tuple(map(int, pyspark.__version__.split(".")[:2]))


def counter() -> KeyedProcessFunction:
    """A function of a local class, which goes to tasks by value."""

    class Count(KeyedProcessFunction):
        """Counts the rows of each key."""

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

        def process_element(self, value: Any, context: Any) -> Iterator[tuple[str, int]]:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield value.word, count

    return Count()


def words(spark: SparkSession) -> KeyedStateTransformation:
    """The word ``a`` twice and ``b`` once."""
    rows = spark.createDataFrame([("a",), ("b",), ("a",)], "word STRING")
    return OperatorTransformation.bootstrap_with(rows).key_by("word")


@pytest.fixture
def counted(spark: SparkSession, tmp_path: Path) -> Savepoint:
    """A new savepoint: ``a`` twice and ``b`` once."""
    keyed = words(spark).transform(counter())
    writer = Savepoint.create(spark, max_parallelism=16, parallelism=2)
    writer.with_operator("words", keyed).write(tmp_path / "counted")
    return Savepoint.load(spark, tmp_path / "counted", uids=["words"])


def counts(savepoint: Any) -> dict[str, int]:
    return {row["key"]: row["n"] for row in savepoint.read_keyed_state("words").collect()}


def test_all_kinds_of_state_are_read(spark: SparkSession) -> None:
    savepoint = Savepoint.load(spark, STATES.path)
    frames: dict[str, DataFrame] = {
        "stateful.keyed_state": savepoint.read_keyed_state("stateful"),
        "stateful.timers": savepoint.read_timers("stateful"),
        "buffer.elements": savepoint.read_list_state("buffer", "elements"),
        "buffer.offsets": savepoint.read_union_state("buffer", "offsets"),
    }
    for table, frame in frames.items():
        assert frame.count() == savepoint.scan(table).to_arrow().num_rows > 0
    expected = {row["key"]: row["last_id"] for row in STATES.keyed_state("stateful")}
    rows = frames["stateful.keyed_state"].select("key", "last_id")
    assert dict(zip(*collected(rows).to_pydict().values(), strict=True)) == expected
    few = savepoint.read_keyed_state("stateful", columns=["key"], where="last_id > 220")
    assert {row["key"] for row in few.collect()} == {
        key for key, last in expected.items() if last > 220
    }


def test_state_is_made_and_changed(spark: SparkSession, counted: Any, tmp_path: Path) -> None:
    assert counts(counted) == {"a": 2, "b": 1}
    counted.update_state("words", "n", F.expr("n + 10")).write(tmp_path / "changed")
    changed = Savepoint.load(spark, tmp_path / "changed", uids=["words"])
    assert counts(changed) == {"a": 12, "b": 11}
    changed.rescale(parallelism=3, max_parallelism=32).write(tmp_path / "rescaled")
    rescaled = Savepoint.load(spark, tmp_path / "rescaled", uids=["words"])
    assert (rescaled.operator("words").record.parallelism, counts(rescaled)) == (3, counts(changed))


def test_a_function_runs(spark: SparkSession) -> None:
    run = words(spark).run(counter(), "word STRING, n BIGINT")
    assert sorted(tuple(row) for row in run.output.collect()) == [("a", 1), ("a", 2), ("b", 1)]


def test_all_names_are_imported_at_once() -> None:
    names: dict[str, Any] = {}
    exec("from state_processor import *", names)  # no function can have this import
    assert names["OperatorTransformation"] is OperatorTransformation
    assert ("MixedModeJob" in names) == (RELEASE >= (4, 0))


def test_tables_in_sql_need_4_0(spark: SparkSession) -> None:
    savepoint = Savepoint.load(spark, STATES.path)
    if RELEASE < (4, 0):
        with pytest.raises(MissingPackageError, match=r"tables in Spark SQL need pyspark 4\.0 or"):
            savepoint.register()
        return
    savepoint.register()
    (row,) = spark.sql("SELECT count(*) FROM stateful.keyed_state").collect()
    assert row[0] == len(STATES.keyed_state("stateful"))


def test_mixed_mode_needs_4_1() -> None:
    if RELEASE >= (4, 1):
        pytest.skip("this PySpark has it")
    with pytest.raises(MissingPackageError, match=r"mixed mode needs pyspark 4\.1 or later, and"):
        expect_release("4.1", "mixed mode needs")
    if RELEASE < (4, 0):
        with pytest.raises(MissingPackageError, match=r"mixed mode needs pyspark 4\.1 or later"):
            state_processor.MixedModeJob  # noqa: B018  # names are imported when they are used
