"""The state of a real ``FlinkKafkaConsumer``: as it writes it, and as it restores what was set."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.kafka_connector import CONSUMER, connector_folder
from support.kafka_states import CONSUMER as VECTOR

from state_processor import Savepoint

SOURCES = Path(__file__).parent / "kafka_consumer"
UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def java(tmp_path: Path) -> list[str]:
    """The command that runs ``ConsumerState``."""
    jars, classes = f"{connector_folder(CONSUMER)}/*", tmp_path / "classes"
    sources = map(str, SOURCES.rglob("*.java"))
    options = ["-nowarn", "-XDsuppressNotes", "-d", str(classes), "-cp", jars]
    subprocess.run(["javac", *options, *sources], check=True)
    opened = "--add-opens=java.base/java.util=ALL-UNNAMED"
    name = "org.apache.flink.streaming.connectors.kafka.ConsumerState"
    return ["java", opened, "-cp", f"{classes}:{jars}", name]


def test_the_consumer_goes_on_at_the_offsets_that_were_set(java: list[str], tmp_path: Path) -> None:
    taken, moved = tmp_path / "taken", tmp_path / "moved"
    taken.mkdir()
    subprocess.run([*java, "write", str(taken / "_metadata")], check=True)
    written = (taken / "_metadata").read_bytes()
    # A stream in memory has a name by chance.
    assert UUID.sub(b"", written) == UUID.sub(b"", VECTOR)

    rows = [
        {"topic": "orders", "partition": 0, "offset": 1000},
        {"topic": "orders", "partition": 1, "offset": "latest"},
        {"topic": "payments", "partition": 0, "offset": 0},
    ]
    Savepoint.open(str(taken)).set_kafka_offsets(rows).write(str(moved))
    command = [*java, "read", str(moved / "_metadata")]
    restored = subprocess.run(command, check=True, capture_output=True, text=True)
    assert restored.stdout.splitlines() == [
        "orders 0 999",  # the last record that it has read
        "orders 1 -915623761774",
        "payments 0 -1",
    ]
