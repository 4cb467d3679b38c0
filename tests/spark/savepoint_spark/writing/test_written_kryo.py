"""Objects of Kryo in columns: written from rows, changed, and refused where the Flinks differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.bootstrapped import rows

from state_processor import (
    MigrationError,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    kryo_class,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_spark.writing.write_context import StateTransformation

LINE = kryo_class("shop.Line", {"count": "int", "tags": "java.util.List<java.lang.String>"})


def lines(spark: SparkSession, flink: str) -> StateTransformation:
    data = spark.range(3).selectExpr(
        "id", "named_struct('count', CAST(id AS INT), 'tags', array('a', NULL)) AS line"
    )
    line = ValueStateDescriptor("line", Types.KRYO("shop.Line", LINE, flink=flink))
    return OperatorTransformation.bootstrap_with(data).key_by("id").with_state(line)


def test_objects_are_changed_as_their_fields_are(spark: SparkSession, tmp_path: Path) -> None:
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    written = Savepoint.create(spark).with_operator("lines", lines(spark, "2.2")).write(old)
    assert written.metadata_version == 5
    savepoint = Savepoint.load(spark, old, uids=["lines"], kryo_classes=[LINE])
    more = F.col("line").withField("count", F.col("line.count") + 1)
    changed = savepoint.update_state("lines", "line", more, where="key > 0")
    with pytest.raises(MigrationError, match=r"objects for Kryo 2.24 and for 5.6"):
        changed.with_operator("more", lines(spark, "1.20")).plan(new)
    assert changed.write(new).metadata_version == 5
    table = Savepoint.load(spark, new, uids=["lines"], kryo_classes=[LINE])
    assert rows(table.read_keyed_state("lines"), "key") == [
        {"key": key, "line": {"count": count, "tags": ["a", None], "$undecoded": None}}
        for key, count in enumerate([0, 2, 3])
    ]
