"""Objects of many classes that the Kryo of a release of Flink wrote and read back."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache

from flink_home import FlinkHome

from support.java_jobs import JOBS


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object.

    Attributes:
        name: What is special of it.
        data: Its bytes; empty if it can't be written.
        outcome: ``same``, ``fails``, ``unwritten``, or ``other`` if another object was read.
        text: Its text in Java, or the error.
    """

    name: str
    class_name: str
    data: bytes
    outcome: str
    text: str


@cache
def written_objects(release: str) -> tuple[WrittenObject, ...]:
    """The objects of ``tests/flink/kryo_classes``, by a release of Flink."""
    home = FlinkHome.cached(release)
    home.install()
    classes = home.compiled([JOBS / "kryo_classes"])
    command = [*home.java(classes, ["-Duser.timezone=UTC"]), "KryoClasses"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in printed.splitlines())
    return tuple(
        WrittenObject(name, class_name, bytes.fromhex(data), outcome, text)
        for name, class_name, data, outcome, text in rows
    )
