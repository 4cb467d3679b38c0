"""Operators whose whole state is made anew say so once, and tell what they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.sample_rows import Sample

from savepoint_formats.errors import OperatorExistsError
from savepoint_formats.savepoint_warnings import LostStateWarning
from savepoint_functions.functions.process_functions import KeyedStateBootstrapFunction
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_spark.writing.write_context import StateTransformation


class Nothing(KeyedStateBootstrapFunction):
    """A function that keeps no state."""

    def process_element(self, value: Any, context: Any) -> None: ...


def keyed(spark: SparkSession, *names: str) -> StateTransformation:
    data = spark.range(2).selectExpr("id", *(f"id AS {name}" for name in names))
    made = OperatorTransformation.bootstrap_with(data).key_by("id")
    for name in names:
        made = made.with_state(ValueStateDescriptor(name, Types.LONG()))
    return made


def test_an_operator_is_made_once(spark: SparkSession) -> None:
    writer = Savepoint.create(spark).with_operator("totals", keyed(spark, "sum"))
    with pytest.raises(OperatorExistsError, match="operator totals is already made"):
        writer.with_operator("totals", keyed(spark, "count"))
    assert writer.remove_operator("totals").with_operator("totals", keyed(spark, "count"))


def test_states_that_are_not_made_anew_are_told(spark: SparkSession, tmp_path: Path) -> None:
    elements = OperatorTransformation.bootstrap_with(spark.range(3)).list_state(
        ListStateDescriptor("buffer", Types.LONG()), "id"
    )
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    made = keyed(spark, "sum", "count")
    Savepoint.create(spark).with_operator("totals", made, elements).write(first)
    loaded = Savepoint.load(spark, first, uids=["totals"])
    with pytest.warns(LostStateWarning, match=r"without totals.count, totals.buffer: give these"):
        writer = loaded.with_operator("totals", keyed(spark, "sum"))
    left_out = {"totals.count", "totals.buffer"}
    assert set(writer.plan(second).left_out) == left_out
    assert set(writer.write(second).left_out) == left_out
    with pytest.raises(OperatorExistsError):
        writer.with_operator("totals", keyed(spark, "sum"))


def test_changes_of_states_are_not_lost(spark: SparkSession) -> None:
    sample = Sample("currency-1.20.5-hashmap-canonical")
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    anew = keyed(spark, "sum")
    changed = savepoint.update_state("summarize", "count", "count + 1")
    for writer in (changed, savepoint.remove_state("summarize", "count")):
        with pytest.raises(OperatorExistsError, match="was changed before, which would be lost"):
            writer.with_operator("summarize", anew)
    with pytest.warns(LostStateWarning, match=r"summarize.count"):
        assert savepoint.rescale(parallelism=1).with_operator("summarize", anew)
    assert changed.remove_operator("summarize").with_operator("summarize", anew)


def test_states_of_columns_are_not_lost_to_a_function(spark: SparkSession) -> None:
    data = spark.range(2).selectExpr("id", "id AS sum")
    rows = OperatorTransformation.bootstrap_with(data).key_by("id")
    made = rows.with_state(ValueStateDescriptor("sum", Types.LONG()))
    count = ValueStateDescriptor("count", Types.LONG())
    calls: list[Callable[[], object]] = [
        lambda: made.transform(Nothing()),
        lambda: made.transform_batches(lambda table: table, count),
        lambda: made.connect(rows),
        lambda: rows.connect(made),
        lambda: made.reduce(max),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="are state 'sum' already, which a function"):
            call()
