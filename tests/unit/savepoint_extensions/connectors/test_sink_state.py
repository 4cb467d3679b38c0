"""State of sinks as a table, and savepoints without some of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.hand_made import BASE, STRING, i32, snapshot
from support.kafka_states import COLLECTORS, WRITERS, bytes_savepoint
from support.legacy_kafka import legacy_savepoint

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks.committer_state import (
    END_OF_INPUT,
    CheckpointCommits,
    CommitterState,
)
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.savepoint_warnings import HiddenCommitWarning
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot
from savepoint_formats.state_files.operator_state import ListElements
from state_processor import ConditionError, RefusedError, Savepoint, StateNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ["sink", "committer"]
_STREAMING = "org.apache.flink.streaming.api.functions.sink"
OLD = COLLECTORS["3.4.0-1.20"]


def whole(version: int, data: bytes) -> bytes:
    view = DataOutputView()
    Versioned(version, data).write(view)
    return view.to_bytes()


@pytest.fixture
def job(tmp_path: Path) -> Savepoint:
    """Two elements of a committer, a writer of Kafka, an unknown one, another state beside."""
    path = bytes_savepoint(
        tmp_path / "job",
        {
            "sink": {
                "writer_raw_states": [WRITERS["3.4.0-1.20"], whole(77, b"abc"), b"\0"],
                "other": [b"x" * 40, b""],
            },
            "committer": {"streaming_committer_raw_states": [OLD, COLLECTORS["4.0.1-2.0"]]},
        },
    )
    return Savepoint.open(path, uids=UIDS)


def others(savepoint: Savepoint) -> list[bytes]:
    scan = savepoint.scan("sink.other")
    return [value for batch in scan.batches() for value in batch.column("value").to_pylist()]


def test_all_entries_are_shown(job: Savepoint) -> None:
    rows = job.sinks().to_arrow().to_pylist()
    kinds = {(row["operator"], row["kind"], row["connector"]) for row in rows}
    assert kinds == {
        ("sink", "writer", "kafka"),
        ("sink", "writer", "unknown"),
        ("committer", "commit", "kafka"),
    }
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4]
    (commit, _) = (row for row in rows if row["kind"] == "commit")
    assert commit["content"] == "transactional_id=prefix-0-1, producer_id=7, epoch=2"
    assert (commit["checkpoint"], commit["state"], commit["retries"]) == (1, "received", 0)
    unknown, broken = (row for row in rows if row["connector"] == "unknown")
    assert (unknown["version"], unknown["bytes"]) == (77, b"abc")
    assert "of none of the connectors" in unknown["content"]
    assert (broken["version"], broken["bytes"]) == (None, b"\0")
    assert "prefix-0-1" in job.sinks()._repr_html_()


def test_dropped_entries_are_gone_and_nothing_else_is(job: Savepoint, tmp_path: Path) -> None:
    target = tmp_path / "dropped"
    job.change_sinks(drop="kind = 'commit' OR version = 77").write(target)
    dropped = Savepoint.open(target, uids=UIDS)
    before = {entry.raw for entry in job.sinks().entries}
    after = [entry.raw for entry in dropped.sinks().entries]
    assert len(after) == 2
    assert set(after) < before
    assert others(dropped) == others(job) == [b"x" * 40, b""]
    assert not dropped.verify().faults


def test_keep_is_the_contrary_of_drop(job: Savepoint, tmp_path: Path) -> None:
    job.change_sinks(keep="connector = 'kafka'").write(tmp_path / "kept")
    job.change_sinks(drop="connector <> 'kafka'").write(tmp_path / "dropped")
    kept, dropped = (
        Savepoint.open(tmp_path / name, uids=UIDS).sinks() for name in ("kept", "dropped")
    )
    assert kept.entries == dropped.entries
    assert len(kept.entries) == 3
    job.change_sinks(drop="all").write(tmp_path / "empty")
    assert Savepoint.open(tmp_path / "empty").sinks().entries == ()


def test_commits_get_another_checkpoint(job: Savepoint, tmp_path: Path) -> None:
    newest = job.metadata.checkpoint_id
    job.change_sinks(checkpoint=newest).write(tmp_path / "same")
    with pytest.warns(HiddenCommitWarning, match="commits of checkpoint 40 stay hidden until"):
        job.change_sinks(checkpoint=40).write(tmp_path / "renumbered")
    entries = Savepoint.open(tmp_path / "renumbered", uids=UIDS).sinks().entries
    assert [entry.checkpoint for entry in entries if entry.kind == "commit"] == [40, 40]


def test_a_negative_checkpoint_is_refused(tmp_path: Path) -> None:
    state = CommitterState.of(OLD, "state")
    (checkpoint,) = state.checkpoints
    later = CheckpointCommits(9, 1, checkpoint.subtasks, checkpoint.subtask_version)
    both = CommitterState((checkpoint, later), state.item_version).to_bytes()
    path = bytes_savepoint(tmp_path / "job", {"a": {"streaming_committer_raw_states": [both]}})
    with pytest.raises(RefusedError, match="would be negative"):
        Savepoint.open(path).change_sinks(checkpoint=3)
    end = CheckpointCommits(END_OF_INPUT, 1, checkpoint.subtasks, checkpoint.subtask_version)
    element = CommitterState((end,), state.item_version).to_bytes()
    path = bytes_savepoint(tmp_path / "end", {"a": {"streaming_committer_raw_states": [element]}})
    (entry,) = Savepoint.open(path).sinks().entries
    assert entry.checkpoint is None
    assert entry.content.startswith("end of input=yes")
    with pytest.raises(RefusedError, match="no pending commit with a checkpoint id"):
        Savepoint.open(path).change_sinks(checkpoint=3)


def test_writers_of_kafka_get_another_prefix(job: Savepoint, tmp_path: Path) -> None:
    job.change_sinks(transactional_prefix="new").write(tmp_path / "new")
    changed = Savepoint.open(tmp_path / "new", uids=UIDS)
    contents = [entry.content for entry in changed.sinks().entries if entry.kind == "writer"]
    assert contents[0] == "prefix=new"
    assert others(changed) == others(job)


def test_wrong_calls(job: Savepoint, samples: Path) -> None:
    with pytest.raises(ConditionError, match="there is no column 'chekpoint'"):
        job.change_sinks(drop="chekpoint < 3")
    with pytest.raises(ValueError, match="both drop and keep"):
        job.change_sinks(drop="all", keep="all")
    other = Savepoint.open(samples / "currency-2.2.1-rocksdb-native")
    assert other.sinks().entries == ()
    with pytest.raises(StateNotFoundError, match="no state of a writer of Kafka"):
        other.change_sinks(transactional_prefix="new")


def test_a_paimon_commit_is_an_element_of_its_own(tmp_path: Path) -> None:
    data = (9).to_bytes(8, "big") + b"\1" + i32(0) + i32(9) + b"messages"
    path = bytes_savepoint(
        tmp_path / "job", {"c": {"streaming_committer_raw_states": [whole(3, data), OLD]}}
    )
    savepoint = Savepoint.open(path)
    first, second = savepoint.sinks().entries
    assert (first.connector, first.checkpoint, first.kind) == ("paimon", 9, "commit")
    savepoint.change_sinks(drop="connector = 'paimon'").write(tmp_path / "without")
    (left,) = Savepoint.open(tmp_path / "without").sinks().entries
    assert left.raw == second.raw


def transactions(pending: int, committing: list[int]) -> bytes:
    """State of a ``TwoPhaseCommitSinkFunction`` of Flink 1.15 or later, whose transactions are numbers."""
    view = DataOutputView()
    view.write_longs([pending, 5])
    view.write_int(len(committing))
    for transaction in committing:
        view.write_longs([transaction, 6])
    view.write_bool(False)
    return view.to_bytes()


def test_sinks_of_before_have_rows_and_can_be_dropped(tmp_path: Path) -> None:
    parts = b"".join([i32(2), snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot"), STRING])
    own = i32(911108) + i32(4) + b"\0" + i32(1333245) + i32(1) + parts
    name = f"{_STREAMING}.TwoPhaseCommitSinkFunction$StateSerializerSnapshot"
    element = TypeSerializerSnapshot.read(SnapshotView(snapshot(name, own)))
    elements = [transactions(7, [3, 4]), transactions(9, [])]
    states = [
        ListElements(
            "state",
            DistributionMode.SPLIT_DISTRIBUTE,
            element,
            pa.array(elements, pa.large_binary()),
        )
    ]
    path = bytes_savepoint(
        tmp_path / "job", {"sink": {"other": [b"x" * 40]}}, others={"sink": states}
    )
    savepoint = Savepoint.open(path, uids=["sink"])
    first, second = savepoint.sinks().entries
    assert (first.connector, first.kind, first.raw.hexadecimal) == (
        "two-phase",
        "commit",
        elements[0].hex(),
    )
    assert "'pending': 7" in first.content
    assert "'transaction': 3" in first.content
    savepoint.change_sinks(drop=f"number = {first.number}").write(tmp_path / "dropped")
    dropped = Savepoint.open(tmp_path / "dropped", uids=["sink"])
    assert [entry.raw for entry in dropped.sinks().entries] == [second.raw]
    assert others(dropped) == [b"x" * 40]
    assert not dropped.verify().faults


def test_a_streaming_file_sink_shows_its_buckets_and_files(tmp_path: Path) -> None:
    savepoint = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=["files"])
    entries = [row for row in savepoint.sinks().entries if row.operator == "files"]
    assert [
        (row.kind, row.connector, row.subtask, row.checkpoint, row.state) for row in entries
    ] == [
        ("writer", "file", 0, None, None),
        ("commit", "file", 0, 2, "to be committed"),
        ("writer", "file", 1, None, None),
        ("commit", "file", 1, 2, "to be committed"),
    ]
    assert "bucket=2026-11-29--13" in entries[0].content
    assert "part-0-1, size=54, target=" in entries[1].content
    with pytest.raises(RefusedError, match="entries 0 to 1 are one element"):
        savepoint.change_sinks(drop="number = 1")
    writer = savepoint.change_sinks(drop="operator = 'files' AND subtask = 0")
    writer.write(str(tmp_path / "new"))
    left = Savepoint.open(str(tmp_path / "new"), uids=["files"]).sinks().entries
    assert {row.subtask for row in left if row.operator == "files"} == {1}


def test_commits_of_old_sinks_keep_their_checkpoints(tmp_path: Path) -> None:
    savepoint = Savepoint.open(legacy_savepoint(tmp_path / "legacy"))
    with pytest.raises(RefusedError, match="has no pending commit with a checkpoint id"):
        savepoint.change_sinks(checkpoint=1)
