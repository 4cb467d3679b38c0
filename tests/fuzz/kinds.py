"""Savepoints by the kind of their job, for readers that are tried on one kind at a time."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from support.state_v2 import savepoint_v2

from fuzz.samples import SAMPLES, Inputs

_CORPUS = Path(os.environ.get("SAVEPOINT_CORPUS", SAMPLES.parents[1] / "shared" / "corpus"))
_MADE = tempfile.TemporaryDirectory(prefix="savepoint-fuzz-")
_V2 = ("states-2.2.1-hashmap-canonical", "states-2.2.1-rocksdb-native")

SAMPLED = {
    "scala": ("scala-1.20.5", "scala"),
    "pyflink": ("pyflink-2.2.1",),
    "state-v2": _V2,
    "cep": ("sql/stream-exec-match_1",),
    "sql": ("sql-2.2.1-hashmap-canonical", "sql-2.2.1-rocksdb-native", "sql"),
}
"""Kind -> folders of samples and of the corpus; those that are not there are left out."""

MADE = ("forst", "datastream-v2", "plug-ins")
"""Kinds that no sample has: a real Flink writes them first."""

KINDS = (*SAMPLED, *MADE)

READERS = (
    *("metadata", "snapshots", "values", "entries", "canonical", "heap", "operator-state"),
    *("sst", "tables", "verify"),
)
"""Readers of what any kind of job has."""


@cache
def inputs_of(kind: str) -> Inputs:
    """The savepoints of a kind; all if it is empty."""
    if not kind:
        return Inputs.all()
    if kind == "state-v2":
        return Inputs(*map(_as_v2, _V2))
    if kind in MADE:
        from fuzz.made_kinds import made  # noqa: PLC0415  # it needs the folder of the samples, and Flink

        return Inputs(made(kind))
    named = [root / name for name in SAMPLED[kind] for root in (SAMPLES, _CORPUS)]
    return Inputs(*(folder for folder in named if folder.is_dir()))


def _as_v2(sample: str) -> Path:
    """A copy of a sample as asynchronous operators would have written it."""
    return savepoint_v2(SAMPLES / sample, Path(_MADE.name, sample))
