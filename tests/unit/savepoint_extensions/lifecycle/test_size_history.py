"""Which state grows from snapshot to snapshot, with sizes counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of, run
from support.longs_by_text import savepoint_of_longs

from savepoint_extensions.lifecycle.size_history import size_history
from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.errors import OperatorNotFoundError, StateNotFoundError
from savepoint_formats.metadata import CheckpointMetadata
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = 2 + 1 + 8
"""A text of one letter, the namespace, and a long."""


def snapshot(folder: Path, number: int, keys: str) -> None:
    savepoint_of_longs(folder / f"chk-{number}", dict.fromkeys(keys, 1))
    file = folder / f"chk-{number}" / "_metadata"
    metadata = CheckpointMetadata.read(DataInputView(file.read_bytes()))
    view = DataOutputView()
    replace(metadata, checkpoint_id=number).write(view)
    file.write_bytes(view.to_bytes())


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    for number, keys in ((3, "ab"), (4, "abc"), (10, "abcdef")):
        snapshot(tmp_path, number, keys)
    return tmp_path


def test_a_state_grows_by_the_bytes_of_its_entries(growing: Path) -> None:
    history = size_history(growing, uids=["a"])
    (total,) = history.growth
    assert (total.operator, total.state, total.snapshots) == ("a", "total", 3)
    assert (total.first_size, total.last_size) == (2 * ENTRY, 6 * ENTRY)
    assert (total.growth, total.first_entries, total.last_entries) == (4 * ENTRY, 2, 6)
    assert total.always
    assert [moment.size for moment in history.moments] == [2 * ENTRY, 3 * ENTRY, 6 * ENTRY]
    assert history.to_arrow().column("checkpoint_id").to_pylist() == [3, 4, 10]
    assert "total" in history._repr_html_()
    assert size_history(growing, "a.total", uids=["a"]).growth == history.growth


def test_what_shrinks_once_does_not_always_grow(growing: Path) -> None:
    snapshot(growing, 11, "a")
    snapshot(growing, 12, "abcdefg")
    (total,) = size_history(growing).growth
    assert (total.growth, total.always) == (5 * ENTRY, False)


def test_a_damaged_snapshot_is_told_and_the_others_are_compared(growing: Path) -> None:
    file = growing / "chk-4" / "_metadata"
    data = file.read_bytes()
    place = data.index(b"total")
    file.write_bytes(data[:place] + b"\xff\xff" + data[place + 2 :])
    history = size_history(growing)
    assert any("chk-4" in problem for problem in history.problems)
    assert history.growth[0].snapshots == 2
    assert result_of("history", growing, "--sizes").exit_code == 1


def test_the_command_shows_growth_and_needs_a_key_otherwise(growing: Path) -> None:
    code, output = run("history", growing, "--sizes", "--output", "json")
    assert (code, f'"growth": {4 * ENTRY}' in output) == (0, True), output
    code, output = run("history", growing, "a.keyed_state")
    assert (code, "needs TABLE and --key, or --sizes" in output) == (2, True), output
    with pytest.raises(StateNotFoundError):
        size_history(growing, "a.totals", uids=["a"])


def test_a_snapshot_without_the_operator_is_no_problem(growing: Path) -> None:
    savepoint = Savepoint.open(growing / "chk-3", uids=["a"])
    savepoint.rename_operator("a", "b").write(str(growing / "chk-11"))
    assert size_history(growing, "b.total", uids=["b"]).problems == ()
    with pytest.raises(OperatorNotFoundError):
        size_history(growing, "c.total", uids=["c"])
