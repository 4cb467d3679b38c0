"""Sources that forget topics, partitions and files, or everything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.kafka_states import (
    CONSUMER,
    ENUMERATOR,
    ENUMERATOR_OF_PAYMENTS,
    SPLIT,
    bytes_savepoint,
    coordinator,
)

from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState, KafkaSplit
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.removed_splits import RemovedSplits, without_splits
from savepoint_extensions.connectors.source_splits.wrapped_splits import NumbersSplit
from state_processor import RefusedError, Savepoint, StateNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ["orders", "numbers", "other"]


@pytest.fixture
def job(tmp_path: Path) -> Savepoint:
    """Sources of Kafka and of numbers, and one whose enumerator is unknown."""
    splits = [
        SPLIT,
        KafkaSplit("payments", 0, 7).to_bytes(),
        KafkaSplit("payments", 1, 8).to_bytes(),
    ]
    path = bytes_savepoint(
        tmp_path / "job",
        {
            "orders": {"SourceReaderState": splits},
            "numbers": {"SourceReaderState": [NumbersSplit("1", 5, 9).to_versioned().to_bytes()]},
            "other": {"SourceReaderState": [KafkaSplit("odd", 0, 7).to_bytes()]},
        },
        {"orders": coordinator(ENUMERATOR), "other": coordinator(Versioned(9, b"abc").to_bytes())},
    )
    return Savepoint.open(path, uids=UIDS)


def after(job: Savepoint, out: Path, **removed: tuple[str, ...]) -> dict[str, set[str]]:
    """The splits of each source that are left, in readers and enumerators."""
    job.change_sources(**removed).write(out)  # type: ignore[arg-type]
    left: dict[str, set[str]] = {uid: set() for uid in UIDS}
    for entry in Savepoint.open(out, uids=UIDS).sources().entries:
        place = "enumerator" if entry.subtask is None else "reader"
        left[entry.operator].add(f"{place} {entry.split}".strip())
    return left


def test_a_topic_is_forgotten_by_readers_and_by_the_enumerator(
    job: Savepoint, tmp_path: Path
) -> None:
    """The enumerator has the bytes that the connector itself writes."""
    left = after(job, tmp_path / "out", drop_topics=("orders",))
    assert left["orders"] == {"reader payments-0", "reader payments-1", "enumerator payments-0"}
    changed = Savepoint.open(tmp_path / "out", uids=UIDS)
    state = changed.operator("orders").record.coordinator_state
    assert state is not None
    assert state.data == coordinator(ENUMERATOR_OF_PAYMENTS)
    assert changed.verify().is_whole
    other = job.operator("numbers").record
    assert changed.operator("numbers").record.subtasks[0].index == other.subtasks[0].index


def test_a_partition_that_only_a_reader_has_is_forgotten(job: Savepoint, tmp_path: Path) -> None:
    left = after(job, tmp_path / "out", drop_partitions=("payments-1",))
    assert left["orders"] == {
        *("reader orders-3", "reader payments-0"),
        *("enumerator orders-3", "enumerator payments-0"),
    }


def test_a_source_starts_anew(job: Savepoint, tmp_path: Path) -> None:
    left = after(job, tmp_path / "out", reset=("numbers", "orders"))
    assert left["numbers"] == left["orders"] == set()
    assert left["other"]
    changed = Savepoint.open(tmp_path / "out", uids=UIDS)
    assert changed.operator("orders").record.coordinator_state is None


def test_a_directory_is_read_again(samples: Path, tmp_path: Path) -> None:
    savepoint = Savepoint.open(samples / "states-1.20.5-rocksdb-native")
    processed, *others = [entry.split for entry in savepoint.sources().entries]
    code, output = run("sources", savepoint.path, tmp_path / "out", "--drop-file", processed)
    assert code == 0, output
    left = Savepoint.open(tmp_path / "out").sources().entries
    assert [entry.split for entry in left] == others


def test_the_old_consumer_forgets_a_topic(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "_metadata").write_bytes(CONSUMER)
    old = Savepoint.open(tmp_path / "old")
    topics = {entry.table for entry in old.sources().entries}
    gone = min(topics)
    old.change_sources(drop_topics=[gone]).write(tmp_path / "out")
    new = Savepoint.open(tmp_path / "out")
    assert {entry.table for entry in new.sources().entries} == topics - {gone}
    assert new.verify().result == old.verify().result


def test_what_can_not_be_is_refused(job: Savepoint) -> None:
    with pytest.raises(StateNotFoundError, match=r"reads 'order'; it has: .*did you mean 'orders'"):
        job.change_sources(drop_topics=["order"])
    with pytest.raises(StateNotFoundError, match="reads 'orders'"):
        job.change_sources(drop_topics=["orders"], operator="numbers")
    with pytest.raises(StateNotFoundError, match="reads 'orders-3'"):
        job.change_sources(drop_topics=["orders-3"])
    with pytest.raises(RefusedError, match=r"can't be read, so .* \(--reset\)"):
        job.change_sources(drop_topics=["odd"])
    (ended,) = (known for known in job.operators() if known.name == "numbers")
    ended = replace(ended, record=replace(ended.record, is_finished=True, subtasks=()))
    others = [ended if known.name == "numbers" else known for known in job.operators()]
    with pytest.raises(RefusedError, match="source numbers has ended"):
        without_splits(replace(job, _operators=tuple(others)), RemovedSplits(reset=("numbers",)))


def test_an_enumerator_with_splits_on_their_way_is_refused(tmp_path: Path) -> None:
    """Flink's data of a coordinator of version 0 may have the partition, too."""
    state = CoordinatorState.of(coordinator(ENUMERATOR), "state")
    old = replace(state, version=0, rest=b"on its way").to_bytes()
    path = bytes_savepoint(
        tmp_path / "old", {"orders": {"SourceReaderState": [SPLIT]}}, {"orders": old}
    )
    with pytest.raises(RefusedError, match=r"can't be written without orders"):
        Savepoint.open(path, uids=["orders"]).change_sources(drop_topics=["orders"])


def test_a_source_is_none_without_state_of_one(samples: Path) -> None:
    savepoint = Savepoint.open(samples / "states-2.2.1-rocksdb-native")
    with pytest.raises(StateNotFoundError, match="has no state of a source"):
        savepoint.change_sources(reset=["stateful"])
