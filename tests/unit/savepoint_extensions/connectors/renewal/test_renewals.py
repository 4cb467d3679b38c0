"""State of old connectors of Kafka becomes that of the new ones, from a savepoint of a real job."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.kafka_states import CONSUMER
from support.legacy_kafka import UIDS, legacy_savepoint

from savepoint_extensions.connectors.byte_elements import byte_elements, with_byte_elements
from savepoint_extensions.connectors.kafka.kafka_source import KafkaEnumerator
from savepoint_extensions.connectors.renewal.renewals import RENEWALS
from savepoint_formats.errors import MigrationError, OperatorNotFoundError, StateNotFoundError
from savepoint_formats.savepoint_warnings import ConnectorWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

OFFSETS = "topic-partition-offset-states"
CONSUMER_HASH = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def legacy(tmp_path: Path) -> Savepoint:
    return Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)


def offsets_of(path: Path) -> set[tuple[str, str, int, int | None]]:
    return {
        (row.source, row.topic, row.partition, row.offset)
        for row in Savepoint.open(str(path)).kafka().offsets
    }


def test_migrate_carries_sources_and_sinks(legacy: Savepoint, tmp_path: Path) -> None:
    with pytest.warns(ConnectorWarning) as given:
        legacy.migrate().write(str(tmp_path / "new"))
    assert offsets_of(tmp_path / "new") == {
        ("KafkaSource", "orders", 0, 120),
        ("KafkaSource", "orders", 1, 50),
        ("KafkaSource", "orders", 2, 0),
    }
    moved = Savepoint.open(str(tmp_path / "new"))
    statuses = {(row.partition, row.status) for row in moved.kafka().partitions}
    assert statuses == {(0, "assigned"), (1, "assigned"), (2, "assigned")}
    pending = [row for row in moved.kafka().transactions if row.kind == "pending"]
    assert [row.transactional_id[-2:] for row in pending] == ["-0", "-2"]
    assert {row.operator for row in pending} == {"Sink Committer: results"}
    states = {(row.operator, row.state) for row in moved.compatibility("2.2").states()}
    assert OFFSETS not in {state for _, state in states}
    assert not {state for operator, state in states if operator == "results"}
    texts = [str(warning.message) for warning in given]
    assert sum("forceTerminateTransaction" in text for text in texts) == 2
    assert any("commits 2 transactions" in text for text in texts)


def test_one_operator_alone_becomes_new(legacy: Savepoint, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        legacy.renew_connectors("orders").write(str(tmp_path / "new"))
    assert {source for source, *_ in offsets_of(tmp_path / "new")} == {"KafkaSource"}
    kinds = [row.kind for row in Savepoint.open(str(tmp_path / "new")).kafka().transactions]
    assert kinds == ["current", "to be committed"] * 2


def test_sources_that_stay_are_refused(legacy: Savepoint) -> None:
    with pytest.raises(MigrationError) as refused:
        legacy.migrate(sources="keep")
    assert "it is the state of FlinkKafkaConsumer" in str(refused.value)
    assert "has no FlinkKafkaProducer" in str(refused.value)


def test_a_state_that_is_left_out_stays_out(legacy: Savepoint) -> None:
    with pytest.warns(ConnectorWarning):
        migrated = legacy.remove_state("orders", OFFSETS).migrate()
    planned = migrated.operator("orders")
    assert planned.source is not None
    assert planned.source.record.coordinator_state is None
    assert planned.change is not None
    assert planned.change.removed == {OFFSETS}


def test_a_sink_whose_uid_is_unknown_is_refused(tmp_path: Path) -> None:
    path = legacy_savepoint(tmp_path / "legacy")
    savepoint = Savepoint.open(path)
    with pytest.raises(MigrationError, match=r"'Sink Committer: UID'.*name it by --uid") as refused:
        savepoint.migrate()
    sink = str(refused.value).partition("rename-operator PATH ")[2][:32]
    with pytest.warns(ConnectorWarning) as given:
        savepoint.rename_operator(sink, "totals").migrate().write(str(tmp_path / "new"))
    assert str(given[-1].message).startswith("operator totals: the new sink commits 2")
    moved = Savepoint.open(str(tmp_path / "new"), uids=["Sink Committer: totals"])
    pending = {row.operator for row in moved.kafka().transactions}
    assert pending == {"Sink Committer: totals"}


def test_an_operator_of_no_old_connector_is_an_error(legacy: Savepoint) -> None:
    with pytest.raises(StateNotFoundError, match="counts has no state of FlinkKafkaConsumer or"):
        legacy.renew_connectors("counts")
    with pytest.raises(OperatorNotFoundError, match="nowhere"):
        legacy.renew_connectors("nowhere")


def test_a_changed_operator_is_refused(legacy: Savepoint) -> None:
    changed = legacy.writer().rename_state("orders", OFFSETS, "positions")
    with pytest.raises(MigrationError, match="orders was changed before"):
        changed.renew_connectors()


def test_topics_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "_metadata").write_bytes(CONSUMER)
    command = ("sources", tmp_path / "old", tmp_path / "new", "--to-new", CONSUMER_HASH)
    assert run(*command, "--without-topic", "payments")[0] == 0
    assert offsets_of(tmp_path / "new") == {
        ("KafkaSource", "orders", 0, 42),
        ("KafkaSource", "orders", 1, None),
    }
    assert run(*command, "--stream-from", "{}", "--overwrite")[0] == 2


def test_a_source_without_positions_needs_confirmation(legacy: Savepoint, tmp_path: Path) -> None:
    operator = legacy.operator("orders")
    elements = byte_elements(operator, [OFFSETS], is_sized=False)
    empty = with_byte_elements(operator, ((element, None) for element in elements))
    records = [empty if known.name == "orders" else known.record for known in legacy.operators()]
    without = legacy._with_records(records)
    with pytest.raises(MigrationError, match=r"orders.* no position.*--allow-empty"):
        without.migrate()
    without.renew_connectors("orders", allow_empty=True).write(str(tmp_path / "new"))
    entry = Savepoint.open(str(tmp_path / "new"), uids=["orders"]).operator("orders").record
    assert entry.coordinator_state is not None
    enumerator = KafkaEnumerator.of(entry.coordinator_state.data, "")
    assert (enumerator.partitions, enumerator.is_discovered) == ((), True)


def test_rows_name_their_classes() -> None:
    assert [(row.old, row.new) for row in RENEWALS] == [
        ("FlinkKafkaConsumer", "KafkaSource"),
        ("FlinkKafkaProducer", "KafkaSink"),
        ("FlinkKinesisConsumer", "KinesisStreamsSource"),
        ("RMQSource", "the source of RabbitMQ"),
        ("ContinuousFileReaderOperator", "FileSource"),
        ("ContinuousFileMonitoringFunction", "FileSource"),
    ]
