"""Shards of a real ``FlinkKinesisConsumer`` as splits and known shards of a ``KinesisStreamsSource``.

Expected bytes follow the code of the new source, no release of which can be run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.kinesis_states import CONSUMER

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import READER_STATE
from savepoint_extensions.connectors.renewal.kinesis_consumer import renewed_shards
from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions
from savepoint_formats.errors import MigrationError, StateNotFoundError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

UID = "0123456789abcdef0123456789abcdef"
ARN = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders"
NUMBER = "49590338271490256608559692540925702759324208523137515618"
SHARDS = [f"shardId-{number:012}" for number in range(6)]
POSITIONS = {
    SHARDS[1]: json.dumps({"type": "AFTER_SEQUENCE_NUMBER", "sequence_number": NUMBER}),
    SHARDS[4]: json.dumps({"type": "AT_TIMESTAMP", "timestamp": 1700000000000}),
}


@pytest.fixture
def kinesis(tmp_path: Path) -> Savepoint:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "_metadata").write_bytes(CONSUMER)
    return Savepoint.open(folder)


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def test_splits_and_known_shards(kinesis: Savepoint) -> None:
    (operator,) = kinesis.operators()
    options = RenewalOptions(stream_arns=(ARN,), positions=POSITIONS)
    renewed = renewed_shards(operator, options)
    (remark,) = renewed.remarks
    assert "not proven" in remark
    state = renewed.record.coordinator_state
    assert state is not None
    head = utf(ARN) + utf(SHARDS[1]) + utf("AFTER_SEQUENCE_NUMBER") + b"\1\0\1" + utf(NUMBER)
    split = head + b"\0\0\0\1" + utf(SHARDS[0]) + utf("0") + utf("0")
    listed = len(split).to_bytes(4, "big") + split + bytes(4)  # assigned
    assert listed in state.data
    # Coordinator 1, enumerator 1, its size; the last shard it has seen, five splits of version 1.
    assert state.data[:8] == bytes.fromhex("0000000100000001")
    assert state.data[12:].startswith(b"\1" + utf(SHARDS[5]) + bytes.fromhex("0000000500000001"))
    sources = kinesis._with_records([renewed.record]).sources().entries
    readers = {
        entry.split: json.loads(entry.position)
        for entry in sources
        if entry.kind == "shard" and entry.position
    }
    assert readers[SHARDS[2]] == {"type": "LATEST"}
    assert readers[SHARDS[3]] == {"type": "TRIM_HORIZON"}
    assert readers[SHARDS[4]] == {"type": "AT_TIMESTAMP", "timestamp": 1700000000000}
    # The shard that was read to its end is no split any more.
    assert readers.keys() == set(SHARDS[:5])
    assert {entry.table for entry in sources if entry.split} == {ARN}
    assert sum(entry.state == "assigned" for entry in sources) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "names its stream by an ARN"),
        ({"stream_arns": [ARN.replace("orders", "others")]}, "with the ARN of orders"),
        ({"stream_arns": [ARN]}, "record 7 of an aggregated record"),
        ({"stream_arns": [ARN]}, "only the configuration of the old job has"),
        ({"stream_arns": [ARN]}, "--set SPLIT=POSITION"),
    ],
)
def test_what_is_not_known_is_refused(
    kinesis: Savepoint, options: dict[str, list[str]], words: str
) -> None:
    with pytest.raises(MigrationError, match=words):
        kinesis.renew_connectors(UID, **options)  # type: ignore[arg-type]


def test_wrong_names_are_errors(kinesis: Savepoint) -> None:
    with pytest.raises(ValueError, match="no ARN of a stream"):
        kinesis.renew_connectors(UID, stream_arns=["orders"])
    positions = {**POSITIONS, "shardId-7": "{}"}
    with pytest.raises(StateNotFoundError, match="no old source has shardId-7"):
        kinesis.renew_connectors(UID, stream_arns=[ARN], positions=positions)
    with pytest.raises(StateNotFoundError, match="no old source has clicks"):
        kinesis.renew_connectors(
            UID, stream_arns=[ARN], positions=POSITIONS, without_topics=["clicks"]
        )


def test_the_way_from_the_doctor_to_flink_2(kinesis: Savepoint, tmp_path: Path) -> None:
    compatibility = kinesis.compatibility("2.2")
    assert compatibility.verdict == "unknown"
    assert any("not proven" in finding.reason for _, finding in compatibility.placed())
    moved, new = tmp_path / "moved", tmp_path / "new"
    with pytest.raises(MigrationError, match="--stream-arn"):
        kinesis.migrate()
    words = [f"--set={shard}={position}" for shard, position in POSITIONS.items()]
    command = ["sources", kinesis.path, str(moved), "--to-new", UID]
    code, printed = run(*command, "--stream-arn", ARN, *words)
    assert (code, "not proven" in printed) == (0, True), printed
    assert run("migrate", str(moved), str(new))[0] == 0
    (operator,) = Savepoint.open(new).operators()
    assert len(list(byte_elements(operator, [READER_STATE]))) == 5
    assert run("sources", kinesis.path, str(new), "--stream-arn", ARN)[0] == 2
