"""The Kafka state of savepoints, as a user sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.commands import run
from support.kafka_states import (
    COLLECTORS,
    CONSUMER,
    EARLIEST_SPLIT,
    ENUMERATOR,
    SPLIT,
    WRITERS,
    bytes_savepoint,
    coordinator,
)

from savepoint_extensions.connectors.kafka.kafka_source import KafkaSplit
from savepoint_formats.errors import FormatError, RefusedError, StateNotFoundError
from savepoint_formats.metadata import KAFKA_POSITIONS
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ("--uid", "orders", "--uid", "sink", "--uid", "files")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    other = KafkaSplit("payments", 0, 7, 70).to_bytes()
    return bytes_savepoint(
        tmp_path / "job",
        {
            "orders": {"SourceReaderState": [SPLIT, other]},
            "sink": {
                "writer_raw_states": [WRITERS["4.0.1-2.0"]],
                "streaming_committer_raw_states": [COLLECTORS["4.0.1-2.0"]],
            },
            "files": {"SourceReaderState": [b"no split of Kafka"]},
        },
        {"orders": coordinator(ENUMERATOR), "files": b"\0\0\0\1\0\0\0\1\0\0\0\0"},
    )


def test_the_state_of_sources_and_sinks_is_shown(job: Path) -> None:
    code, output = run("kafka", job, *UIDS, "--output", "json")
    assert code == 0
    found: dict[str, list[dict[str, Any]]] = json.loads(output)
    split = {"operator": "orders", "subtask": 0, "source": "KafkaSource"}
    assert found["offsets"] == [
        {**split, "topic": "orders", "partition": 3, "offset": 42, "start": "",
         "stopping_offset": None},
        {**split, "topic": "payments", "partition": 0, "offset": 7, "start": "",
         "stopping_offset": 70},
    ]  # fmt: skip
    partitions = sorted(
        (one["topic"], one["partition"], one["status"]) for one in found["partitions"]
    )
    assert partitions == [("orders", 3, "assigned"), ("payments", 0, "unassigned")]
    transactions = [
        (
            one["kind"],
            one["transactional_id"],
            one["checkpoint_id"],
            one["producer_id"],
            one["epoch"],
        )
        for one in found["transactions"]
    ]
    assert transactions == [
        ("prefix", "prefix", None, None, None),
        ("precommitted", "prefix-0-5", 5, None, None),
        ("pending", "prefix-0-1", 1, 7, 2),
    ]
    code, text = run("kafka", job, *UIDS)
    assert (code, "payments" in text, "prefix-0-1" in text) == (0, True, True)


def test_tables_of_arrow(job: Path) -> None:
    tables = Savepoint.open(str(job), uids=["orders"]).kafka().to_arrow()
    assert tables["offsets"].column("offset").to_pylist() == [42, 7]
    assert tables["transactions"].num_rows == 3


def test_a_savepoint_without_kafka_has_none(samples: Path) -> None:
    for name in ("currency-2.2.1-hashmap-native", "states-1.20.5-rocksdb-native"):
        found = Savepoint.open(str(samples / name)).kafka()
        assert (found.offsets, found.partitions, found.transactions) == ((), (), ())


def test_starts_that_are_no_offsets(tmp_path: Path) -> None:
    path = bytes_savepoint(tmp_path / "job", {"a": {"SourceReaderState": [EARLIEST_SPLIT]}})
    (one,) = Savepoint.open(str(path)).kafka().offsets
    assert (one.offset, one.start) == (None, "earliest")


def splits(path: Path) -> list[KafkaSplit]:
    return [
        KafkaSplit(one.topic, one.partition, one.offset or 0, one.stopping_offset or 0)
        for one in Savepoint.open(str(path), uids=["orders"]).kafka().offsets
    ]


def test_offsets_are_set_and_all_else_stays(job: Path, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("topic,partition,offset,stopping_offset\norders,3,120000,130000\n")
    out = tmp_path / "moved"
    command = ("kafka", job, out, *UIDS, "--set-offsets", file)
    code, output = run(*command, "--dry-run")
    assert (code, out.exists()) == (0, False), output
    assert str(out) in output
    assert "orders\torders\t3\t42\t120000" in output.splitlines()
    code, output = run(*command, "--dry-run", "--output", "json")
    planned = json.loads(output)
    assert (code, out.exists(), planned["path"]) == (0, False, str(out))
    assert planned["offsets"] == [
        {"operator": "orders", "topic": "orders", "partition": 3, "from": 42, "to": "120000"}
    ]
    code, output = run(*command)
    assert (code, out.is_dir()) == (0, True), output
    assert splits(job) == [KafkaSplit("orders", 3, 42, 0), KafkaSplit("payments", 0, 7, 70)]
    assert splits(out) == [
        KafkaSplit("orders", 3, 120000, 130000),
        KafkaSplit("payments", 0, 7, 70),
    ]
    before = Savepoint.open(str(job), uids=["orders", "sink", "files"])
    after = Savepoint.open(str(out), uids=["orders", "sink", "files"])
    assert after.verify().faults == ()
    assert after.kafka().transactions == before.kafka().transactions
    assert after.kafka().partitions == before.kafka().partitions
    counted = {one.table: (one.deleted, one.inserted) for one in before.diff(after).tables}
    assert {name for name, found in counted.items() if found != (0, 0)} == {
        "orders.SourceReaderState"
    }
    assert counted["orders.SourceReaderState"] == (1, 1)


def test_a_savepoint_without_a_kafka_source_is_refused(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "currency-2.2.1-hashmap-native"))
    with pytest.raises(StateNotFoundError, match="no Kafka source"):
        savepoint.set_kafka_offsets([{"topic": "orders", "partition": 3, "offset": 1}])


def test_words_for_offsets(job: Path, tmp_path: Path) -> None:
    savepoint = Savepoint.open(str(job), uids=["orders"])
    rows = [{"topic": "orders", "partition": "3", "offset": "committed"}]
    savepoint.set_kafka_offsets(rows, operator="orders").write(str(tmp_path / "moved"))
    first, _ = Savepoint.open(str(tmp_path / "moved")).kafka().offsets
    assert (first.offset, first.start) == (None, "committed")


def test_offsets_that_are_refused(job: Path) -> None:
    savepoint = Savepoint.open(str(job), uids=["orders", "files"])
    with pytest.raises(RefusedError, match="orders-4"):
        savepoint.set_kafka_offsets([{"topic": "orders", "partition": 4, "offset": 1}])
    with pytest.raises(ValueError, match="lacks offset"):
        savepoint.set_kafka_offsets([{"topic": "orders", "partition": 3}])
    for offset in (-1, "soon"):
        with pytest.raises(ValueError):  # noqa: PT011 - of Python's, or ours
            savepoint.set_kafka_offsets([{"topic": "orders", "partition": 3, "offset": offset}])
    with pytest.raises(StateNotFoundError, match="files has no Kafka source"):
        savepoint.set_kafka_offsets([], operator="files")


def test_wrong_calls(job: Path) -> None:
    assert run("kafka", job, "--out", "somewhere")[0] == 2


@pytest.fixture
def consumer(tmp_path: Path) -> Path:
    (tmp_path / "consumer").mkdir()
    (tmp_path / "consumer" / "_metadata").write_bytes(CONSUMER)
    return tmp_path / "consumer"


def consumed(path: Path) -> list[tuple[Any, ...]]:
    return [
        (one.source, one.topic, one.partition, one.offset, one.start)
        for one in Savepoint.open(str(path)).kafka().offsets
    ]


def test_the_consumer_of_before_goes_on_elsewhere_too(consumer: Path, tmp_path: Path) -> None:
    assert consumed(consumer) == [
        ("FlinkKafkaConsumer", "orders", 0, 42, ""),
        ("FlinkKafkaConsumer", "orders", 1, None, "earliest"),
        ("FlinkKafkaConsumer", "payments", 0, None, "committed"),
    ]
    savepoint = Savepoint.open(str(consumer))
    rows: list[dict[str, Any]] = [
        {"topic": "orders", "partition": 0, "offset": "latest"},
        {"topic": "payments", "partition": 0, "offset": 0},
    ]
    savepoint.set_kafka_offsets(rows).write(str(tmp_path / "moved"))
    assert consumed(tmp_path / "moved") == [
        ("FlinkKafkaConsumer", "orders", 0, None, "latest"),
        ("FlinkKafkaConsumer", "orders", 1, None, "earliest"),
        ("FlinkKafkaConsumer", "payments", 0, 0, ""),
    ]
    faults = Savepoint.open(str(tmp_path / "moved")).verify().faults
    assert [fault.severity for fault in faults] == ["not read"]  # its class is Kafka's
    stopping = [{**rows[1], "stopping_offset": 9}]
    with pytest.raises(RefusedError, match="no stopping offsets: payments-0"):
        savepoint.set_kafka_offsets(stopping)
    with pytest.raises(RefusedError, match="orders-2"):
        savepoint.set_kafka_offsets([{**rows[0], "partition": 2}])


def test_a_state_with_the_name_of_the_consumers_is_told(tmp_path: Path) -> None:
    path = bytes_savepoint(tmp_path / "job", {"other": {KAFKA_POSITIONS: [b"abc"]}})
    savepoint = Savepoint.open(path)
    for look in (savepoint.kafka, savepoint.sources):
        with pytest.raises(FormatError, match="an offset of an unknown class"):
            look()


def test_offsets_may_be_numbers_of_numpy(consumer: Path, tmp_path: Path) -> None:
    rows = [{"topic": "orders", "partition": np.int32(0), "offset": np.int64(7)}]
    Savepoint.open(str(consumer)).set_kafka_offsets(rows).write(str(tmp_path / "moved"))
    assert ("FlinkKafkaConsumer", "orders", 0, 7, "") in consumed(tmp_path / "moved")
