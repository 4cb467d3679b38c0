"""Snapshots of all backends become canonical savepoints, with every row where it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.commands import lines
from support.sample_rows import SAMPLES

from savepoint_formats.metadata import KeyedHandleType
from savepoint_formats.tables.tables import KEYED_STATE, TIMERS, WINDOW_STATE
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NATIVE = [
    "states-1.20.5-hashmap-changelog/chk-2",
    "states-2.2.1-rocksdb-filemerging/chk-2",
    "states-2.2.1-rocksdb-heaptimers/chk-2",
    "windows-2.2.1-hashmap-native",
    "objects-2.2.1-rocksdb-native",
]
OF_FLINK_1_8 = "new-stateful-udf-migration-itcase-flink1.8-rocksdb-savepoint"
KEYED = (KEYED_STATE, WINDOW_STATE, TIMERS)


def rows(savepoint: Savepoint) -> dict[str, list[str]]:
    """The rows of all tables; those of keys with the key groups that they lie in."""
    found = {}
    for table in savepoint.tables():
        is_keyed = table.table.rpartition(".")[2] in KEYED
        scan = savepoint.scan(table.table, with_times=True, with_key_group=is_keyed)
        found[table.table] = sorted(map(str, scan.to_arrow().to_pylist()))
    return found


def converted(spark: SparkSession, before: Savepoint, folder: Path) -> Savepoint:
    """Result of ``convert``; the plan says what was written."""
    writer = before.convert(to="canonical").with_session(spark)
    planned = {one.operator: one.action for one in writer.plan(str(folder)).operators}
    made = {one.operator: one.action for one in writer.write(str(folder)).operators}
    assert made == planned
    assert set(made.values()) == {"copied", "converted"}
    return Savepoint.open(str(folder))


def expect_canonical(after: Savepoint, before: Savepoint) -> None:
    """Only keyed state has other handles, and no file lies outside the directory."""
    for new, old in zip(after.operators(), before.operators(), strict=True):
        assert replace(new.record, subtasks=()) == replace(old.record, subtasks=())
        for subtask in new.record.subtasks:
            handle = subtask.managed_keyed_state
            assert handle is None or handle.type is KeyedHandleType.CANONICAL_SAVEPOINT
            assert subtask.raw_keyed_state is None
    for file in after.files():
        assert file.references
        assert not file.is_missing
        assert "/" not in file.path


@pytest.mark.parametrize("name", NATIVE)
def test_a_snapshot_has_the_same_rows_in_the_same_key_groups(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    before = Savepoint.open(str(SAMPLES / name))
    after = converted(spark, before, tmp_path / "canonical")
    expect_canonical(after, before)
    assert after.describe().kind == "canonical savepoint"
    assert rows(after) == rows(before)
    # Two states have objects of classes that nobody described.
    assert not [fault for fault in after.verify().faults if fault.is_damage]


def test_a_savepoint_of_a_backends_own_format_before_1_13(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    before = Savepoint.open(str(corpus / "savepoints" / OF_FLINK_1_8))
    after = converted(spark, before, tmp_path / "canonical")
    assert after.describe().keyed_formats == ("canonical",)
    assert rows(after) == rows(before)


def test_the_command_converts(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "canonical"
    (written,) = lines("convert", SAMPLES / "currency-2.2.1-rocksdb-native", out)
    actions = {one["operator"]: one["action"] for one in written["operators"]}
    assert actions.pop("summarize") == "converted"
    assert set(actions.values()) == {"copied"}
    assert written["files"] == len(list(out.iterdir()))
    assert written["left_out"] == []
    (found,) = lines("describe", out)
    assert (found["kind"], found["keyed_formats"]) == ("canonical savepoint", ["canonical"])
