"""Objects of many classes that the Kryo of a release of Flink wrote and read back."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from flink_home import FlinkHome

from support.java_jobs import JOBS
from support.maven_jars import fetched

if TYPE_CHECKING:
    from pathlib import Path


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
    return _printed(FlinkHome.cached(release), "KryoClasses", JOBS / "kryo_classes")


@cache
def written_of_libraries(release: str) -> tuple[WrittenObject, ...]:
    """The objects of ``tests/flink/kryo_libraries``."""
    guava = fetched("guava", {"guava": "33.2.1-jre"}, is_alone=True, group="com.google.guava")
    commons = fetched(
        "commons", {"commons-collections4": "4.4"}, is_alone=True, group="org.apache.commons"
    )
    jars = tuple(sorted([*guava.glob("*.jar"), *commons.glob("*.jar")]))
    home = replace(FlinkHome.cached(release), more=jars)
    folders = (JOBS / name for name in ("kryo_classes", "kryo_libraries"))
    return _printed(home, "KryoLibraries", *folders)


def _printed(home: FlinkHome, name: str, *folders: Path) -> tuple[WrittenObject, ...]:
    home.install()
    classes = home.compiled([*folders])
    command = [*home.java(classes, ["-Duser.timezone=UTC"]), name]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in printed.splitlines())
    return tuple(
        WrittenObject(name, class_name, bytes.fromhex(data), outcome, text)
        for name, class_name, data, outcome, text in rows
    )
