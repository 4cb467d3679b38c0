"""The serializers of Kafka's connector write what is read here, and read what is written here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.kafka_connector import FLINK, connector_folder
from support.kafka_states import (
    BOUNDED_SPLIT,
    COLLECTORS,
    COMMITTABLE,
    EARLIEST_SPLIT,
    ENUMERATOR_OF_PAYMENTS,
    PARTITIONS_1,
    SPLIT,
    WRITERS,
    coordinator,
)

from savepoint_extensions.connectors.kafka.kafka_source import AssignmentStatus, KafkaEnumerator

SOURCES = Path(__file__).parent / "kafka"


@pytest.mark.parametrize("release", list(FLINK))
def test_vectors_are_those_of_the_connector(release: str, tmp_path: Path) -> None:
    jars = f"{connector_folder(release)}/*"
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    command = ["javac", "-nowarn", "-d", str(tmp_path), "-cp", jars, *sources]
    subprocess.run(command, check=True)
    found = subprocess.run(
        [
            "java",
            "-cp",
            os.pathsep.join([str(tmp_path), jars]),
            "org.apache.flink.connector.kafka.sink.KafkaVectors",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    vectors = {
        name: bytes.fromhex(data) for name, data in map(str.split, found.stdout.splitlines())
    }
    enumerator = KafkaEnumerator.of(coordinator(vectors.pop("enumerator")), "enumerator")
    assert {(one.topic, one.partition, one.status) for one in enumerator.partitions} == {
        ("orders", 3, AssignmentStatus.ASSIGNED),
        ("payments", 0, AssignmentStatus.UNASSIGNED),
    }
    assert vectors == {
        "split": SPLIT,
        "bounded_split": BOUNDED_SPLIT,
        "earliest_split": EARLIEST_SPLIT,
        "enumerator_of_payments": ENUMERATOR_OF_PAYMENTS,
        "partitions_1": PARTITIONS_1,
        "writer": WRITERS[release],
        "committable": COMMITTABLE,
        "collector": COLLECTORS[release],
    }
