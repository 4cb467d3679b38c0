"""Offsets of a ``FlinkKafkaConsumer`` as splits and known partitions of a ``KafkaSource``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.kafka_states import CONSUMER

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import READER_STATE
from savepoint_extensions.connectors.kafka.kafka_source import (
    COMMITTED,
    EARLIEST,
    KafkaEnumerator,
    KafkaSplit,
)
from savepoint_extensions.connectors.renewal import kafka_consumer
from savepoint_extensions.connectors.renewal.kafka_consumer import renewed_consumer
from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions, has_list
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import KAFKA_POSITIONS
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_database.snapshot.operator import Operator


@pytest.fixture
def consumer(tmp_path: Path) -> Operator:
    (tmp_path / "_metadata").write_bytes(CONSUMER)
    (operator,) = Savepoint.open(str(tmp_path)).operators()
    return operator


def test_the_next_record_and_the_sentinels(consumer: Operator) -> None:
    assert has_list(consumer, KAFKA_POSITIONS)
    record = renewed_consumer(consumer, RenewalOptions()).record
    changed = replace(consumer, record=record)
    assert not has_list(changed, KAFKA_POSITIONS)
    elements = byte_elements(changed, [READER_STATE])
    assert [KafkaSplit.of(element.data, "") for element in elements] == [
        KafkaSplit("orders", 0, 42),
        KafkaSplit("orders", 1, EARLIEST),
        KafkaSplit("payments", 0, COMMITTED),
    ]
    assert record.coordinator_state is not None
    # What the enumerator of 3.4.0-1.20 and of 4.0.1-2.0 writes for three assigned partitions.
    assert record.coordinator_state.data == bytes.fromhex(
        "00000001 00000002 00000037 00000003"
        " 0006 6f7264657273 00000000 00000000"
        " 0006 6f7264657273 00000001 00000000"
        " 0008 7061796d656e7473 00000000 00000000 01"
    )
    assert KafkaEnumerator.of(record.coordinator_state.data, "").is_discovered


def test_a_partition_with_two_offsets_is_refused(
    consumer: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = [(0, KafkaSplit("orders", 0, 5)), (1, KafkaSplit("orders", 0, 6))]
    monkeypatch.setattr(kafka_consumer, "consumed", lambda _: twice)
    with pytest.raises(RefusedError, match=r"orders-0 has the positions .*5.* and .*6.*--set"):
        renewed_consumer(consumer, RenewalOptions())
    assert KAFKA_POSITIONS in {state.name for state in consumer.catalog.states}
