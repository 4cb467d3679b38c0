"""Rows that differ become changes: both rows of an update belong together, and keys of a map may repeat."""

from __future__ import annotations

import pyarrow as pa
import pytest

from savepoint_extensions.change_feed import changed_values
from savepoint_extensions.change_feed.changed_values import RowPairs, entry_changes, whole_updates

ROWS = pa.record_batch(
    {
        "change_type": ["delete", "insert", *["update_preimage", "update_postimage"] * 3],
        "key": ["a", "b", "c", "c", "d", "d", "e", "e"],
    }
)
SCHEMA = pa.schema(
    {
        "key": pa.string(),
        "map_key": pa.string(),
        "before": pa.int64(),
        "after": pa.int64(),
        "kind": pa.string(),
    }
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_both_rows_of_an_update_are_in_a_batch(size: int) -> None:
    parts = [ROWS.slice(start, size) for start in range(0, len(ROWS), size)]
    batches = list(whole_updates(parts))
    assert pa.Table.from_batches(batches).to_pylist() == ROWS.to_pylist()
    pairs = [
        (None if old < 0 else keys[old], None if new < 0 else keys[new])
        for batch in batches
        for keys in [batch["key"].to_pylist()]
        for rows in [RowPairs.of_diff(batch)]
        for old, new in zip(rows.before, rows.after, strict=True)
    ]
    assert pairs == [("a", None), (None, "b"), ("c", "c"), ("d", "d"), ("e", "e")]


def test_keys_of_a_map_that_read_as_equal_are_paired_by_their_values() -> None:
    """Java's keys may differ where a reader sees the same text."""
    kind = pa.map_(pa.string(), pa.int64())
    maps = pa.array([[("x", 1), ("x", 2), ("y", 5)], [("x", 2), ("z", 3), ("x", 1)]], kind)
    rows = pa.record_batch(
        {"change_type": ["update_preimage", "update_postimage"], "key": ["k", "k"], "map": maps}
    )
    changes = pa.Table.from_batches(
        entry_changes(RowPairs.of_diff(rows), ["key"], rows["map"], SCHEMA), SCHEMA
    )
    assert changes.sort_by("map_key").to_pylist() == [
        {"key": "k", "map_key": "y", "before": 5, "after": None, "kind": "removed"},
        {"key": "k", "map_key": "z", "before": None, "after": 3, "kind": "added"},
    ]


def test_a_large_map_is_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_values, "_BATCH_ROWS", 100)
    entries = [(str(number), number) for number in range(1050)]
    maps = pa.array([entries], pa.map_(pa.string(), pa.int64()))
    rows = pa.record_batch({"change_type": ["insert"], "key": ["k"], "map": maps})
    batches = list(entry_changes(RowPairs.of_diff(rows), ["key"], rows["map"], SCHEMA))
    assert [len(batch) for batch in batches] == [100] * 10 + [50]
    assert sorted(pa.Table.from_batches(batches)["after"].to_pylist()) == list(range(1050))
