"""Serializers of connectors read and refuse the versions that the table of versions says."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from flink_home import FlinkHome
from support.java_jobs import JOBS
from support.kafka_broker import CLIENTS, FLINK, connector_jars
from support.kafka_states import COMMITTABLE, SPLIT, WRITERS

from savepoint_extensions.connectors.connector_versions import PARTS, release_of
from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    KafkaEnumerator,
    KafkaPartition,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned

if TYPE_CHECKING:
    from pathlib import Path

KAFKA = "org.apache.flink.connector.kafka."
CLASSES = {
    "splits": f"{KAFKA}source.split.KafkaPartitionSplitSerializer",
    "enumerator": f"{KAFKA}source.enumerator.KafkaSourceEnumStateSerializer",
    "committables": f"{KAFKA}sink.KafkaCommittableSerializer",
    "writers": f"{KAFKA}sink.KafkaWriterStateSerializer",
}
FILE = "org.apache.flink.connector.file."
FILES = {
    "splits": f"{FILE}src.FileSourceSplitSerializer",
    "enumerator": f"{FILE}src.PendingSplitsCheckpointSerializer",
    "committables": f"{FILE}sink.FileSinkCommittableSerializer",
    "writers": f"{FILE}sink.writer.FileWriterBucketStateSerializer",
}
NEWEST_CLIENTS = max(CLIENTS.values())


def samples() -> list[tuple[str, Versioned]]:
    """State of each part in each version that is written."""
    known = KafkaPartition("orders", 3, AssignmentStatus.ASSIGNED)
    enumerator = KafkaEnumerator(1, (known,), is_discovered=True)
    enumerators = [replace(enumerator, version=version).to_versioned() for version in (1, 2, 3)]
    of_others = [("splits", SPLIT), ("committables", COMMITTABLE)]
    of_others += [("writers", data) for data in WRITERS.values()]
    return [
        *(("enumerator", state) for state in enumerators),
        *((part, Versioned.whole(data, part)) for part, data in of_others),
    ]


@pytest.mark.parametrize("release", ["3.0.2-1.18", "3.1.0-1.18", *FLINK, "4.0.1-2.0"])
def test_a_release_reads_what_the_table_says(release: str, tmp_path: Path) -> None:
    flink = FLINK.get(release, "2.2.1" if release.endswith("-2.0") else "1.20.5")
    try:
        jars = connector_jars(release, CLIENTS.get(release, NEWEST_CLIENTS))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the jars of Kafka's connector can't be had: {error}")
    asked = [f"{CLASSES[part]} {state.version} {state.data.hex()}" for part, state in samples()]
    expected = []
    for part, state in samples():
        row = next(row for row in PARTS if (row.connector, row.part) == ("kafka", part))
        known = row.of_release(release_of(release))
        assert known is not None
        is_read = known.lowest <= state.version <= max(known.writes, known.partly)
        expected.append(f"{known.writes} {'read' if is_read else 'refused'}")
    assert answers_of(flink, jars, asked, tmp_path) == expected


@pytest.mark.parametrize("flink", sorted(FLINK.values()))
def test_flink_writes_files_as_the_table_says(flink: str, tmp_path: Path) -> None:
    rows = {row.part: row.of_release(release_of(flink)) for row in PARTS if row.connector == "file"}
    asked = [f"{FILES[part]} 99 00" for part in rows]
    expected = [f"{known.writes} refused" for known in rows.values() if known is not None]
    assert answers_of(flink, (), asked, tmp_path) == expected


def answers_of(flink: str, jars: tuple[Path, ...], asked: list[str], folder: Path) -> list[str]:
    """The answers of serializers, see ``Versions.java``."""
    home = FlinkHome.cached(flink)
    home.install()
    home = replace(home, more=jars)
    command = home.java(home.compiled([JOBS / "connector_versions"]), [])
    answers = subprocess.run(
        [*command, "versions.Versions"],
        input="".join(f"{line}\n" for line in asked),
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return answers.stdout.splitlines()
