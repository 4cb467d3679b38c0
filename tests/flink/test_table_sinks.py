"""The serializers of Iceberg and Paimon write what is read here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from flink_home import FlinkHome
from support.maven_jars import fetched
from support.table_sinks import COMMITTABLES

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks.table_sinks import paimon_committable

if TYPE_CHECKING:
    from savepoint_extensions.connectors.connector_rows import Facts

SOURCES = Path(__file__).parent / "table_sinks"


def test_vectors_are_those_of_the_connectors(tmp_path: Path) -> None:
    home = FlinkHome.cached("1.20.5")
    home.install()
    iceberg = fetched(
        "iceberg",
        {"iceberg-flink-runtime-1.20": "1.9.2"},
        is_alone=True,
        group="org.apache.iceberg",
    )
    paimon = fetched(
        "paimon", {"paimon-flink-1.20": "1.2.0"}, is_alone=True, group="org.apache.paimon"
    )
    jars = os.pathsep.join([f"{iceberg}/*", f"{paimon}/*", *map(str, home.jars)])
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    subprocess.run(["javac", "-nowarn", "-d", tmp_path, "-cp", jars, *sources], check=True)
    printed = subprocess.run(
        ["java", "-cp", os.pathsep.join([str(tmp_path), jars]), "vectors.TableSinks"],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = (line.split() for line in printed.stdout.splitlines())
    vectors = {name: bytes.fromhex(data) for name, data in lines}
    # Files have the time of their creation.
    dated, known = vectors.pop("paimon_files"), dict(COMMITTABLES)
    assert files_of(dated) == files_of(known.pop("paimon_files"))
    assert vectors == known


def files_of(data: bytes) -> Facts:
    return paimon_committable(Versioned.whole(data, "paimon_files"), "state")
