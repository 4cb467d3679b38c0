"""Positions of consumers of the old API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.kinesis_states import CONSUMER

from savepoint_extensions.connectors.old_consumers import CONSUMERS
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def test_an_operator_has_splits_of_the_consumer_whose_state_it_has(tmp_path: Path) -> None:
    (tmp_path / "_metadata").write_bytes(CONSUMER)
    (operator,) = Savepoint.open(tmp_path).operators()
    counts = {known.name: len(known.splits(operator)) for known in CONSUMERS}
    assert counts == {
        "FlinkKafkaConsumer": 0,
        "FlinkKinesisConsumer": 6,
        "RMQSource": 0,
        "ContinuousFileReaderOperator": 0,
        "ContinuousFileMonitoringFunction": 0,
    }
