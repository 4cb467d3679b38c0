"""Serializers of connectors read and refuse the versions that the table of versions says."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.connector_serializers import answers_of
from support.kafka_broker import CLIENTS, connector_jars
from support.kafka_states import COMMITTABLE, SPLIT, WRITERS
from support.maven_jars import fetched
from support.nightly import nightly

from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    KafkaEnumerator,
    KafkaPartition,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.version_table import PARTS, release_of

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
PULSAR = "org.apache.flink.connector.pulsar."
VERVERICA, APACHE = "com.ververica", "org.apache.flink"
OTHERS = {
    "file": {
        "splits": f"{FILE}src.FileSourceSplitSerializer",
        "enumerator": f"{FILE}src.PendingSplitsCheckpointSerializer",
        "committables": f"{FILE}sink.FileSinkCommittableSerializer",
        "writers": f"{FILE}sink.writer.FileWriterBucketStateSerializer",
    },
    "pulsar": {
        "splits": f"{PULSAR}source.split.PulsarPartitionSplitSerializer",
        "enumerator": f"{PULSAR}source.enumerator.PulsarSourceEnumStateSerializer",
        "committables": f"{PULSAR}sink.committer.PulsarCommittableSerializer",
    },
    "mysql-cdc": {
        "splits": "CDC.connectors.mysql.source.split.MySqlSplitSerializer",
        "enumerator": "CDC.connectors.mysql.source.assigners.state.PendingSplitsStateSerializer",
    },
    "postgres-cdc": {
        "splits": "CDC.connectors.base.source.IncrementalSource$1",
        "enumerator": "CDC.connectors.base.source.assigner.state.PendingSplitsStateSerializer",
    },
}
"""Connector -> part -> its serializer; ``CDC`` stands for the package, which was renamed."""
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


def jars_of(connector: str) -> list[str]:
    return sorted(
        {
            jar
            for row in PARTS
            if row.connector == connector
            for known in row.versions
            for jar in known.jars.split()
        }
    )


@pytest.mark.parametrize("release", jars_of("kafka"))
def test_a_release_reads_what_the_table_says(release: str, tmp_path: Path) -> None:
    flink = "2.2.1" if release.endswith(("-2.0", "-2.2")) else "1.20.5"
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
        is_read = known.lowest <= state.version <= max((known.writes, *known.partly))
        expected.append(f"{known.writes} {'read' if is_read else 'refused'}")
    assert answers_of(flink, jars, asked, tmp_path) == expected


@pytest.mark.parametrize("flink", ["1.20.5", "2.2.1"])
def test_flink_writes_files_as_the_table_says(flink: str, tmp_path: Path) -> None:
    expect_of_table("file", flink, flink, (), tmp_path)


@nightly
@pytest.mark.parametrize("flink", jars_of("file"))
def test_all_releases_of_flink_write_files_as_the_table_says(flink: str, tmp_path: Path) -> None:
    expect_of_table("file", flink, flink, (), tmp_path)


@nightly
@pytest.mark.parametrize("connector", ["pulsar", "mysql-cdc", "postgres-cdc"])
def test_other_connectors_write_what_the_table_says(connector: str, tmp_path: Path) -> None:
    (artifact,) = {row.artifact for row in PARTS if row.connector == connector}
    for jar in jars_of(connector):
        is_old = release_of(jar) < (3, 1)
        group = VERVERICA if is_old and connector != "pulsar" else APACHE
        # This release of MySQL's connector is served in one jar with all that it needs.
        name = (
            "flink-sql-connector-mysql-cdc"
            if (connector, jar) == ("mysql-cdc", "3.5.0")
            else artifact
        )
        folder = fetched(f"{name}-alone-{jar}", {name: jar}, is_alone=True, group=group)
        expect_of_table(connector, jar, "1.20.5", tuple(folder.glob("*.jar")), tmp_path)


def expect_of_table(
    connector: str, jar: str, flink: str, jars: tuple[Path, ...], folder: Path
) -> None:
    """Each serializer of a release writes the version of its row, and reads no other bytes."""
    release = release_of(jar)
    package = "com.ververica.cdc" if release < (3, 1) else "org.apache.flink.cdc"
    asked, expected = [], []
    for part, name in OTHERS[connector].items():
        row = next(row for row in PARTS if (row.connector, row.part) == (connector, part))
        known = row.of_release(release)
        assert known is not None
        asked.append(f"{name.replace('CDC', package)} 99 00")
        expected.append(f"{known.writes} refused")
    assert answers_of(flink, jars, asked, folder) == expected, jar
