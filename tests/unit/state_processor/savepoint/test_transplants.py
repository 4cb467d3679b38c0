"""Operators of other savepoints, taken as a whole and copied with their files."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.kafka_states import COLLECTORS, SPLIT, bytes_savepoint, coordinator
from support.legacy_kafka import UIDS, legacy_savepoint
from support.sample_rows import SAMPLES

from savepoint_formats.errors import MigrationError
from savepoint_formats.savepoint_warnings import HiddenCommitWarning
from state_processor import OperatorExistsError, RefusedError, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

ENUMERATOR = bytes.fromhex("00000002 00000015 00000001 0006 6f7264657273 00000003 00000000 01")


@pytest.fixture
def trial(tmp_path: Path) -> Savepoint:
    """A savepoint with a new source, as that of a job that ran once."""
    folder = bytes_savepoint(
        tmp_path / "trial",
        {"new": {"SourceReaderState": [SPLIT]}},
        {"new": coordinator(ENUMERATOR)},
    )
    return Savepoint.open(str(folder), uids=["new"])


def test_a_source_comes_with_its_coordinator(trial: Savepoint, tmp_path: Path) -> None:
    target = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)
    target.with_operator("orders", trial.operator("new")).write(str(tmp_path / "both"))
    written = Savepoint.open(str(tmp_path / "both"), uids=UIDS)
    assert {operator.name for operator in written.operators()} == set(UIDS)
    (offset,) = written.kafka().offsets
    assert (offset.operator, offset.source, offset.partition) == ("orders", "KafkaSource", 3)
    (partition,) = written.kafka().partitions
    assert (partition.partition, partition.status) == (3, "assigned")


def test_the_command_adds_an_operator(trial: Savepoint, tmp_path: Path) -> None:
    path = legacy_savepoint(tmp_path / "legacy")
    command = ("transplant", path, trial.path, tmp_path / "both", "--operator", "new")
    assert run(*command)[0] == 0
    assert len(Savepoint.open(str(tmp_path / "both")).operators()) == len(UIDS) + 1
    assert run(*command[:3], tmp_path / "again", "--operator", "nowhere")[0] != 0


@pytest.mark.parametrize(
    "sample", ["currency-1.20.5-rocksdb-native", "states-1.20.5-hashmap-native"]
)
def test_keyed_state_is_copied_from_its_own_directory(
    trial: Savepoint, tmp_path: Path, sample: str
) -> None:
    other = Savepoint.open(str(SAMPLES / sample))
    operator = next(known for known in other.operators() if known.has_keyed_state)
    trial.with_operator("more", operator).write(str(tmp_path / "both"))
    shutil.move(tmp_path / "both", tmp_path / "moved")
    written = Savepoint.open(str(tmp_path / "moved"), uids=["more"])
    assert written.verify().is_whole
    tables = written.operator("more").readable_tables
    assert [table.name for table in tables] == [table.name for table in operator.readable_tables]


def test_an_operator_of_another_flink_is_refused(tmp_path: Path) -> None:
    legacy = Savepoint.open(legacy_savepoint(tmp_path / "legacy"))
    of_2 = Savepoint.open(str(SAMPLES / "currency-2.2.1-rocksdb-native")).operators()[0]
    with pytest.raises(MigrationError, match=r"of Flink 2, and the savepoint .* for Flink 1"):
        legacy.with_operator("more", of_2)


def test_what_goes_with_nothing_else(trial: Savepoint, tmp_path: Path) -> None:
    legacy = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)
    new = trial.operator("new")
    with pytest.raises(ValueError, match="with nothing else"):
        legacy.with_operator("more", new, new)
    with pytest.raises(ValueError, match="parallelism can't be set"):
        legacy.with_operator("more", new, parallelism=2)
    changed = legacy.remove_state("orders", "topic-partition-offset-states")
    with pytest.raises(OperatorExistsError, match="orders was changed before"):
        changed.with_operator("orders", new)


def test_other_key_groups_are_refused_for_keys_alone(trial: Savepoint, tmp_path: Path) -> None:
    legacy = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)
    new, counts = (
        replace(operator, record=replace(operator.record, max_parallelism=256))
        for operator in (trial.operator("new"), legacy.operator("counts"))
    )
    assert legacy.with_operator("new", new).operator("new").max_parallelism == 128
    with pytest.raises(RefusedError, match="has 256 key groups, and counts in this savepoint 128"):
        legacy.with_operator("counts", counts)


def test_commits_that_would_stay_hidden_are_warned_of(trial: Savepoint, tmp_path: Path) -> None:
    states = {"streaming_committer_raw_states": [COLLECTORS["3.4.0-1.20"]]}
    folder = bytes_savepoint(tmp_path / "sink", {"committer": states})
    with pytest.warns(HiddenCommitWarning):
        newer = Savepoint.open(str(folder), uids=["committer"]).change_sinks(checkpoint=40)
    committer = newer.operator("committer").source
    assert committer is not None
    with pytest.warns(HiddenCommitWarning, match=r"commits of checkpoint 40 .* stay hidden"):
        trial.with_operator("committer", committer)
