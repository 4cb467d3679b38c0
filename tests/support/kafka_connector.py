"""Releases of Kafka's connector, which Maven fetches once."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from flink_home import CACHE

if TYPE_CHECKING:
    from pathlib import Path

FLINK = {"3.4.0-1.20": "1.20.1", "4.0.1-2.0": "2.0.0"}
"""A release -> the Flink that it is made for."""

POM = """\
<project><modelVersion>4.0.0</modelVersion>
<groupId>vectors</groupId><artifactId>vectors</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>org.apache.flink</groupId><artifactId>{}</artifactId>"
    "<version>{}</version></dependency>"
)


def connector_folder(release: str) -> Path:
    """A folder with the jars of a release of the connector, and of all that it needs."""
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
    return folder
