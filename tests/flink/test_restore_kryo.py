"""State that Kryo is to read, written from rows, and restored by Flink 1.20 and 2.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.bootstrapped import rows
from support.flink_restore import BACKENDS, RELEASES, FlinkRestore, KeyedState, Operator
from support.voucher_classes import CLASSES, voucher

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

NAME = "written.Voucher"
GENERIC = f"GENERIC<{NAME}>"
SEEN = {
    "code": "12345678-1234-5678-9234-000000000003",
    "price": "-3.50",
    "number": -(2**70) - 3,
    "printed": "Fri Mar 01 10:00:00 UTC 2024",
    "sold": "2024-03-01 10:00:00.123456",
    "since": "2024-03-04T10:00:00.123456Z",
    "until": "2024-02-29",
    "pause": "PT3.000005S",
    "opens": "2024-03-01T10:00:00.000000001+05:30",
    "closes": "2024-07-01T10:00+02:00[Europe/Berlin]",
    "kind": "PRIZE",
    "shops": [2**40, 3],
    "counts": {"x": 3, "y": None},
    "raw": "00ff",
    "none": None,
}
"""The third object as a real job sees it, if Java shows it differently from the row."""
TRANSIENT = {
    "1.20.5": {
        "opens": "2024-03-01T10:00:00.000000001null",
        "closes": "2024-07-01T10:00null[Europe/Berlin]",
    }
}
"""Kryo 2 leaves transient fields out: any ZoneOffset that it has read has no text."""
JOB = Operator(
    "vouchers",
    key="LONG",
    states=(
        KeyedState.value("one", GENERIC),
        KeyedState.list("many", GENERIC),
        KeyedState.map("named", "STRING", GENERIC),
        KeyedState.value("code", "GENERIC<java.util.UUID>"),
    ),
)


@pytest.mark.parametrize("flink", RELEASES)
def test_flink_sees_the_objects_of_rows(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path, flink: str
) -> None:
    kryo = Types.KRYO(NAME, *CLASSES, flink=flink)
    given = spark.createDataFrame(
        [
            (number, voucher(number), [voucher(number + 10)], {"x": voucher(number + 20)})
            for number in range(4)
        ],
        f"id BIGINT, one {kryo.spark_type},"
        f" many ARRAY<{kryo.spark_type}>,"
        f" named MAP<STRING, {kryo.spark_type}>",
    ).selectExpr("*", "one.code AS code")
    keyed = (
        OperatorTransformation.bootstrap_with(given)
        .key_by("id")
        .with_state(ValueStateDescriptor("one", kryo))
        .with_state(ListStateDescriptor("many", kryo))
        .with_state(MapStateDescriptor("named", Types.STRING(), kryo))
        .with_state(ValueStateDescriptor("code", Types.KRYO("java.util.UUID", flink=flink)))
    )
    path = str(tmp_path / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator("vouchers", keyed).write(path)
    for backend in BACKENDS:
        seen = flink_restore(path, JOB, flink=flink, backend=backend).keyed_state("vouchers")
        assert [row["key"] for row in seen] == [0, 1, 2, 3]
        for row in seen:
            first = row["one"]["first"]
            assert first == {"count": row["key"], "share": 0.25, "article": "𝄞 Zoë"}
            assert row["one"]["lines"] == [first, None, {**first, "share": None}]
            assert row["code"] == row["one"]["code"]
            assert row["one"]["tags"] == ["a", None, "b" * row["key"]]
            assert row["one"]["numbers"] == [1, -(2**63)]
            assert row["one"]["words"] == ["ß", None]
            assert row["many"][0]["id"] == row["key"] + 10
            assert row["named"]["x"]["id"] == row["key"] + 20
        assert {name: seen[3]["one"][name] for name in SEEN} == SEEN | TRANSIENT.get(flink, {})
    again = Savepoint.load(spark, path, uids=["vouchers"], kryo_classes=CLASSES)
    table = again.read_keyed_state("vouchers")
    shown = table.selectExpr("key", "one.id", "one.`$undecoded`", "many[0].tags AS tags")
    tags = ["a", None, "b" * 11]
    assert rows(shown, "key")[1] == {"key": 1, "id": 1, "$undecoded": None, "tags": tags}
