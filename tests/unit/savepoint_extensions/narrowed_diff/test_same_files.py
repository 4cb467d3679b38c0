"""Sections with the same bytes are not compared again; any other byte is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.longs_by_text import savepoint_of_longs

from savepoint_extensions.narrowed_diff.same_files import Sections, SnapshotFile
from savepoint_formats.metadata import InlineStream, KeyGroupsHandle
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.key_groups import KeyGroupRange

TOTALS = {f"key {number}": number for number in range(500)}


def _sections(folder: Path) -> tuple[Sections, KeyGroupRange]:
    savepoint = Savepoint.open(str(folder))
    (operator,) = savepoint.operators()
    handle = operator.record.subtasks[0].managed_keyed_state
    assert isinstance(handle, KeyGroupsHandle)
    return Sections(SnapshotFile(operator.directory, handle.stream), handle), handle.key_groups


@pytest.mark.parametrize(
    ("changed", "groups"), [({}, 0), ({"key 3": 4}, 1), ({"key 3": 4, "key 4": 3}, 2)]
)
def test_only_changed_key_groups_are_left(
    tmp_path: Path, changed: dict[str, int], groups: int
) -> None:
    before, everything = _sections(savepoint_of_longs(tmp_path / "before", TOTALS))
    after, _ = _sections(savepoint_of_longs(tmp_path / "after", TOTALS | changed))
    # Small neighbours are compared together.
    left = list(before.different(after, everything))
    assert bool(left) == bool(groups)
    single = [
        group
        for group in everything
        if list(before.different(after, type(everything)(group, group)))
    ]
    assert len(single) == groups
    assert set(single) <= set(left)


def test_another_length_is_noticed_in_its_key_group(tmp_path: Path) -> None:
    before, everything = _sections(savepoint_of_longs(tmp_path / "before", TOTALS))
    after, _ = _sections(savepoint_of_longs(tmp_path / "after", TOTALS | {"new": 1}))
    assert len(list(before.different(after, everything))) == 1


def test_files_with_other_headers_have_no_equal_sections(tmp_path: Path) -> None:
    before, everything = _sections(savepoint_of_longs(tmp_path / "before", TOTALS))
    after, _ = _sections(savepoint_of_longs(tmp_path / "after", TOTALS))
    assert isinstance(after.file.stream, InlineStream)
    data = after.file.stream.data.replace(b"total", b"Total")
    stream = InlineStream("state", data)
    other = Sections(SnapshotFile(after.file.directory, stream), after.handle)
    assert list(before.different(other, everything)) == list(everything)
