"""State of sources as a table, and savepoints whose sources go on elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.cdc_sources import begun, element, enumerator, position, snapshot, stream
from support.kafka_states import CONSUMER, ENUMERATOR, SPLIT, bytes_savepoint, coordinator

from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState, KafkaSplit
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm
from savepoint_extensions.connectors.source_splits.wrapped_splits import HybridSplit, NumbersSplit
from savepoint_formats.savepoint_warnings import UnreadStateWarning
from state_processor import RefusedError, Savepoint, StateNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
    from state_processor import SourceEntry

UIDS = ["orders", "mysql", "postgres", "other", "starting"]
MYSQL, BASE = CdcForm(False, 4), CdcForm(True, 6)
TABLES = {"orders": [10, 20], "payments": [15]}


def coordinated(state: CdcEnumerator) -> bytes:
    return CoordinatorState(1, state.to_versioned()).to_bytes()


@pytest.fixture
def job(tmp_path: Path) -> Savepoint:
    """Sources of Kafka, MySQL, Postgres, an unknown one, and one in its snapshot phase."""
    mysql = [element(stream(MYSQL, 30, TABLES, ""), MYSQL)]
    postgres = [element(stream(BASE, 30, TABLES, "factory"), BASE)]
    starting = [element(snapshot("orders", number, BASE, None), BASE) for number in (1, 2)]
    path = bytes_savepoint(
        tmp_path / "job",
        {
            "orders": {"SourceReaderState": [SPLIT, KafkaSplit("payments", 0, 7).to_bytes()]},
            "mysql": {"SourceReaderState": mysql, "other": [b"x" * 40, b""]},
            "postgres": {"SourceReaderState": postgres},
            "other": {"SourceReaderState": [Versioned(77, b"abc").to_bytes(), b"\0"]},
            "starting": {"SourceReaderState": starting},
        },
        {
            "orders": coordinator(ENUMERATOR),
            "mysql": coordinated(enumerator(5, MYSQL, TABLES)),
            "postgres": coordinated(enumerator(8, BASE, TABLES)),
            "other": coordinator(Versioned(9, b"abc").to_bytes()),
            "starting": coordinated(begun(8, BASE)),
        },
    )
    return Savepoint.open(path, uids=UIDS)


def entries(savepoint: Savepoint, operator: str) -> list[SourceEntry]:
    return [entry for entry in savepoint.sources().entries if entry.operator == operator]


def contents(savepoint: Savepoint, operator: str) -> list[SourceEntry]:
    """The entries, whatever their numbers in the savepoint."""
    return [replace(entry, number=0) for entry in entries(savepoint, operator)]


def test_all_entries_are_shown(job: Savepoint) -> None:
    rows = job.sources().to_arrow().to_pylist()
    assert [row["number"] for row in rows] == list(range(len(rows)))
    first, second, *partitions = entries(job, "orders")
    assert (first.connector, first.split, first.table) == ("kafka", "orders-3", "orders")
    assert json.loads(first.position) == {"offset": 42}
    assert json.loads(second.position) == {"offset": 7}
    assert {(entry.split, entry.subtask, entry.state) for entry in partitions} == {
        ("orders-3", None, "assigned"),
        ("payments-0", None, "unassigned"),
    }
    reader, known, *others = entries(job, "mysql")
    assert (reader.connector, reader.kind, reader.subtask) == ("mysql-cdc", "stream", 0)
    assert reader.position == position(30, is_base=False)
    assert reader.content == "finished splits=3 of 3, tables=2"
    assert (known.kind, known.state) == ("enumerator", "initial_assigning_finished")
    assert [entry.kind for entry in others] == ["table"] * 2 + ["snapshot"] * 3
    assert {entry.connector for entry in entries(job, "postgres")} == {"postgres-cdc"}
    unknown, broken, states = entries(job, "other")
    assert (unknown.connector, unknown.version, unknown.bytes) == ("unknown", 77, b"abc".hex())
    assert "of none of the connectors" in unknown.content
    assert (broken.version, broken.bytes) == (None, "00")
    assert (states.kind, states.version, states.bytes) == ("enumerator", 9, b"abc".hex())
    assert {row["bytes"] for row in rows if row["operator"] == "other"} == {b"abc", b"\0"}
    assert "binlog-split" in job.sources()._repr_html_()


def test_a_savepoint_without_splits_has_the_files_that_are_read(samples: Path) -> None:
    savepoint = Savepoint.open(samples / "states-1.20.5-rocksdb-native")
    known = {(entry.connector, entry.kind, entry.state) for entry in savepoint.sources().entries}
    assert known == {("file", "file", "processed")}


def test_positions_are_set_and_all_else_stays(job: Savepoint, tmp_path: Path) -> None:
    later = position(99, is_base=False)
    changes = {"binlog-split": later, "orders-3": "43", "payments-0": '{"offset": "latest"}'}
    job.change_sources(changes).write(tmp_path / "moved")
    moved = Savepoint.open(tmp_path / "moved", uids=UIDS)
    assert entries(moved, "mysql")[0].position == later
    assert [entry.position for entry in entries(moved, "orders")[:2]] == [
        '{"offset": 43}',
        '{"offset": "latest"}',
    ]
    assert [known.offset for known in moved.kafka().offsets] == [43, None]
    assert entries(moved, "postgres") == entries(job, "postgres")
    assert entries(moved, "mysql")[1:] == entries(job, "mysql")[1:]
    assert not moved.verify().faults
    changed = {known.table for known in job.diff(moved).tables if known.deleted or known.inserted}
    assert changed == {"orders.SourceReaderState", "mysql.SourceReaderState"}


def test_positions_that_are_refused(job: Savepoint) -> None:
    with pytest.raises(StateNotFoundError, match="no reader with the split orders-4, orders-5"):
        job.change_sources({"orders-4": "1", "orders-5": "1", "orders-3": "1"})
    with pytest.raises(RefusedError, match="mysql-cdc has no lsn"):
        job.change_sources({"binlog-split": '{"lsn": "4"}'})
    with pytest.raises(RefusedError, match="is a snapshot, which is read as a whole"):
        job.change_sources({"shop.orders:1": position(4, is_base=True)})
    with pytest.raises(ValueError, match="expected 0 or more"):
        job.change_sources({"orders-3": "-7"})


def test_finished_splits_are_released(job: Savepoint, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="fit several sources"):
        job.change_sources(release_finished=True)
    with pytest.raises(RefusedError, match="still reads snapshots"):
        job.change_sources(release_finished=True, operator="starting")
    job.change_sources(release_finished=True, operator="mysql").write(tmp_path / "released")
    changed = Savepoint.open(tmp_path / "released", uids=UIDS)
    reader, *others = entries(changed, "mysql")
    assert reader.content == "finished splits=2 of 2, tables=2"
    assert [entry.split for entry in others if entry.kind == "snapshot"] == [
        "shop.orders:0",
        "shop.payments:0",
    ]
    assert contents(changed, "postgres") == contents(job, "postgres")
    assert not changed.verify().faults


def test_tables_go_and_come(job: Savepoint, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"fit several sources \(.*mysql"):
        job.change_sources(drop_tables=["shop.payments"])
    writer = job.change_sources(
        drop_tables=["shop.payments"], add_tables=["shop.refunds"], operator="postgres"
    )
    writer.write(tmp_path / "changed")
    changed = Savepoint.open(tmp_path / "changed", uids=UIDS)
    tables = [entry.table for entry in entries(changed, "postgres") if entry.kind == "table"]
    assert tables == ["shop.orders", "shop.refunds"]
    with pytest.raises(StateNotFoundError, match=r"that has shop\.nothing"):
        job.change_sources(drop_tables=["shop.nothing"])
    with pytest.raises(StateNotFoundError, match="no source with change data capture"):
        job.change_sources(release_finished=True, operator="orders")


def test_from_snapshots_to_the_stream(job: Savepoint, tmp_path: Path) -> None:
    start = position(40, is_base=True)
    job.change_sources(stream_from=start, operator="starting").write(tmp_path / "streaming")
    changed = Savepoint.open(tmp_path / "streaming", uids=UIDS)
    known, *others = entries(changed, "starting")
    assert (known.kind, known.subtask) == ("enumerator", None)
    assert known.content == "a reader has the stream=no"
    assert {entry.position for entry in others if entry.kind == "snapshot"} == {start}


def test_the_consumer_of_before_is_a_source_too(tmp_path: Path) -> None:
    (tmp_path / "_metadata").write_bytes(CONSUMER)
    positions = [entry.position for entry in Savepoint.open(tmp_path).sources().entries]
    assert positions == ['{"offset": 42}', '{"offset": "earliest"}', '{"offset": "committed"}']


def test_the_consumer_of_before_goes_on_elsewhere_by_its_splits(tmp_path: Path) -> None:
    (tmp_path / "_metadata").write_bytes(CONSUMER)
    savepoint = Savepoint.open(tmp_path)
    moved = {"orders-0": "7", "payments-0": '{"offset": "latest"}'}
    savepoint.change_sources(moved).write(tmp_path / "moved")
    entries = Savepoint.open(tmp_path / "moved").sources().entries
    assert {entry.split: entry.position for entry in entries} == {
        "orders-0": '{"offset": 7}',
        "orders-1": '{"offset": "earliest"}',
        "payments-0": '{"offset": "latest"}',
    }
    with pytest.raises(RefusedError, match="no stopping offsets: orders-0"):
        savepoint.change_sources({"orders-0": '{"offset": 7, "stopping_offset": 9}'})


def test_all_partitions_of_a_newer_enumerator_of_kafka_are_listed(cases: Path) -> None:
    savepoint = Savepoint.open(str(cases / "03-kafka-enumerator-3"))
    known = savepoint.kafka().partitions
    assert {(one.topic, one.partition) for one in known} == {("parts", n) for n in range(10)}
    assert {one.status for one in known} == {"assigned"}
    listed = [entry for entry in savepoint.sources().entries if entry.subtask is None]
    assert {entry.split for entry in listed} == {f"parts-{n}" for n in range(10)}


def test_an_enumerator_of_an_unknown_version_is_no_source_without_partitions(
    tmp_path: Path,
) -> None:
    path = bytes_savepoint(
        tmp_path / "job",
        {"orders": {"SourceReaderState": [SPLIT]}},
        {"orders": coordinator(Versioned(4, b"abc").to_bytes())},
    )
    with pytest.warns(
        UnreadStateWarning, match="partitions are not listed: an enumerator of version 4"
    ):
        assert Savepoint.open(path, uids=["orders"]).kafka().partitions == ()


def test_files_that_a_source_has_processed_are_listed(cases: Path) -> None:
    savepoint = Savepoint.open(str(cases / "04-file-source-processed"))
    entries = savepoint.sources().entries
    assert {(entry.state, entry.split.rpartition("/")[2]) for entry in entries} == {
        ("processed", "one.txt"),
        ("processed", "two.txt"),
    }


NUMBERS = NumbersSplit("3", 10, 20).to_versioned()


def test_ranges_of_numbers_and_sources_in_a_row_go_on_elsewhere(tmp_path: Path) -> None:
    inner = KafkaSplit("orders", 3, 42).to_versioned()
    hybrid = HybridSplit(1, "orders-3", inner)
    path = bytes_savepoint(
        tmp_path / "job",
        {
            "orders": {"SourceReaderState": [hybrid.with_inner(inner).to_bytes()]},
            "other": {"SourceReaderState": [NUMBERS.to_bytes()]},
        },
        {},
    )
    savepoint = Savepoint.open(path, uids=["orders", "other"])
    assert {entry.split: json.loads(entry.position) for entry in savepoint.sources().entries} == {
        "orders-3": {"offset": 42},
        "3": {"next": 10},
    }
    out = str(tmp_path / "moved")
    positions = {"orders-3": json.dumps({"offset": 7}), "3": json.dumps({"next": 15})}
    savepoint.change_sources(positions).write(out)
    moved = Savepoint.open(out, uids=["orders", "other"]).sources().entries
    assert {entry.split: json.loads(entry.position) for entry in moved} == {
        "orders-3": {"offset": 7},
        "3": {"next": 15},
    }
    assert {entry.content for entry in moved} == {"source=1, connector=kafka", "last=20"}
    with pytest.raises(RefusedError, match="up to 21"):
        savepoint.change_sources({"3": json.dumps({"next": 22})}).write(str(tmp_path / "x"))
