"""A transformation replaces or adds single states of an operator, and all others stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.changed_savepoints import load, rows, tables, written
from support.sample_rows import Sample

from savepoint_formats.errors import KeyTypeError, MigrationError, SchemaChangeError
from savepoint_spark.changing.outcome import outcome
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SAMPLE = Sample("states-2.2.1-rocksdb-native")
OLD = Sample("states-1.20.5-hashmap-canonical")
UID = "stateful"


def keyed(data: DataFrame, *descriptors: ValueStateDescriptor, key: str = "key") -> Any:
    made = OperatorTransformation.bootstrap_with(data).key_by(key)
    for descriptor in descriptors:
        made = made.with_state(descriptor)
    return made


@pytest.mark.parametrize("sample", [SAMPLE, OLD], ids=str)
def test_states_get_another_type_or_are_new_and_others_stay(
    spark: SparkSession, sample: Sample, tmp_path: Path
) -> None:
    before = load(spark, sample)
    found = before.read_keyed_state(UID)
    data = found.selectExpr("key", "concat('#', last_id) last_id", "map(key, 1L) fresh")
    data = data.union(spark.sql("SELECT 'new', '#0', NULL"))
    made = (
        OperatorTransformation.bootstrap_with(data)
        .key_by("key")
        .with_state(ValueStateDescriptor("last_id", Types.STRING()))
        .with_state(MapStateDescriptor("fresh", Types.STRING(), Types.LONG()))
    )
    numbers = OperatorTransformation.bootstrap_with(spark.range(3)).list_state(
        ListStateDescriptor("numbers", Types.LONG()), "id"
    )
    writer = before.with_state(UID, made).with_state("buffer", numbers)
    assert writer.plan(str(tmp_path / "planned")).left_out == ()
    after = written(spark, writer, sample, tmp_path)
    table = after.read_keyed_state(UID)
    assert rows(table.selectExpr("key", "last_id", "fresh").where("last_id IS NOT NULL")) == rows(
        data.where("last_id IS NOT NULL")
    )
    same = [name for name in found.columns if name != "last_id"]
    assert rows(table.select(same).where("key <> 'new'")) == rows(found.select(same))
    assert rows(after.read_list_state("buffer", "numbers")) == rows(
        spark.range(3).withColumnRenamed("id", "value")
    )
    assert tables(after, f"{UID}.keyed_state", "buffer.numbers") == tables(
        before, f"{UID}.keyed_state"
    )


def test_what_can_not_be_beside_the_other_states_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = load(spark, OLD)
    texts = spark.sql("SELECT 'a' key, 1L number, 1L last_id")
    number = keyed(texts, ValueStateDescriptor("number", Types.LONG()))
    last_id = keyed(texts, ValueStateDescriptor("last_id", Types.LONG()))
    by_long = keyed(texts, ValueStateDescriptor("last_id", Types.LONG()), key="number")
    with pytest.raises(KeyTypeError, match=r"has keys of string.* have keys of int64"):
        before.with_state(UID, by_long)
    writer = before.with_state(UID, number)
    with pytest.raises(SchemaChangeError, match="write that first"):
        writer.update_state(UID, "last_id", "last_id")
    again = writer.with_state(UID, number).remove_state(UID, "number").with_state(UID, last_id)
    renamed = before.rename_state(UID, "last_id", "id").with_state(UID, last_id)
    for changed, names in ((again, {"last_id"}), (renamed, {"last_id", "id"})):
        changed.plan(str(tmp_path / "out"), check=True)
        change = changed.operator(UID).change
        assert change is not None
        assert {"last_id", "id", "number"} & set(outcome(change).state_columns) == names
    for wrong in ((UID, texts), (UID, "last_id"), (UID, number, texts)):
        with pytest.raises(TypeError):
            before.with_state(*wrong)
    uuids = spark.sql("SELECT 'a' key, '00000000-0000-0001-0000-000000000002' code")
    code = ValueStateDescriptor("code", Types.KRYO("java.util.UUID", flink="2.2"))
    with pytest.raises(MigrationError, match=r"write all of it for one of them"):
        before.with_state(UID, keyed(uuids, code)).plan(str(tmp_path / "out"))
