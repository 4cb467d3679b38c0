"""The processes of a Spark that runs on this machine: what they begin with, and which there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

if TYPE_CHECKING:
    from collections.abc import Iterator


def spark_home(folder: Path) -> Path:
    """A home of Spark whose folder for work is in ``folder``, and not beside the installed one."""
    home = folder / "spark-home"
    if not home.exists():
        home.mkdir()
        for part in Path(pyspark.__file__).parent.iterdir():
            (home / part.name).symlink_to(part)
    return home


def workers_of(pid: int) -> Iterator[int]:
    """The Python processes that work for a driver or its executors: forked by Spark's daemons."""
    tree = _parents()
    return (process for process in _below(pid, tree) if _is_worker(process, tree))


def _is_worker(pid: int, tree: dict[int, int]) -> bool:
    """Whether a daemon has forked a process; the fork server forks daemons."""
    words, forks = _words(pid), 0
    while words and pid in tree and _words(tree[pid]) == words:
        pid, forks = tree[pid], forks + 1
    return forks == 1 + ("workers.fork_server" in words) and bool(words)


def executors_of(pid: int) -> Iterator[int]:
    """The executors of a driver whose master is ``local-cluster``."""
    below = _below(pid, _parents())
    return (process for process in below if "CoarseGrainedExecutorBackend" in _words(process))


def executor_id(pid: int) -> str:
    """Spark's name of an executor; empty if it has died."""
    _, _, rest = _words(pid).partition("--executor-id\0")
    return rest.partition("\0")[0]


def _below(pid: int, tree: dict[int, int]) -> Iterator[int]:
    """The processes that a process has started, and those that these have."""
    for process, parent in tree.items():
        if parent == pid:
            yield process
            yield from _below(process, tree)


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
