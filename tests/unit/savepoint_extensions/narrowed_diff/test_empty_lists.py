"""Rows without a value are counted as in the diff of all rows, or not at all."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.bytes import DataOutputView
from savepoint_formats.entries import StoredEntries
from savepoint_formats.entries.stored_entries import runs
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import (
    CheckpointMetadata,
    OperatorState,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from pathlib import Path

UID = "a"
KEYS = 90


def _savepoint_of_lists(folder: Path, lists: list[list[int]]) -> Savepoint:
    """A list for each key from 0, all in one key group."""
    folder.mkdir()
    key, of = Types.LONG().snapshot, Types.LIST(Types.LONG()).snapshot
    info = StateMetaInfo.of_keys("lists", KeyedStateType.LIST, constructed.void_namespace(), of)
    keys = [struct.pack(">qb", number, 0) for number in range(len(lists))]
    values = [b",".join(struct.pack(">q", number) for number in each) for each in lists]
    entries = StoredEntries(*(pa.array(each, pa.large_binary()) for each in (keys, values)))
    rows = runs(entries, pa.array([0] * len(lists), pa.uint16()).to_numpy(), 0, 1)
    sections = [
        (group, [run.as_buffer()])
        for group, run in zip(rows["key_group"].to_pylist(), rows["run"], strict=True)
    ]
    with (folder / "state").open("wb") as output:
        header = KeyedBackendHeader.of(key, (info,))
        file = CanonicalFile.write(output, header, KeyGroupRange(0, 0), sections)
    subtask = SubtaskState(0, managed_keyed_state=file.handle(RelativeFile("state", file.size)))
    view = DataOutputView()
    operator = OperatorState(OperatorId.from_uid(UID), 1, 1, (subtask,))
    CheckpointMetadata.new((operator,)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return Savepoint.open(str(folder), uids=[UID])


def test_empty_lists_are_no_unchanged_rows(tmp_path: Path) -> None:
    lists = [[] if key % 3 == 0 else [key] for key in range(KEYS)]
    before = _savepoint_of_lists(tmp_path / "before", lists)
    after = _savepoint_of_lists(tmp_path / "after", [*lists[:-1], [1, 2]])
    (narrowed,), (full,) = (before.diff(after, full=each).tables for each in (False, True))
    assert (full.updated, full.unchanged) == (1, KEYS * 2 // 3 - 1)
    assert (narrowed.updated, narrowed.unchanged) == (1, None)


def test_rows_of_lists_are_counted(tmp_path: Path) -> None:
    lists = [[key] for key in range(KEYS)]
    before = _savepoint_of_lists(tmp_path / "before", lists)
    after = _savepoint_of_lists(tmp_path / "after", [*lists[:-1], []])
    (narrowed,), (full,) = (before.diff(after, full=each).tables for each in (False, True))
    assert narrowed == full
    assert (full.deleted, full.unchanged) == (1, KEYS - 1)
