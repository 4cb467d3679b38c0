"""The serializers that jobs register for Joda's times write the bytes that are read here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support.joda_vectors import JODA_VECTORS
from support.maven_jars import fetched

SOURCE = Path(__file__).parent / "joda" / "JodaVectors.java"


def test_vectors_are_those_of_the_serializers(tmp_path: Path) -> None:
    folders = (
        fetched("joda-time", {"joda-time": "2.5"}, group="joda-time"),
        fetched("kryo-2", {"kryo": "2.24.0"}, group="com.esotericsoftware.kryo"),
        fetched("joda-kryo", {"kryo-serializers": "0.42"}, group="de.javakaffee", is_alone=True),
        fetched("joda-flink", {"flink-avro": "1.8.0", "flink-core": "1.8.0"}, is_alone=True),
    )
    jars = os.pathsep.join(f"{folder}/*" for folder in folders)
    subprocess.run(["javac", "-nowarn", "-d", str(tmp_path), "-cp", jars, str(SOURCE)], check=True)
    printed = subprocess.run(
        ["java", "-cp", os.pathsep.join([str(tmp_path), jars]), "JodaVectors"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    vectors = {
        name: (serializer, data) for name, serializer, data in map(str.split, printed.splitlines())
    }
    assert vectors == {
        name: (serializer, data) for name, (_, serializer, data, _) in JODA_VECTORS.items()
    }
