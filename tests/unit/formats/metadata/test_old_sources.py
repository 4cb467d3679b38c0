"""Positions of old sources are stale in savepoints that stopped their job, and in no others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.file_states import METADATA as FILES
from support.kinesis_states import CONSUMER
from support.legacy_kafka import METADATA

from savepoint_formats.bytes import DataInputView
from savepoint_formats.metadata import (
    KAFKA_POSITIONS,
    KINESIS_POSITIONS,
    NEWEST_FILE,
    STALE_WHEN_STOPPED,
    CheckpointMetadata,
    CheckpointProperties,
    stale_positions,
)

SOURCES = {KAFKA_POSITIONS: METADATA, KINESIS_POSITIONS: CONSUMER, NEWEST_FILE: FILES}


@pytest.mark.parametrize("name", STALE_WHEN_STOPPED)
@pytest.mark.parametrize("kind", ["Savepoint", "Checkpoint", "Suspend Savepoint"])
def test_only_a_stopped_job_is_not_trusted(name: str, kind: str) -> None:
    metadata = CheckpointMetadata.read(DataInputView(SOURCES[name]))
    assert list(stale_positions(replace(metadata, properties=None))) == []
    properties = replace(CheckpointProperties.of_canonical_savepoint(), kind=kind)
    metadata = replace(metadata, properties=properties)
    stale = {state for _, state in stale_positions(metadata)}
    assert stale == ({name} if kind.startswith("Suspend") else set())
