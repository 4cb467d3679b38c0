"""The processes of a Spark that runs on this machine: what they begin with, and which there are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def path_of_prepared_workers() -> str:
    """The ``PYTHONPATH`` of a Java whose Python workers begin with what they need.

    They have what Java has when it starts.
    """
    places = [str(Path(__file__).parent / "worker_start"), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, places))


def workers_of(pid: int) -> Iterator[int]:
    """The Python processes that work for the JVM of a driver: forked by Spark's daemon."""
    tree = _parents()
    daemons = {
        process
        for process, parent in tree.items()
        if tree.get(parent) == pid and "daemon" in _words(process)
    }
    return (process for process, parent in tree.items() if parent in daemons)


def _parents() -> dict[int, int]:
    """The parent of each process."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    return parents


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return ""
