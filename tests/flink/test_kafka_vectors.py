"""The serializers of Kafka's connector write what is read here, and read what is written here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from flink_home import CACHE
from support.kafka_states import (
    BOUNDED_SPLIT,
    COLLECTORS,
    COMMITTABLE,
    EARLIEST_SPLIT,
    PARTITIONS_1,
    SPLIT,
    WRITERS,
    coordinator,
)

from savepoint_formats.kafka.source_state import AssignmentStatus, KafkaEnumerator

SOURCES = Path(__file__).parent / "kafka"
FLINK = {"3.4.0-1.20": "1.20.1", "4.0.1-2.0": "2.0.0"}
POM = """\
<project><modelVersion>4.0.0</modelVersion>
<groupId>vectors</groupId><artifactId>vectors</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>org.apache.flink</groupId><artifactId>{}</artifactId>"
    "<version>{}</version></dependency>"
)


def jars(release: str) -> str:
    """The class path of a release of the connector, which Maven fetches once."""
    folder = CACHE / f"kafka-{release}"
    if not list(folder.glob("flink-connector-kafka-*.jar")):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = {
            "flink-connector-kafka": release,
            "flink-connector-base": FLINK[release],
            "flink-streaming-java": FLINK[release],
        }
        pom = folder / "pom.xml"
        pom.write_text(POM.format("".join(DEPENDENCY.format(*one) for one in wanted.items())))
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True)
    return f"{folder}/*"


@pytest.mark.parametrize("release", list(FLINK))
def test_vectors_are_those_of_the_connector(release: str, tmp_path: Path) -> None:
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    command = ["javac", "-nowarn", "-d", str(tmp_path), "-cp", jars(release), *sources]
    subprocess.run(command, check=True)
    found = subprocess.run(
        [
            "java",
            "-cp",
            os.pathsep.join([str(tmp_path), jars(release)]),
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
        "partitions_1": PARTITIONS_1,
        "writer": WRITERS[release],
        "committable": COMMITTABLE,
        "collector": COLLECTORS[release],
    }
