"""The state of a real ``FlinkKinesisConsumer``, as it writes it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from flink_home import FlinkHome
from support.kinesis_states import CONSUMER
from support.maven_jars import fetched

SOURCE = Path(__file__).parent / "kinesis_consumer" / "ConsumerState.java"
RELEASE = "4.3.0-1.19"
UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_the_consumer_writes_what_the_tests_read(tmp_path: Path) -> None:
    home = FlinkHome.cached("1.20.5")
    home.install()
    jars = fetched(f"kinesis-{RELEASE}", {"flink-connector-kinesis": RELEASE}, is_alone=True)
    class_path = os.pathsep.join([str(tmp_path), f"{jars}/*", *map(str, home.jars)])
    options = ["-nowarn", "-XDsuppressNotes", "-d", str(tmp_path), "-cp", class_path]
    subprocess.run(["javac", *options, str(SOURCE)], check=True)
    name = "org.apache.flink.streaming.connectors.kinesis.ConsumerState"
    opened = "--add-opens=java.base/java.util=ALL-UNNAMED"
    written = tmp_path / "_metadata"
    subprocess.run(["java", opened, "-cp", class_path, name, str(written)], check=True)
    # A stream in memory has a name by chance.
    assert UUID.sub(b"", written.read_bytes()) == UUID.sub(b"", CONSUMER)
