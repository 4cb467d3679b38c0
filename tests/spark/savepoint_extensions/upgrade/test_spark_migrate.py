"""Savepoints of Flink 1.20 written for Flink 2.x: the same values, as the newer Flink has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.kryo_operator_state import UID, savepoint_of
from support.kryo_vectors import VECTORS
from support.object_classes import CARD, CLASSES
from support.object_samples import UIDS, by_id, opened
from support.sample_rows import SAMPLES

from state_processor import Savepoint, UndecodableError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_extensions.upgrade.compatibility_answer import Compatibility


@pytest.mark.parametrize("written_by", ["hashmap-native", "rocksdb-canonical"])
def test_values_are_those_of_the_same_job_in_flink_2(
    spark: SparkSession, tmp_path: Path, written_by: str
) -> None:
    path, out = str(SAMPLES / f"objects-1.20.5-{written_by}"), str(tmp_path / "out")
    known = (*CLASSES, CARD)
    old = Savepoint.load(spark, path, uids=UIDS, kryo_classes=known)
    written = old.migrate().write(out)
    changed = {one.operator for one in written.operators if one.action == "changed"}
    assert changed - {"payments"} == {"baskets", "crates", "shapes"}
    migrated, own = opened(out, known), opened("objects-2.2.1-hashmap-canonical", known)
    assert migrated.metadata.version == 5
    for uid in changed:
        assert by_id(migrated, f"{uid}.keyed_state") == by_id(own, f"{uid}.keyed_state")
    # What sources have of their own is as unknown as before.
    before, after = (one.compatibility("2.2") for one in (old, migrated))
    of_sources = rules(before)["connector"]
    assert len(of_sources) == 2
    assert rules(after) == {"connector": of_sources}
    assert after.verdict == "unknown"


def rules(judged: Compatibility) -> dict[str, list[tuple[str, str]]]:
    """Rule -> the operators and states that it finds something in."""
    places: dict[str, list[tuple[str, str]]] = {}
    for state in judged.states():
        for finding in state.findings:
            places.setdefault(finding.rule, []).append((state.operator, state.state))
    return places


def test_operator_state_is_written_anew(spark: SparkSession, tmp_path: Path) -> None:
    by_version = {(one["name"], one["flink"][0]): bytes.fromhex(one["data"]) for one in VECTORS}
    names = ["kryo:uuid", "kryo:date", "kryo:str", "kryo:bitset", "kryo:null"]
    old, new = ([by_version[name, version] for name in names] for version in "12")
    path = savepoint_of(tmp_path / "old", old, {"b": old[0]})
    out = str(tmp_path / "out")
    Savepoint.load(spark, path, uids=[UID]).migrate().write(out)
    migrated = Savepoint.open(out, uids=[UID])
    assert [one["value"]["bytes"] for one in rows(migrated, "objects")] == new
    assert [(one["key"], one["value"]["bytes"]) for one in rows(migrated, "by_name")] == [
        ("b", new[0])
    ]


def rows(savepoint: Savepoint, table: str) -> list[dict[str, Any]]:
    return list(savepoint.scan(f"{UID}.{table}").to_arrow().to_pylist())


def test_an_object_that_nobody_describes_fails_the_write(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(SAMPLES / "objects-1.20.5-hashmap-canonical")
    writer = Savepoint.load(spark, path, uids=UIDS, kryo_classes=[CARD]).migrate()
    with pytest.raises(UndecodableError, match=r"whose fields are not known: describe the class"):
        writer.write(str(tmp_path / "out"))
    assert not (tmp_path / "out" / "_metadata").exists()
