"""Checkpoints and savepoints of ``tests/flink/old_job``, by releases of Flink from 1.8 to 1.17."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink_home import FlinkHome

from support.java_jobs import JOBS
from support.maven_jars import fetched

if TYPE_CHECKING:
    from collections.abc import Iterator

# Up to Flink 1.10, memory that was taken is given back by means that Java 17 keeps to itself.
_OPENED = ("java.lang.ref", "jdk.internal.ref", "sun.nio.ch")

ROWS, KEYS, LAST_ROWS, ODD_ROWS = 1000, 50, 5, 100
FIRST_TIMER = 4_102_444_800_000


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot: the state backend, what it is, and where it lies."""

    backend: str
    kind: str
    path: Path


def taken(release: str, backends: tuple[str, ...], folder: Path) -> Iterator[Taken]:
    """Snapshots of a release; ``:incremental`` may follow the name of a backend."""
    minor = int(release.split(".")[1])
    suffix = "_2.12" if minor < 15 else ""
    names = (f"flink-streaming-java{suffix}", f"flink-statebackend-rocksdb{suffix}")
    home = FlinkHome(release, fetched(f"old-{release}", dict.fromkeys(names, release)))
    # Flink looks into classes of lambdas, and reads only those of the Java of its time.
    classes = home.compiled([JOBS / "old_job"], "--release", "8", "-Xlint:-options")
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
    options = ["-Xmx1g", "-XX:TieredStopAtLevel=1"]
    java = home.java(classes, [*options, "--add-exports=java.base/sun.net.util=ALL-UNNAMED"])
    with (folder / "log").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            [*java, *opened, "old.CountingJob", str(folder), *backends],
            check=True,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            timeout=300,
        )
    for line in done.stdout.splitlines():
        kind, _, place = line.partition(" ")
        path = Path(place.removeprefix("file:"))
        yield Taken(path.relative_to(folder).parts[0], kind, path)


def expected_rows() -> list[dict[str, Any]]:
    """What the job put into keyed state, by key."""
    rows: dict[str, dict[str, Any]] = {}
    for number in range(ROWS):
        key = f"key-{number % KEYS}"
        row = rows.setdefault(key, {"key": key, "total": 0, "names": [], "rates": {}})
        row["total"] += number
        row["names"] = None if number >= ROWS - LAST_ROWS else [*row["names"], f"n{number}"]
        row["rates"][f"m{number % 3}"] = number / 2
    return [rows[key] for key in sorted(rows)]
