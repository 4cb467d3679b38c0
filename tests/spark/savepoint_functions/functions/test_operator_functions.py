"""Functions without keys make operator state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_functions.functions.process_functions import (
    BroadcastStateBootstrapFunction,
    StateBootstrapFunction,
)
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_spark.writing.write_context import StateTransformation
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

LATEST = MapStateDescriptor("latest", Types.STRING(), Types.LONG())


class Elements(StateBootstrapFunction):
    """A list, and a union list of what it has seen."""

    def open(self, runtime_context: Any) -> None:
        self.seen = 0
        elements = ListStateDescriptor("elements", Types.STRING())
        self.elements = runtime_context.get_list_state(elements)
        self.counts = runtime_context.get_union_list_state(
            ListStateDescriptor("counts", Types.LONG())
        )

    def process_element(self, value: Any, context: Any) -> None:
        self.seen += 1
        self.elements.add(f"{value.id} at {context.timestamp}")

    def snapshot_state(self) -> None:
        self.counts.add(self.seen)


class Latest(BroadcastStateBootstrapFunction):
    """A map of what came last."""

    descriptors = (LATEST,)

    def process_element(self, value: Any, context: Any) -> None:
        context.get_broadcast_state(LATEST).put(f"digit {value.id % 10}", value.id)


def written(
    spark: SparkSession, transformation: StateTransformation, folder: Path
) -> SparkSavepoint:
    path = str(folder / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator("operator", transformation).write(path)
    return Savepoint.load(spark, path, uids=["operator"])


def test_lists_have_what_each_task_added(spark: SparkSession, tmp_path: Path) -> None:
    rows = OperatorTransformation.bootstrap_with(spark.range(100, numPartitions=3))
    savepoint = written(spark, rows.assign_timestamps("id").transform(Elements()), tmp_path)
    elements = savepoint.read_list_state("operator", "elements").collect()
    assert {row.value for row in elements} == {f"{number} at {number}" for number in range(100)}
    counts = [row.value for row in savepoint.read_union_state("operator", "counts").collect()]
    assert len(counts) == 3
    assert sum(counts) == 100


def test_a_function_with_several_states_is_run_once(spark: SparkSession, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.touch()

    class Twice(StateBootstrapFunction):
        def open(self, runtime_context: Any) -> None:
            names = [ListStateDescriptor(name, Types.LONG()) for name in ("first", "second")]
            self.states = [runtime_context.get_list_state(one) for one in names]

        def process_element(self, value: Any, context: Any) -> None:
            for number, state in enumerate(self.states):
                state.add(value.id + number)

        def snapshot_state(self) -> None:
            with calls.open("a") as file:
                file.write("x")

    rows = OperatorTransformation.bootstrap_with(spark.range(10, numPartitions=2))
    savepoint = written(spark, rows.transform(Twice()), tmp_path)
    found = [savepoint.read_list_state("operator", name) for name in ("first", "second")]
    assert [sorted(row.value for row in one.collect()) for one in found] == [
        list(range(10)),
        list(range(1, 11)),
    ]
    assert calls.read_text() == "xx"


def test_a_function_of_broadcast_state_is_opened_with_its_context(
    spark: SparkSession, tmp_path: Path
) -> None:
    class Counted(Latest):
        def open(self, runtime_context: Any) -> None:
            descriptor = ListStateDescriptor("rows", Types.LONG())
            self.rows = runtime_context.get_list_state(descriptor)

        def process_element(self, value: Any, context: Any) -> None:
            super().process_element(value, context)
            self.rows.add(value.id)

    rows = OperatorTransformation.bootstrap_with(spark.range(100, numPartitions=3))
    savepoint = written(spark, rows.transform(Counted()), tmp_path)
    assert savepoint.read_broadcast_state("operator", "latest").count() == 10
    found = savepoint.read_list_state("operator", "rows").collect()
    assert sorted(row.value for row in found) == list(range(100))


def test_a_broadcast_map_is_made_of_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = OperatorTransformation.bootstrap_with(spark.range(100, numPartitions=3))
    savepoint = written(spark, rows.transform(Latest()), tmp_path)
    entries = savepoint.read_broadcast_state("operator", "latest").collect()
    assert {row.key: row.value for row in entries} == {
        f"digit {digit}": 90 + digit for digit in range(10)
    }


def test_a_function_that_names_no_state_is_refused(spark: SparkSession) -> None:
    class Nothing(BroadcastStateBootstrapFunction):
        def process_element(self, value: Any, context: Any) -> None: ...

    with pytest.raises(ValueError, match="Nothing names no state in descriptors"):
        OperatorTransformation.bootstrap_with(spark.range(1)).transform(Nothing())
