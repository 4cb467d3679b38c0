"""Which samples there are, and the Flink configuration of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PARALLELISM = 2
MAX_PARALLELISM = {"1.20.5": 128, "2.2.1": 300}
"""Up to 128 a key group takes one byte in front of a RocksDB key, then two."""

OBJECTS = "objects"
"""The case whose state Flink leaves to Kryo, and to subclasses that it does not know."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to take a snapshot: its kind and what it asks of Flink."""

    name: str
    kind: str
    config: Mapping[str, str]
    pause_s: int = 0


_CHECKPOINT = {
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "execution.checkpointing.create-subdir": "false",
}
_CHANGELOG_INTERVAL_S = 4

CANONICAL = Variant("canonical", "canonical", {})
NATIVE = Variant("native", "native", {})
INLINE = Variant("inline", "canonical", {"execution.checkpointing.data-inline-threshold": "20 kb"})
COMPRESSED = Variant(
    "compressed", "canonical", {"execution.checkpointing.snapshot-compression": "true"}
)
INCREMENTAL = Variant(
    "incremental", "checkpoint", _CHECKPOINT | {"execution.checkpointing.incremental": "true"}
)
HEAP_TIMERS = Variant(
    "heaptimers",
    "checkpoint",
    _CHECKPOINT | {"state.backend.rocksdb.timer-service.factory": "HEAP"},
)
FILE_MERGING = Variant(
    "filemerging",
    "checkpoint",
    _CHECKPOINT
    | {
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.file-merging.enabled": "true",
    },
)
# The pause lets every subtask materialize what the first rows did; the rest stays a log.
CHANGELOG = Variant(
    "changelog",
    "checkpoint",
    _CHECKPOINT
    | {
        "state.changelog.enabled": "true",
        "state.changelog.storage": "filesystem",
        "state.changelog.periodic-materialize.interval": f"{_CHANGELOG_INTERVAL_S} s",
    },
    pause_s=2 * _CHANGELOG_INTERVAL_S,
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One folder of ``sample_savepoints``."""

    case: str
    flink: str
    backend: str
    variant: Variant

    @property
    def name(self) -> str:
        return f"{self.case}-{self.flink}-{self.backend}-{self.variant.name}"

    @property
    def snapshot(self) -> str:
        """The folder of ``_metadata`` in the sample: the second checkpoint, or all of it."""
        return "chk-2" if self.variant.kind == "checkpoint" else "."

    @property
    def parallelism(self) -> int:
        return PARALLELISM

    @property
    def max_parallelism(self) -> int:
        return MAX_PARALLELISM[self.flink]

    def config(self, folder: Path) -> dict[str, str]:
        """Flink's configuration for a snapshot in ``folder``."""
        config = {
            "parallelism.default": str(self.parallelism),
            "pipeline.max-parallelism": str(self.max_parallelism),
            "pipeline.generic-types": str(self.case == OBJECTS).lower(),
            "state.backend.type": self.backend,
            "execution.checkpointing.interval": "1 d",
            "execution.checkpointing.dir": folder.as_uri(),
            "execution.checkpointing.data-inline-threshold": "0 b",
            "state.changelog.dstl.dfs.base-path": (folder / "dstl").as_uri(),
            "table.exec.uid.generation": "ALWAYS",
            "table.exec.uid.format": "<id>_<transformation>",
            "table.local-time-zone": "UTC",
            "table.optimizer.agg-phase-strategy": "ONE_PHASE",
            "rest.port": "0",
        }
        return config | dict(self.variant.config)


def samples() -> Sequence[Sample]:
    """All samples, in the order in which they are made."""
    both_formats = [
        Sample(case, flink, backend, variant)
        for flink in MAX_PARALLELISM
        for case in ("currency", "states", "windows", OBJECTS)
        for backend in ("hashmap", "rocksdb")
        for variant in (CANONICAL, NATIVE)
    ]
    sql = [
        Sample("sql", flink, backend, variant)
        for flink in MAX_PARALLELISM
        for backend, variant in (("hashmap", CANONICAL), ("rocksdb", NATIVE))
    ]
    special = [
        Sample("currency", "1.20.5", "hashmap", INLINE),
        Sample("states", "1.20.5", "hashmap", COMPRESSED),
        Sample("states", "1.20.5", "hashmap", CHANGELOG),
        Sample("states", "2.2.1", "rocksdb", INCREMENTAL),
        Sample("states", "2.2.1", "rocksdb", FILE_MERGING),
        Sample("states", "2.2.1", "rocksdb", HEAP_TIMERS),
    ]
    return both_formats + sql + special
