"""A diff of a real Flink's state whose tables are not all there is that of all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from savepoint_database.checks.savepoint_diff import SavepointDiff
from savepoint_formats.errors import FormatError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.metadata import IncrementalHandle
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_database.checks.table_diff import TableDiff


def _without_table(pair: TableDiff, place: int) -> TableDiff:
    """The second side without one of the tables of each subtask."""
    operator, subtasks = pair.before.operator, []
    for subtask in pair.before.operator.record.subtasks:
        handle = subtask.managed_keyed_state
        assert isinstance(handle, IncrementalHandle)
        tables = [file for file in handle.shared + handle.private if file.name.endswith(".sst")]
        gone = tables[place : place + 1]
        left = (
            tuple(file for file in files if file not in gone)
            for files in (handle.shared, handle.private)
        )
        shared, private = left
        subtasks.append(
            replace(subtask, managed_keyed_state=replace(handle, shared=shared, private=private))
        )
    record = replace(operator.record, subtasks=tuple(subtasks))
    return replace(pair, after=replace(pair.before, operator=replace(operator, record=record)))


def _rows(pair: TableDiff) -> list[str]:
    return sorted(str(row) for batch in pair.changes() for row in batch.to_pylist())


@pytest.mark.parametrize("place", [0, 3, 6])
def test_lost_tables_have_the_changes_of_all_rows(samples: Path, place: int) -> None:
    savepoint = Savepoint.open(str(samples / "states-2.2.1-rocksdb-native"))
    pairs = SavepointDiff(savepoint, savepoint)._pairs
    (pair,) = (pair for name, (pair, _) in pairs.items() if name.endswith("keyed_state"))
    pair = _without_table(pair, place)
    assert _rows(pair) == _rows(replace(pair, narrow=None))


@pytest.mark.parametrize("full", [False, True])
def test_a_subtask_without_its_key_groups_is_an_error(samples: Path, *, full: bool) -> None:
    savepoint = Savepoint.open(str(samples / "states-2.2.1-rocksdb-native"))
    pairs = SavepointDiff(savepoint, savepoint, full=full)._pairs
    (pair,) = (pair for name, (pair, _) in pairs.items() if name.endswith("keyed_state"))
    operator = pair.before.operator
    first, *others = operator.record.subtasks
    handle = first.managed_keyed_state
    assert isinstance(handle, IncrementalHandle)
    cut = replace(handle, key_groups=KeyGroupRange(0, handle.key_groups.end - 1))
    subtasks = (replace(first, managed_keyed_state=cut), *others)
    record = replace(operator.record, subtasks=subtasks)
    lost = replace(pair, after=replace(pair.before, operator=replace(operator, record=record)))
    with pytest.raises(FormatError, match="expected 0 to"):
        _rows(lost)
