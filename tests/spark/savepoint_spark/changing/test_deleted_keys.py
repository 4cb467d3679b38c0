"""Keys of all kinds are deleted by a condition, exactly those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.keys_of_kinds import KINDS, KindOfKey
from support.sample_rows import SAMPLES

from savepoint_extensions.privacy.chosen_keys import listed_keys
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.pass_through.divided_entries import ListedKeys
from savepoint_spark.changing.outcome import outcome
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PYFLINK = SAMPLES / "pyflink-2.2.1"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_condition_chooses_the_bytes_of_its_keys(
    spark: SparkSession, kind: KindOfKey, tmp_path: Path
) -> None:
    kind.savepoint(tmp_path)
    writer = Savepoint.load(spark, str(tmp_path)).delete_keys("a", "total = 1")
    change = writer.operator("a").change
    assert change is not None
    (chosen,) = change.stored_rows(spark).choices
    assert isinstance(chosen, ListedKeys)
    expected = listed_keys(change.operator, kind.keys[1:2], is_excluded=True)
    assert chosen.keys.to_pylist() == expected.keys.to_pylist()


@pytest.mark.parametrize("name", ["instant", "uuid", "double", "row of sql"])
def test_the_other_keys_stay(spark: SparkSession, name: str, tmp_path: Path) -> None:
    (kind,) = (kind for kind in KINDS if kind.name == name)
    (tmp_path / "before").mkdir()
    kind.savepoint(tmp_path / "before")
    before = Savepoint.load(spark, str(tmp_path / "before"), uids=["a"])
    writer = before.delete_keys("a", "total = 1")
    writer = writer.with_forms(nanoseconds="struct").update_state("a", "total", "total * 10")
    writer.write(str(tmp_path / "after"))
    scan = Savepoint.open(str(tmp_path / "after")).scan("a.keyed_state", columns=["total"])
    totals = [total for batch in scan.batches() for total in batch.column(0).to_pylist()]
    assert sorted(totals) == [10 * number for number in range(len(kind.keys)) if number != 1]


@pytest.mark.parametrize("types", [None, str(PYFLINK / "types.yaml")], ids=["untold", "told"])
def test_keys_of_pyflink_are_deleted(
    spark: SparkSession, types: str | None, tmp_path: Path
) -> None:
    before = Savepoint.load(spark, str(PYFLINK), types=types)
    keys = {"by_long": "key > 1", "by_text": "key <> 'a'", "by_row": "key.f0 = 1"}
    if types is not None:
        keys["by_row"] = "key.size = 1"
    writer = before.writer()
    for uid, where in keys.items():
        writer = writer.delete_keys(uid, where)
    writer.write(str(tmp_path / "after"))
    after = Savepoint.load(spark, str(tmp_path / "after"), types=types)
    for uid, where in keys.items():
        table = f"{uid}.keyed_state"
        kept = before.read_table(table).where(f"NOT ({where})").select("key").collect()
        assert kept
        assert sorted(map(str, after.read_table(table).select("key").collect())) == sorted(
            map(str, kept)
        )
    assert after.read_table("by_tuple.keyed_state").count() == 4


def test_state_that_was_given_anew_is_written_first(spark: SparkSession, tmp_path: Path) -> None:
    KINDS[0].savepoint(tmp_path)
    before = Savepoint.load(spark, str(tmp_path), uids=["a"])
    writer = before.with_state("a", "total", before.read_keyed_state("a"))
    with pytest.raises(SchemaChangeError, match="'total' of operator a was given anew"):
        writer.delete_keys("a", "total = 0")
    with pytest.raises(SchemaChangeError, match="write that first"):
        writer.update_state("a", "total", "total + 1")
    removed = writer.remove_state("a", "total").operator("a").change
    assert removed is not None
    assert "total" not in outcome(removed).state_columns
    assert "sum" in str(writer.rename_state("a", "total", "sum").operator("a").change)
