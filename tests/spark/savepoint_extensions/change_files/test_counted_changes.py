"""A dry run counts the values and keys that the write changes, no more and no fewer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from support.commands import run
from support.sample_rows import Sample

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import SavepointWriter

UID = "stateful"
SAMPLE = "states-2.2.1-hashmap-canonical"
REVERSED = "map_from_entries(reverse(map_entries(by_currency)))"


def _rows(path: str | Path) -> dict[Any, dict[str, Any]]:
    opened = Savepoint.open(str(path), uids=Sample(SAMPLE).uids)
    return {row["key"]: row for row in opened.scan(f"{UID}.keyed_state").to_arrow().to_pylist()}


def _counts(
    before: dict[Any, dict[str, Any]], after: dict[Any, dict[str, Any]], names: dict[str, str]
) -> set[tuple[str, int, int, int]]:
    """Values, changed and deleted values of states among the keys that are not deleted."""
    counts = set()
    for old, new in names.items():
        pairs = [(row[old], after.get(key, {}).get(new)) for key, row in before.items()]
        there = [pair for pair in pairs if pair[0] is not None]
        changed = [(one, other) for one, other in pairs if other is not None and one != other]
        gone = [pair for pair in there if pair[1] is None]
        counts.add((old, len(there), len(changed), len(gone)))
    return counts


def _as_maps(rows: dict[Any, dict[str, Any]], name: str) -> None:
    for row in rows.values():
        row[name] = dict(row[name]) if row[name] is not None else None


def _planned(writer: SavepointWriter, folder: Path) -> set[tuple[str, int | None, int, int]]:
    counts = writer.plan(folder / "out", check=True).counts
    assert {count.operator for count in counts} <= {UID}
    return {(it.state, it.values, it.changed, it.deleted) for it in counts}


def test_counts_are_those_of_the_written_savepoint(spark: SparkSession, tmp_path: Path) -> None:
    sample = Sample(SAMPLE)
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    older = F.col("customer").withField("age", F.col("customer.age") + 1)
    changed = (
        savepoint.update_state(UID, "last_id", "last_id * 2", where="last_id % 2 = 0")
        .update_state(UID, "customer", older, where="last_id % 5 = 0")
        .update_state(UID, "by_currency", REVERSED)
        .update_state(UID, "memos", F.lit(None), where="last_id % 4 = 0")
        .rename_state(UID, "memos", "remarks")
    )
    planned = _planned(changed, tmp_path)
    changed.write(tmp_path / "changed")
    before, after = _rows(sample.path), _rows(tmp_path / "changed")
    for rows in (before, after):
        _as_maps(rows, "by_currency")
    names = {name: name for name in ("last_id", "customer", "by_currency")}
    assert planned == _counts(before, after, {**names, "memos": "remarks"})
    by_state = {state: (changed, deleted) for state, _, changed, deleted in planned}
    assert by_state["by_currency"] == (0, 0)
    assert by_state["last_id"][0]
    assert by_state["memos"][1]

    # Another stage sees the outcome of those before it, and keys go before values are counted.
    less = savepoint.delete_keys(UID, "last_id % 3 = 0")
    renamed = less.rename_constant("shop.TransactionKind", "REFUND", "BACK", uid=UID)
    later = renamed.delete_keys(UID, "last_id > 0").plan(tmp_path / "out", check=True)
    rests = [row["last_id"] % 3 for row in before.values() if row["last_id"]]
    assert [it.deleted for it in later.counts] == [rests.count(0), len(rests) - rests.count(0)]
    values = {name: size for name, size, *_ in _planned(_zero(less), tmp_path) if name}
    assert values == {"last_id": sum(bool((row["last_id"] or 0) % 3) for row in before.values())}


def _zero(writer: SavepointWriter) -> SavepointWriter:
    return writer.update_state(UID, "last_id", "0")


def test_the_command_shows_the_counts(tmp_path: Path) -> None:
    path = Sample("currency-2.2.1-hashmap-canonical").path
    words = ("update-state", path, "summarize", "total", tmp_path / "out", "--set", "total")
    code, output = run(*words, "--dry-run")
    assert code == 0, output
    assert "Counts" in output
    deleted = ("delete-keys", path, "summarize", tmp_path / "out", "--where", "key > 4")
    code, output = run(*deleted, "--dry-run", "--output", "json")
    assert code == 0, output
    keys = [
        row["key"]
        for row in Savepoint.open(path).scan("summarize.keyed_state").to_arrow().to_pylist()
    ]
    assert f'"changed": 0, "deleted": {sum(key > 4 for key in keys)}' in output
