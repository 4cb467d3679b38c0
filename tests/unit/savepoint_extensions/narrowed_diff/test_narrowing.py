"""Only rows with other bytes are decoded, and the same changes are found as by decoding all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.longs_by_text import savepoint_of_longs

from savepoint_database.checks.savepoint_diff import SavepointDiff
from savepoint_database.checks.table_diff import ChangeCounts, Side
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from savepoint_database.checks.savepoint_diff import SavepointDiff

TOTALS = {f"key {number}": number for number in range(1000)}
CHANGED = TOTALS | {"key 7": -7, "key 8": -8, "another": 1}
del CHANGED["key 9"]


def _rows(batches: Iterator[pa.RecordBatch]) -> list[tuple[str, str, int]]:
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


@pytest.fixture
def diff(tmp_path: Path) -> SavepointDiff:
    before = Savepoint.open(str(savepoint_of_longs(tmp_path / "before", TOTALS)))
    after = Savepoint.open(str(savepoint_of_longs(tmp_path / "after", CHANGED)))
    return before.diff(after)


def test_rows_of_equal_bytes_are_not_decoded(
    diff: SavepointDiff, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded, batches = [], Side.batches

    def counted(side: Side, *groups: object) -> Iterator[pa.RecordBatch]:
        for batch in batches(side, *groups):  # type: ignore[arg-type]
            decoded.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(Side, "batches", counted)
    (table,) = diff.tables
    assert (table.inserted, table.deleted, table.updated, table.unchanged) == (1, 1, 2, None)
    assert sum(decoded) == 3 + 3


def test_a_full_diff_counts_all_rows(diff: SavepointDiff) -> None:
    (table,) = replace(diff, full=True).tables
    assert (table.inserted, table.deleted, table.updated, table.unchanged) == (1, 1, 2, 997)


def test_the_changes_are_those_of_all_rows(diff: SavepointDiff) -> None:
    expected = [
        ("delete", "key 9", 9),
        ("insert", "another", 1),
        ("update_postimage", "key 7", -7),
        ("update_postimage", "key 8", -8),
        ("update_preimage", "key 7", 7),
        ("update_preimage", "key 8", 8),
    ]
    assert _rows(diff.changes()) == expected


def test_counts_of_parts_that_were_not_counted_are_unknown() -> None:
    counted = ChangeCounts(1, 2, 3, 4)
    assert ChangeCounts.joined([counted, counted]) == ChangeCounts(2, 4, 6, 8)
    assert ChangeCounts.joined([counted, ChangeCounts(unchanged=None)]).unchanged is None
