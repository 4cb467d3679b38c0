"""A chain of checkpoints of a real Flink, which several tests share, and its state by plain reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from state_processor import Savepoint
from support.java_jobs import JavaJobs

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ("ticks", "batches", "orders", "end")
FIRST, SECOND = 6, 3
"""Numbers of checkpoints before and after the restart."""

State = dict[tuple[str, Any, Any], Any]


@dataclass(slots=True)
class OrderChain:
    """Incremental checkpoints of RocksDB that share tables, made when they are first asked for.

    Attributes:
        folder: Where they lie.
    """

    folder: Path
    _paths: list[Path] = field(default_factory=list)

    @property
    def target(self) -> Path:
        """The directory above those of the jobs."""
        return self.folder / "checkpoints"

    def paths(self) -> list[Path]:
        """The checkpoints, the oldest first."""
        if not self._paths:
            jobs = JavaJobs("2.2.1", self.folder, "chain_job", "chain.ChainJobs")
            answers = jobs.run(
                # Leaks from its fourth checkpoint on, and begins again at another parallelism.
                [
                    *("rocksdb", "2", "-", str(FIRST), "4", self.target.as_uri()),
                    *("rocksdb", "3", "last", str(SECOND), "0", self.target.as_uri()),
                ]
            )
            places = [answer["path"].split("/")[-2:] for answer in answers]
            self._paths = [self.target.joinpath(*place) for place in places]
        return self._paths


def opened(path: Path) -> Savepoint:
    return Savepoint.open(path, uids=UIDS)


def state_of(path: Path) -> State:
    """All state of the keys, by reads that know nothing of changes."""
    savepoint = opened(path)
    state: State = {}
    for row in savepoint.scan("orders.keyed_state").to_arrow().to_pylist():
        if row["latest"] is not None:
            state["latest", row["key"], None] = row["latest"]
        for name in ("open", "closed", "fading"):
            state |= {(name, row["key"], entry): value for entry, value in row[name] or ()}
    for row in savepoint.scan("orders.timers").to_arrow().to_pylist():
        state["timers", row["key"], row["timestamp"]] = True
    return state
