"""The state of a real ``RMQSource``, as it writes it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from flink_home import FlinkHome
from support.maven_jars import fetched
from support.rabbitmq_states import SOURCE

JAVA = Path(__file__).parent / "rabbitmq_source" / "SourceState.java"
RELEASE = "3.0.1-1.17"
UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_the_source_writes_what_the_tests_read(tmp_path: Path) -> None:
    home = FlinkHome.cached("1.20.5")
    home.install()
    jars = fetched(f"rabbitmq-{RELEASE}", {"flink-connector-rabbitmq": RELEASE})
    class_path = os.pathsep.join([str(tmp_path), f"{jars}/*", *map(str, home.jars)])
    options = ["-nowarn", "-XDsuppressNotes", "-d", str(tmp_path), "-cp", class_path]
    subprocess.run(["javac", *options, str(JAVA)], check=True)
    name = "org.apache.flink.streaming.connectors.rabbitmq.SourceState"
    written = tmp_path / "_metadata"
    subprocess.run(["java", "-cp", class_path, name, str(written)], check=True)
    # A stream in memory has a name by chance.
    assert UUID.sub(b"", written.read_bytes()) == UUID.sub(b"", SOURCE)
