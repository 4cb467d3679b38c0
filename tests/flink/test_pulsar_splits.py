"""The serializer of Pulsar's connector writes what is read here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from flink_home import FlinkHome
from support.maven_jars import fetched

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.shard_splits import PulsarSplit

SOURCE = Path(__file__).parent / "pulsar_splits" / "PulsarSplits.java"
RELEASE = "4.1.0-1.18"


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
