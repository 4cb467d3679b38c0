"""A change of one kind of state, and of nothing else, is seen by diff and by the feed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.hand_made import LONG, VOID, with_ttl
from support.kept_states import KeptState, savepoint_of_states
from support.sample_rows import SAMPLES

from savepoint_formats.errors import StateTypeError
from state_processor import Savepoint

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorStateHandle

UIDS = {"buffer": "states", "currency_converter": "currency"}


def handle_of(snapshot: Path, uid: str, state: str) -> OperatorStateHandle:
    """The first handle of an operator that has elements of a state."""
    for operator in Savepoint.open(snapshot, uids=[uid]).operators():
        for subtask in operator.record.subtasks if operator.name == uid else ():
            handle = subtask.managed_operator_state
            if handle and any(it.name == state and it.offsets for it in handle.states):
                return handle
    raise AssertionError(f"no elements of {state}")


def with_one_byte_changed(snapshot: Path, uid: str, state: str) -> None:
    """Turns a bit of the last byte of the first element of a state, or of all broadcast entries."""
    handle = handle_of(snapshot, uid, state)
    starts = sorted({offset for it in handle.states for offset in it.offsets})
    first = next(it.offsets[0] for it in handle.states if it.name == state)
    end = next((start for start in starts if start > first), handle.stream.size)
    file = snapshot / Path(handle.stream.path).name  # type: ignore[union-attr]  # a file
    data = bytearray(file.read_bytes())
    data[end - 1] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("uid", "state", "kinds"),
    [
        ("buffer", "elements", ["added", "removed"]),
        ("buffer", "offsets", ["added", "removed"]),
        ("currency_converter", "rates", ["changed"]),
    ],
)
def test_operator_state(tmp_path: Path, uid: str, state: str, kinds: list[str]) -> None:
    source = SAMPLES / f"{UIDS[uid]}-2.2.1-rocksdb-native"
    copy = Path(shutil.copytree(source, tmp_path / "copy"))
    before = Savepoint.open(source, uids=[uid])
    assert before.diff(Savepoint.open(copy, uids=[uid])).is_equal
    with_one_byte_changed(copy, uid, state)
    after = Savepoint.open(copy, uids=[uid])
    assert not before.diff(after).is_equal
    rows = before.changes(after).to_arrow().to_pylist()
    assert sorted(row["kind"] for row in rows) == kinds
    assert {(row["operator"], row["state"]) for row in rows} == {(uid, state)}
    assert not after.verify_replica(source).is_complete


def test_timers(tmp_path: Path) -> None:
    before, after = (
        Savepoint.open(
            savepoint_of_states(
                tmp_path / str(time), {"k": KeptState(1, timers=frozenset([time]))}
            ),
            uids=["a"],
        )
        for time in (5, 6)
    )
    assert not before.diff(after).is_equal
    assert [it.state for it in before.changes(after).counts()] == ["timers"]


def test_a_time_to_live_that_only_one_header_has(tmp_path: Path) -> None:
    """The state has no values: its type is all that differs."""
    types = {"seen": ("VALUE", LONG, VOID), "total": ("VALUE", LONG, VOID)}
    both = [types, types | {"seen": ("VALUE", with_ttl(LONG), VOID)}]
    keys = {"k": KeptState(total=1)}
    before, after = (
        Savepoint.open(
            savepoint_of_states(
                tmp_path / str(number), keys, names=("seen", "total"), types=of_side
            ),
            uids=["a"],
        )
        for number, of_side in enumerate(both)
    )
    diff = before.diff(after)
    assert [(it.name, it.what) for it in diff.differences] == [("a.seen", "has ttl")]
    assert before.changes(after).to_arrow().num_rows == 0
    with pytest.raises(StateTypeError):
        before.changes(after, with_times=True).to_arrow()
