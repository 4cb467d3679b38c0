"""What a watch measures in a snapshot is what ``stats`` counts in it."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.longs_by_text import savepoint_of_longs
from support.nightly import nightly
from support.sample_rows import SAMPLES

from savepoint_extensions.watch.checkpoint_measures import CheckpointMemory, Measuring
from savepoint_formats.bytes import DataOutputView
from savepoint_formats.metadata import InlineStream
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_extensions.watch.checkpoint_measures import Measures
    from state_processor import SavepointStatistics

pytestmark = pytest.mark.usefixtures("slow")

KEYED = ("value", "list", "map", "reducing", "aggregating", "timers")
NOW = datetime(2026, 11, 1, tzinfo=UTC)
SNAPSHOTS = sorted(path.parent for path in SAMPLES.glob("*/_metadata"))
BY_DAY = [
    pytest.param(path, marks=() if "-2." in path.name else nightly, id=path.name)
    for path in SNAPSHOTS
]


def measured(
    path: Path, sample_size: int = 1 << 30
) -> tuple[Savepoint, Measures, CheckpointMemory]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownUidWarning)
        savepoint = Savepoint.open(path)
    memory = CheckpointMemory(Measuring(sample_size, {}, 3))
    return savepoint, memory.measured(savepoint, int(NOW.timestamp() * 1000)), memory


def test_there_are_samples() -> None:
    assert len(SNAPSHOTS) > 30


@pytest.mark.parametrize("path", BY_DAY)
def test_a_state_that_is_sampled_whole_has_the_entries_and_bytes_that_are_counted(
    path: Path,
) -> None:
    savepoint, measures, _ = measured(path)
    report = savepoint.stats(at=NOW, top=10_000)
    counted = {
        (it.operator, it.state): (it.entries, it.size) for it in report.states if it.kind in KEYED
    }
    watched = {(it.operator, it.state): (it.entries, it.size) for it in measures.states}
    assert counted == {names: watched[names] for names in counted}
    assert all(it.error == 0 for it in measures.states)
    assert measures.problems == ()
    assert measures.is_intact
    overdue = {
        (it.operator, it.service): it.overdue for it in report.timers if it.overdue is not None
    }
    watched_overdue = {
        (it.operator, it.state.partition("_user")[0]): it.overdue
        for it in measures.states
        if it.overdue is not None
    }
    assert sum(overdue.values()) == sum(watched_overdue.values())
    expect_largest_keys(report, measures)


def expect_largest_keys(report: SavepointStatistics, measures: Measures) -> None:
    """The keys with the most entries have all of them, in all states."""
    by_key = {(it.operator, it.key): (it.entries, it.size) for it in report.largest_keys}
    assert measures.keys or not by_key
    # A class that nobody describes is no obstacle here, because values are not decoded.
    counted = {operator for operator, _ in by_key}
    for key in (key for key in measures.keys if key.operator in counted):
        assert by_key[key.operator, key.key] == (key.entries, key.size)
        most = max(entries for (name, _), (entries, _) in by_key.items() if name == key.operator)
        assert key.entries <= most
        assert key is not measures.keys[0] or key.entries == most


def test_a_second_look_at_the_same_files_reads_metadata_alone() -> None:
    path = SAMPLES / "states-2.2.1-rocksdb-incremental" / "chk-2"
    savepoint, first, memory = measured(path)
    second = memory.measured(savepoint, int(time.time() * 1000))
    assert first.read_size > first.metadata_size
    assert second.read_size == second.metadata_size
    assert (second.states, second.new_size) == (first.states, 0)


def test_operator_state_and_keyed_state_of_one_name_are_two(tmp_path: Path) -> None:
    """They have two sizes, two lines of growth, and two samples of a metric."""
    keyed = Savepoint.open(savepoint_of_longs(tmp_path / "chk-1", {"k": 1})).metadata
    sample = Savepoint.open(SAMPLES / "currency-2.2.1-hashmap-canonical")
    handle = sample.operator("currency_converter").record.subtasks[0].managed_operator_state
    assert handle is not None
    data = sample.directory.file(handle.stream).read(0, handle.stream.size)
    handle = replace(
        handle,
        states=tuple(replace(it, name="total") for it in handle.states),
        stream=InlineStream("state", data.replace(b"\0\5rates", b"\0\5total")),
    )
    (operator,) = keyed.operators
    subtask = replace(operator.subtasks[0], managed_operator_state=handle)
    view = DataOutputView()
    replace(keyed, operators=(replace(operator, subtasks=(subtask,)),)).write(view)
    (tmp_path / "chk-1" / "_metadata").write_bytes(view.to_bytes())
    _, measures, _ = measured(tmp_path / "chk-1")
    assert measures.problems == ()
    assert {it.state for it in measures.states} == {"total", "operator_state.total"}
