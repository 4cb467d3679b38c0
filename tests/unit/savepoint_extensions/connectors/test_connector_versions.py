"""Releases of connectors, and the versions of state that they read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.cdc_sources import enumerator, stream
from support.commands import run
from support.kafka_states import COLLECTORS, SPLIT, WRITERS, bytes_savepoint, coordinator

from savepoint_extensions.connectors.connector_versions import judged_states
from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    KafkaEnumerator,
    KafkaPartition,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm, split_bytes
from savepoint_extensions.connectors.source_splits.shard_splits import KinesisSplit
from state_processor import RefusedError, Savepoint, StateNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = KafkaPartition("orders", 3, AssignmentStatus.ASSIGNED)
WAITING = KafkaPartition("orders", 4, AssignmentStatus.UNASSIGNED)
READERS, COMMITS, WRITER = (
    "SourceReaderState",
    "streaming_committer_raw_states",
    "writer_raw_states",
)


def savepoint_of(folder: Path, version: int, *partitions: KafkaPartition) -> Savepoint:
    """A savepoint of Kafka's source and sink, with an enumerator of this version."""
    enumerator = KafkaEnumerator(version, partitions or (KNOWN,), is_discovered=True)
    path = bytes_savepoint(
        folder,
        {
            "orders": {READERS: [SPLIT]},
            "commits": {COMMITS: [COLLECTORS["4.0.1-2.0"]]},
            "writer": {WRITER: [WRITERS["4.0.1-2.0"]]},
        },
        {"orders": coordinator(enumerator.to_versioned().to_bytes())},
    )
    return Savepoint.open(str(path), uids=["orders", "commits", "writer"])


@pytest.mark.parametrize(
    ("release", "written", "verdict"),
    [
        ("3.0.2-1.18", 1, "restorable"),
        ("3.0.2-1.18", 2, "not restorable"),
        ("3.1.0", 2, "restorable"),
        ("4.0.1", 3, "not restorable"),
        ("5.0.0", 1, "restorable"),
        ("5.0.0-2.2", 3, "restorable"),
        ("5.1.0", 2, "unknown"),
        ("6.0.0", 2, "unknown"),
        ("1.17.2", 2, "unknown"),
    ],
)
def test_enumerators_by_release(tmp_path: Path, release: str, written: int, verdict: str) -> None:
    savepoint = savepoint_of(tmp_path / "old", written)
    judged = {one.state: one for one in judged_states(savepoint, {"kafka": release})}
    assert judged["coordinator_state"].verdict == verdict
    assert judged["coordinator_state"].where == f"kafka {release}"


def test_what_is_read_in_part_is_unknown(tmp_path: Path) -> None:
    savepoint = savepoint_of(tmp_path / "old", 2)
    judged = {one.state: one for one in judged_states(savepoint, {"kafka": "3.4.0"})}
    assert {name: one.verdict for name, one in judged.items()} == {
        READERS: "restorable",
        "coordinator_state": "restorable",
        COMMITS: "restorable",
        WRITER: "unknown",
    }
    assert "its prefix, and not its transactions" in judged[WRITER].reason


def test_the_doctor_answers_for_the_release(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path / "old", 3).path
    savepoint = Savepoint.open(path)
    assert savepoint.compatibility("2.2", connectors={"kafka": "5.0.0"}).is_restorable
    judged = savepoint.compatibility("2.2", connectors={"kafka": "4.0.1"})
    assert judged.verdict == "not restorable"
    advice = {finding.advice for _, finding in judged.placed()}
    assert any("--as-version 2 OPERATOR" in text for text in advice)
    code, answer = run("doctor", path, "--target", "2.2", "--connector", "kafka=5.0.0")
    assert code == 0
    assert "connector-version" in answer
    assert run("doctor", path, "--target", "2.2", "--connector", "kafka=new")[0] == 2
    assert run("doctor", path, "--target", "2.2", "--connector", "nothing=1.0")[0] == 2


def test_a_sink_with_a_coordinator_of_its_own_is_judged(tmp_path: Path) -> None:
    lists = {"commits": {COMMITS: [COLLECTORS["4.0.1-2.0"]]}}
    path = bytes_savepoint(tmp_path / "sink", lists, {"commits": b"\0\0\0\x07 no source"})
    (judged,) = judged_states(Savepoint.open(str(path), uids=["commits"]), {"kafka": "3.4.0"})
    assert (judged.state, judged.verdict) == (COMMITS, "restorable")


def test_other_connectors_are_not_judged(tmp_path: Path) -> None:
    savepoint = savepoint_of(tmp_path / "old", 2)
    assert judged_states(savepoint, {"file": "2.2.1"}) == []
    assert judged_states(savepoint, {"mysql-cdc": "3.5.0"}) == []


@pytest.mark.parametrize("version", [1, 2, 3])
def test_another_version_of_the_coordinator(tmp_path: Path, version: int) -> None:
    path = savepoint_of(tmp_path / "old", 2).path
    command = (
        "sources",
        path,
        "--as-version",
        str(version),
        "orders",
        tmp_path / "new",
        "--uid",
        "orders",
    )
    assert run(*command)[0] == 0
    record = Savepoint.open(str(tmp_path / "new"), uids=["orders"]).operator("orders").record
    assert record.coordinator_state is not None
    written = KafkaEnumerator.of(record.coordinator_state.data, "")
    assert written == KafkaEnumerator(version, (KNOWN,), is_discovered=True)


def test_what_a_version_has_no_room_for_is_refused(tmp_path: Path) -> None:
    with_waiting = savepoint_of(tmp_path / "waiting", 2, KNOWN, WAITING)
    with pytest.raises(RefusedError, match="orders-4 can't be stored"):
        with_waiting.change_sources(as_version=1, operator="orders")
    with_offset = savepoint_of(tmp_path / "offset", 3, KNOWN, replace(WAITING, offset=5))
    with pytest.raises(RefusedError, match="orders-4 have offsets but no reader yet"):
        with_offset.change_sources(as_version=2, operator="orders")
    with pytest.raises(RefusedError, match="version 4 are not written"):
        with_waiting.change_sources(as_version=4, operator="orders")
    with pytest.raises(StateNotFoundError, match="no coordinator of a Kafka source, or"):
        with_waiting.change_sources(as_version=2, operator="commits")
    with pytest.raises(ValueError, match="name its operator"):
        with_waiting.change_sources(as_version=2)


def cdc_savepoint(folder: Path, *, is_base: bool, splits: int, version: int) -> Savepoint:
    """A savepoint of change data capture, whose splits and enumerator have these versions."""
    form = CdcForm(is_base, splits)
    split = Versioned(splits, split_bytes(stream(form, 30, {}, ""), form))
    state = coordinator(enumerator(version, form, {"orders": [10]}).to_versioned().to_bytes())
    path = bytes_savepoint(folder, {"cdc": {READERS: [split.to_bytes()]}}, {"cdc": state})
    return Savepoint.open(str(path), uids=["cdc"])


@pytest.mark.parametrize(
    ("asked", "is_base", "splits", "version", "verdicts"),
    [
        ("mysql-cdc=3.5.0", False, 4, 5, ("restorable", "restorable")),
        ("mysql-cdc=2.0.2", False, 3, 3, ("not restorable", "not restorable")),
        ("mysql-cdc=2.2.1", False, 4, 5, ("restorable", "not restorable")),
        ("mysql-cdc=3.6.0", False, 4, 5, ("unknown", "unknown")),
        ("postgres-cdc=3.5.0", True, 5, 6, ("restorable", "restorable")),
        ("postgres-cdc=3.5.0", True, 4, 5, ("unknown", "unknown")),
        ("postgres-cdc=3.2.1", True, 6, 8, ("not restorable", "not restorable")),
        ("postgres-cdc=3.3.0", True, 5, 6, ("unknown", "unknown")),
    ],
)
def test_change_data_capture_by_release(
    tmp_path: Path, asked: str, is_base: bool, splits: int, version: int, verdicts: tuple[str, str]
) -> None:
    savepoint = cdc_savepoint(tmp_path / "old", is_base=is_base, splits=splits, version=version)
    name, _, release = asked.partition("=")
    judged = {known.state: known.verdict for known in judged_states(savepoint, {name: release})}
    assert (judged[READERS], judged["coordinator_state"]) == verdicts


def test_bytes_of_no_known_connector_are_unknown(tmp_path: Path) -> None:
    """State in a version that a later release writes is none of any connector."""
    later = Versioned(9, Versioned.whole(SPLIT, "").data).to_bytes()
    path = bytes_savepoint(tmp_path / "old", {"orders": {READERS: [later]}})
    savepoint = Savepoint.open(str(path), uids=["orders"])
    (judged,) = judged_states(savepoint, {"kafka": "5.0.0"})
    assert (judged.verdict, judged.where) == ("unknown", "unknown connector")
    judged_whole = savepoint.compatibility("2.2", connectors={"kafka": "5.0.0"})
    assert judged_whole.verdict == "unknown"


def test_an_enumerator_without_readers_is_judged(tmp_path: Path) -> None:
    state = coordinator(KafkaEnumerator(3, (KNOWN,), True).to_versioned().to_bytes())
    path = bytes_savepoint(tmp_path / "old", {"orders": {READERS: []}}, {"orders": state})
    savepoint = Savepoint.open(str(path), uids=["orders"])
    (judged,) = judged_states(savepoint, {"kafka": "4.0.1"})
    assert (judged.state, judged.verdict) == ("coordinator_state", "not restorable")


def test_the_worst_answer_comes_last(tmp_path: Path) -> None:
    verdicts = [
        known.verdict
        for known in judged_states(savepoint_of(tmp_path / "old", 3), {"kafka": "3.4.0"})
    ]
    assert verdicts == ["restorable", "restorable", "unknown", "not restorable"]


def test_a_connector_that_was_not_run_is_not_proven(tmp_path: Path) -> None:
    split = KinesisSplit.of_version_1("arn", "shardId-000000000000", (), ("0", "1"))
    path = bytes_savepoint(
        tmp_path / "old", {"clicks": {READERS: [split.to_versioned().to_bytes()]}}
    )
    (judged,) = judged_states(Savepoint.open(str(path), uids=["clicks"]), {"kinesis": "5.0.0"})
    assert judged.verdict == "unknown"
    assert "by its source" in judged.reason
    assert "not proven" in judged.advice


def test_change_data_capture_for_an_older_release(tmp_path: Path) -> None:
    savepoint = cdc_savepoint(tmp_path / "old", is_base=True, splits=6, version=8)
    assert "not restorable" in {
        known.verdict for known in judged_states(savepoint, {"postgres-cdc": "3.2.1"})
    }
    savepoint.change_sources(as_version=6, operator="cdc").write(str(tmp_path / "new"))
    older = Savepoint.open(str(tmp_path / "new"), uids=["cdc"])
    assert {known.verdict for known in judged_states(older, {"postgres-cdc": "3.2.1"})} == {
        "restorable"
    }
    assert [entry.split for entry in older.sources().entries] == [
        entry.split for entry in savepoint.sources().entries
    ]
