"""Positions of the old consumer of Kinesis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.kinesis_states import CONSUMER

from savepoint_extensions.connectors.consumed_shards import shard_facts
from state_processor import RefusedError, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = "495903382714902566085596925"


@pytest.fixture
def kinesis(tmp_path: Path) -> Savepoint:
    """A savepoint of a ``FlinkKinesisConsumer``."""
    (tmp_path / "_metadata").write_bytes(CONSUMER)
    return Savepoint.open(tmp_path)


def test_each_shard_of_the_old_kinesis_consumer_has_its_position(kinesis: Savepoint) -> None:
    entries = sorted(kinesis.sources().entries, key=lambda entry: entry.split)
    assert [entry.split for entry in entries] == [f"shardId-{n:012}" for n in range(6)]
    assert {(entry.connector, entry.kind, entry.table) for entry in entries} == {
        ("kinesis", "shard", "orders")
    }
    assert [json.loads(entry.position) for entry in entries] == [
        {
            "type": "AFTER_SEQUENCE_NUMBER",
            "sequence_number": f"{NUMBER}38361571095921575989136588898",
        },
        {
            "type": "AFTER_SEQUENCE_NUMBER",
            "sequence_number": f"{NUMBER}40925702759324208523137515618",
            "sub_sequence_number": 7,
        },
        {"type": "LATEST"},
        {"type": "TRIM_HORIZON"},
        {"type": "AT_TIMESTAMP"},
        {"type": "SHARD_ENDING"},
    ]
    assert [entry.state for entry in entries] == ["reading"] * 5 + ["finished"]
    (operator,) = kinesis.operators()
    assert {facts.split for facts in shard_facts(operator)} == {entry.split for entry in entries}


def test_positions_of_the_old_kinesis_consumer_cannot_be_set(kinesis: Savepoint) -> None:
    with pytest.raises(RefusedError, match="positions of FlinkKinesisConsumer can't be set"):
        kinesis.change_sources({"shardId-000000000000": "LATEST"})
