"""An operator loses states and gets lists of bytes; all other states stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from support.legacy_kafka import UIDS, legacy_savepoint

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.renewal.renewed_operator import with_byte_lists
from savepoint_formats.metadata import InlineStream
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def test_other_states_stay(tmp_path: Path) -> None:
    operator = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS).operator("files")
    before = list(byte_elements(operator, ["max-part-counter"], is_sized=False))
    record = with_byte_lists(
        operator, {"bucket-states"}, {1: {"new": [b"a", b""]}, 7: {"new": [b"b"]}}
    )
    changed = replace(operator, record=record)
    assert list(byte_elements(changed, ["max-part-counter"], is_sized=False)) == before
    assert [(it.subtask, it.data) for it in byte_elements(changed, ["new"])] == [
        (1, b"a"),
        (1, b""),
        (7, b"b"),
    ]
    assert {state.name for state in changed.catalog.states} == {"max-part-counter", "new"}


def test_what_changes_nothing_is_not_read(tmp_path: Path) -> None:
    operator = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS).operator("files")
    assert with_byte_lists(operator, {"nothing"}, {}) == operator.record


def test_an_operator_without_states_has_no_file(tmp_path: Path) -> None:
    operator = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS).operator("files")
    record = with_byte_lists(operator, {"bucket-states", "max-part-counter"}, {})
    assert all(subtask.managed_operator_state is None for subtask in record.subtasks)


def test_each_subtask_has_a_stream_of_its_own_name(tmp_path: Path) -> None:
    """Flink takes streams of one name for the same, and fails when it rescales."""
    operator = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS).operator("orders")
    record = with_byte_lists(operator, (), {0: {"new": [b"a"]}, 1: {"new": [b"b"]}})
    handles = [subtask.managed_operator_state for subtask in record.subtasks]
    streams = [None if handle is None else handle.stream for handle in handles]
    names = {stream.name for stream in streams if isinstance(stream, InlineStream)}
    assert len(names) == len(handles) == 2
