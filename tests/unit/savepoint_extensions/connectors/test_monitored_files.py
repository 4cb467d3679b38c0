"""Files of a real job of Flink 1.20.5 that watched a directory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.file_states import DIRECTORY, METADATA, NEWEST_MS, UIDS
from support.rabbitmq_states import SOURCE

from savepoint_extensions.connectors.monitored_files import (
    is_file_reader,
    newest_times,
    waiting_splits,
)
from savepoint_formats.errors import FormatError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

OLD = b"message-acknowledging-source-state"


@pytest.fixture
def files(tmp_path: Path) -> Savepoint:
    (tmp_path / "_metadata").write_bytes(METADATA)
    return Savepoint.open(tmp_path, uids=UIDS)


def test_splits_and_the_time(files: Savepoint) -> None:
    splits = waiting_splits(files.operator("lines"))
    assert [(split.uri, split.length, split.has_begun) for split in splits] == [
        (f"file:{DIRECTORY}/a.txt", 50, True),
        (f"file:{DIRECTORY}/b0.txt", 60, False),
        (f"file:{DIRECTORY}/b2.txt", 60, False),
        (f"file:{DIRECTORY}/b1.txt", 60, False),
    ]
    readers = {operator.name for operator in files.operators() if is_file_reader(operator)}
    assert readers == {"lines"}
    times = [newest_times(operator) for operator in files.operators()]
    assert sorted(times) == [[], [], [], [], [NEWEST_MS]]


def test_sources_lists_them(files: Savepoint) -> None:
    entries = files.sources().entries
    assert [(entry.kind, entry.state) for entry in entries] == [
        ("monitor", ""),
        ("file", "reading"),
        *[("file", "waiting")] * 3,
    ]
    assert json.loads(entries[0].position) == {"newest_ms": NEWEST_MS}


def test_a_list_of_the_same_name_is_the_users(tmp_path: Path) -> None:
    """Java serialized other objects into it."""
    name = b"splits".rjust(len(OLD), b"_")
    (tmp_path / "_metadata").write_bytes(SOURCE.replace(OLD, name))
    (operator,) = Savepoint.open(tmp_path).operators()
    assert not is_file_reader(operator)
    damaged = METADATA.replace(b"TimestampedFileInputSplit", b"TimestampedFileInputSplat")
    (tmp_path / "_metadata").write_bytes(damaged)
    operator = Savepoint.open(tmp_path, uids=UIDS).operator("lines")
    assert not is_file_reader(operator)
    with pytest.raises(FormatError, match="a split of an unknown class"):
        waiting_splits(operator)
