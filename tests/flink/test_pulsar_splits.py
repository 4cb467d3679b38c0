"""The serializer of Pulsar's connector writes what is read here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from flink_home import FlinkHome
from support.connector_serializers import answers_of
from support.maven_jars import fetched

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks import pulsar_sink
from savepoint_extensions.connectors.source_splits.shard_splits import (
    PulsarSplit,
    pulsar_partitions,
)
from savepoint_extensions.connectors.version_table import PARTS

SOURCE = Path(__file__).parent / "pulsar_splits" / "PulsarSplits.java"
RELEASE = "4.1.0-1.18"
SERIALIZERS = "org.apache.flink.connector.pulsar.source"
COMMITTABLES = "org.apache.flink.connector.pulsar.sink.committer.PulsarCommittableSerializer"


def test_splits_are_those_of_the_connector(tmp_path: Path) -> None:
    home = FlinkHome.cached("1.20.5")
    home.install()
    jars = fetched(f"pulsar-{RELEASE}", {"flink-connector-pulsar": RELEASE})
    class_path = os.pathsep.join([str(tmp_path), f"{jars}/*", *map(str, home.jars)])
    subprocess.run(["javac", "-nowarn", "-d", tmp_path, "-cp", class_path, SOURCE], check=True)
    printed = subprocess.run(
        ["java", "-cp", class_path, "splits.PulsarSplits"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    *lines, message = printed.stdout.splitlines()
    splits = [
        PulsarSplit.of(Versioned(int(version), bytes.fromhex(data)), "split")
        for version, data in map(str.split, lines)
    ]
    topic = "persistent://a/b/orders"
    assert splits == [PulsarSplit(topic, 3, None, False), PulsarSplit(topic, 3, message, True)]
    asked, versions = [], {row.part: row.versions[-1] for row in PARTS if row.connector == "pulsar"}
    head, ranges = topic_of(topic), bytes.fromhex("00000001 00000000 0000ffff")
    of_newest = bytes.fromhex(lines[1].split()[1])
    assert of_newest.startswith(head + ranges)
    rest = of_newest.removeprefix(head + ranges)
    partitions = [head + ranges[4:], head + ranges + bytes(4), head + ranges]
    for version, partition in enumerate(partitions):
        split = Versioned(version, partition + rest)
        assert PulsarSplit.of(split, "split") == splits[1]
        asked.append(
            f"{SERIALIZERS}.split.PulsarPartitionSplitSerializer {version} {split.data.hex()}"
        )
        state = Versioned(version + 1, b"\0\0\0\1" + partition)
        assert pulsar_partitions(state, "enumerator") == [(topic, 3)]
        name = f"{SERIALIZERS}.enumerator.PulsarSourceEnumStateSerializer"
        asked.append(f"{name} {state.version} {state.data.hex()}")
    written = (versions["splits"].writes, versions["enumerator"].writes)
    expected = [f"{version} read" for version in written] * len(partitions)
    committable = "00" * 7 + "01" + "00" * 7 + "02" + topic_of(topic)[:-4].hex()
    asked.append(f"{COMMITTABLES} 1 {committable}")
    expected.append(f"{versions['committables'].writes} read")
    facts = pulsar_sink.committable(Versioned(1, bytes.fromhex(committable)), "commit")
    assert facts == {"transaction": "(1,2)", "topic": topic}
    own = [jar for jar in jars.glob("*.jar") if "flink-" not in jar.name or RELEASE in jar.name]
    assert answers_of("1.20.5", tuple(own), asked, tmp_path) == expected


def topic_of(topic: str) -> bytes:
    """The topic, and the number 3 of its partition."""
    return len(topic).to_bytes(2, "big") + topic.encode() + b"\0\0\0\3"
