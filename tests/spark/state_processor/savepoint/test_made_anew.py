"""Operators whose whole state is made anew say so once, and tell what they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats.errors import OperatorExistsError
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.writing.write_context import StateTransformation


def keyed(spark: SparkSession, *names: str) -> StateTransformation:
    data = spark.range(2).selectExpr("id", *(f"id AS {name}" for name in names))
    made = OperatorTransformation.bootstrap_with(data).key_by("id")
    for name in names:
        made = made.with_state(ValueStateDescriptor(name, Types.LONG()))
    return made


def test_an_operator_is_made_once(spark: SparkSession) -> None:
    writer = Savepoint.create(spark).with_operator("totals", keyed(spark, "sum"))
    with pytest.raises(OperatorExistsError, match="operator totals is made already"):
        writer.with_operator("totals", keyed(spark, "count"))
    assert writer.remove_operator("totals").with_operator("totals", keyed(spark, "count"))


def test_states_that_are_not_made_anew_are_told(spark: SparkSession, tmp_path: Path) -> None:
    elements = OperatorTransformation.bootstrap_with(spark.range(3)).list_state(
        ListStateDescriptor("buffer", Types.LONG()), "id"
    )
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    made = keyed(spark, "sum", "count")
    Savepoint.create(spark).with_operator("totals", made, elements).write(first)
    writer = Savepoint.load(spark, first, uids=["totals"]).with_operator(
        "totals", keyed(spark, "sum")
    )
    left_out = {"totals.count", "totals.buffer"}
    assert set(writer.plan(second).left_out) == left_out
    assert set(writer.write(second).left_out) == left_out
    with pytest.raises(OperatorExistsError):
        writer.with_operator("totals", keyed(spark, "sum"))
