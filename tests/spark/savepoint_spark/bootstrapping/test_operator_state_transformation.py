"""Operator state made of DataFrames reads back as what was put in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_lists_unions_and_broadcasts_stand_beside_keyed_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    accounts = spark.range(1000).selectExpr("id AS account", "id * 1.5D AS total")
    begin = OperatorTransformation.bootstrap_with
    rates = spark.createDataFrame([(1, 1.5), (2, 2.5)], "currency INT, rate DOUBLE")
    writer = Savepoint.create(spark, parallelism=2).with_operator(
        "operator",
        begin(accounts).key_by("account").with_state(ValueStateDescriptor("total", Types.DOUBLE())),
        begin(accounts).list_state(ListStateDescriptor("elements", Types.LONG()), "account"),
        begin(accounts).union_state(ListStateDescriptor("offsets", Types.DOUBLE()), "total"),
        begin(rates).broadcast_state(
            MapStateDescriptor("rates", Types.INT(), Types.DOUBLE()),
            key="currency",
            value="rate",
        ),
    )
    writer.write(str(tmp_path / "savepoint"))
    savepoint = Savepoint.load(spark, str(tmp_path / "savepoint"), uids=["operator"])
    elements = savepoint.read_list_state("operator", "elements", with_subtask=True).collect()
    assert sorted(row.value for row in elements) == list(range(1000))
    assert {row.subtask for row in elements} == {0, 1}
    offsets = savepoint.read_union_state("operator", "offsets").collect()
    assert sorted(row.value for row in offsets) == [number * 1.5 for number in range(1000)]
    copies = savepoint.read_broadcast_state("operator", "rates", with_subtask=True).collect()
    assert sorted((row.subtask, row.key, row.value) for row in copies) == [
        (0, 1, 1.5),
        (0, 2, 2.5),
        (1, 1, 1.5),
        (1, 2, 2.5),
    ]
    assert savepoint.read_keyed_state("operator").count() == 1000
