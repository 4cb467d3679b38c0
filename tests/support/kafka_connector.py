"""Releases of Kafka's connector, which Maven fetches once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.maven_jars import fetched

if TYPE_CHECKING:
    from pathlib import Path

FLINK = {"3.4.0-1.20": "1.20.1", "4.0.1-2.0": "2.0.0"}
"""A release -> the Flink that it is made for."""

CONSUMER = "1.17.2"
"""The last release that came with Flink itself; it has the ``FlinkKafkaConsumer``."""


def connector_folder(release: str) -> Path:
    """A folder with the jars of a release of the connector, and of all that it needs."""
    wanted = {
        "flink-connector-kafka": release,
        "flink-connector-base": FLINK.get(release, release),
        "flink-streaming-java": FLINK.get(release, release),
    }
    return fetched(f"kafka-{release}", wanted)
