"""History of a key over the snapshots of a directory."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING, Any

import pytest

from savepoint_formats.errors import OperatorNotFoundError, StateNotFoundError
from state_processor import Savepoint, history

if TYPE_CHECKING:
    from pathlib import Path

KEY = 1
TABLE = "summarize.keyed_state"


def total_of(path: Path) -> float:
    (row,) = Savepoint.open(str(path)).key(KEY).table(TABLE).to_pylist()
    return float(row["total"])


@pytest.fixture
def retained(samples: Path, tmp_path: Path) -> Path:
    """Three savepoints of a job; in the last one a key has another total."""
    names = [f"savepoint-abcdef-00000000000{number}" for number in range(3)]
    source = samples / "currency-2.2.1-hashmap-canonical"
    total = total_of(source)
    for number, name in enumerate(names):
        shutil.copytree(source, tmp_path / name)
        metadata = tmp_path / name / "_metadata"
        data = bytearray(metadata.read_bytes())
        # Magic number and version, then the checkpoint id.
        data[8:16] = struct.pack(">q", number + 5)
        metadata.write_bytes(data)
    before, after = struct.pack(">d", total), struct.pack(">d", total + 1)
    for file in (tmp_path / names[2]).iterdir():
        if file.name != "_metadata":
            file.write_bytes(file.read_bytes().replace(before, after))
    assert total_of(tmp_path / names[2]) == total + 1
    (tmp_path / "chk-9").mkdir()
    return tmp_path


def test_each_complete_snapshot_has_its_moment_in_order(retained: Path) -> None:
    found = history(str(retained), TABLE, KEY)
    assert [one.snapshot.id for one in found.moments] == [5, 6, 7]
    assert [one.is_changed for one in found.moments] == [True, False, True]
    table = found.to_arrow()
    assert table.column_names == ["snapshot", "checkpoint_id", "time", "key", "total", "count"]
    first, _, last = table.column("total").to_pylist()
    assert last == first + 1
    assert table.column("checkpoint_id").to_pylist() == [5, 6, 7]


def test_a_key_that_no_snapshot_has_has_no_rows(retained: Path) -> None:
    found = history(str(retained), TABLE, 123_456_789)
    assert not found.is_found
    assert [one.rows for one in found.moments] == [None, None, None]
    assert found.to_arrow().num_rows == 0


def test_a_snapshot_that_cannot_be_read_is_told(retained: Path) -> None:
    damaged = next(iter(sorted(retained.glob("savepoint-*"))))
    for file in damaged.iterdir():
        if file.name != "_metadata":
            file.write_bytes(b"\0" * file.stat().st_size)
    found = history(str(retained), TABLE, KEY)
    first, *others = found.moments
    assert first.rows is None
    assert first.problem
    assert not any(one.problem for one in others)


@pytest.mark.parametrize(
    ("table", "error"),
    [("nobody.keyed_state", OperatorNotFoundError), ("summarize.timers", StateNotFoundError)],
)
def test_a_table_that_no_snapshot_has_is_told(
    retained: Path, table: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        history(str(retained), table, KEY)


def test_uids_that_only_some_snapshots_have_are_no_matter(retained: Path, samples: Path) -> None:
    shutil.copytree(samples / "states-1.20.5-hashmap-canonical", retained / "other")
    options: dict[str, Any] = {"uids": ["stateful", "summarize"]}
    found = history(str(retained), TABLE, KEY, **options)
    assert [one.rows is not None for one in found.moments].count(True) == 3
    found = history(str(retained), "stateful.keyed_state", "customer-001", **options)
    assert [one.rows is not None for one in found.moments].count(True) == 1


def test_uids_that_can_be_read_once_count_for_all_snapshots(tmp_path: Path, samples: Path) -> None:
    for name in ("first", "second"):
        shutil.copytree(samples / "currency-1.20.5-hashmap-canonical", tmp_path / name)
    found = history(tmp_path, "summarize.keyed_state", 1000, uids=iter(["summarize"]))
    shown = [moment.key_rows.operator for moment in found.moments if moment.key_rows]
    assert shown == ["summarize", "summarize"]
