"""Savepoints of jobs that were stopped have older positions of old sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.legacy_kafka import UIDS, legacy_savepoint

from savepoint_extensions.connectors.renewal.stopped_jobs import warnings_of
from savepoint_formats.savepoint_warnings import ConnectorWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def of_kind(savepoint: Savepoint, kind: str) -> Savepoint:
    """The savepoint as a job of this kind would have taken it."""
    properties = savepoint.metadata.properties
    assert properties is not None
    metadata = replace(savepoint.metadata, properties=replace(properties, kind=kind))
    return replace(savepoint, metadata=metadata)


@pytest.mark.parametrize("kind", ["Suspend Savepoint", "Terminate Savepoint"])
def test_a_stopped_job_is_warned_of(tmp_path: Path, kind: str) -> None:
    running = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)
    properties = running.metadata.properties
    assert properties is not None
    assert not properties.is_of_stopped_job
    assert list(warnings_of(running)) == []
    stopped = of_kind(running, kind)
    (text,) = warnings_of(stopped)
    assert "operator orders: this savepoint was taken by stopping the job" in text
    with pytest.warns(ConnectorWarning, match="FlinkKafkaConsumer"):
        stopped.kafka()
    compatibility = stopped.compatibility("2.2")
    assert compatibility.verdict == "silent corruption"
    assert "stopped-source" in {finding.rule for finding in compatibility.findings}
