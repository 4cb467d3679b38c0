"""Savepoints whose every state is rows before a real Flink restores it, and the jobs that do so."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from round_trip.results import release_of

from support.flink_restore import Elements, KeyedState, Operator, TimerService
from support.object_samples import UIDS
from support.sample_operators import (
    BUFFER,
    CURRENCY_CONVERTER,
    DEDUPLICATE,
    GROUP_AGGREGATE,
    STATEFUL,
    SUMMARIZE,
    WINDOW_AGGREGATE,
    WINDOWS,
)
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.flink_restore import Restored


def _object_operator(name: str, type_words: str) -> Operator:
    states = (
        KeyedState.value("id", "LONG"),
        KeyedState.value(name, type_words),
        KeyedState.value("memo", "STRING"),
    )
    return Operator(f"{name}s", key="LONG", states=states)


OBJECTS = (
    _object_operator("basket", "POJO<shop.Basket>"),
    _object_operator("crate", "POJO<shop.Crate>"),
    _object_operator("shape", "GENERIC<shop.Shape>"),
)
"""The operators of the job ``objects``, each of which keeps an object of each key."""

JOBS: dict[str, tuple[Operator, ...]] = {
    "currency": (SUMMARIZE, CURRENCY_CONVERTER),
    "objects": OBJECTS,
    "sql": (GROUP_AGGREGATE, WINDOW_AGGREGATE, DEDUPLICATE),
    "states": (STATEFUL, BUFFER),
    "windows": WINDOWS,
}

_COUNT = KeyedState.value("state-name", "LONG")
_SOURCES = tuple(
    Operator(uid, elements=(Elements("source-state", mode, ("STRING",)),))
    for uid, mode in (("CheckpointingSource1", "list"), ("CheckpointingSource2", "union"))
)
_KEYED_JOB = tuple(
    operator
    for number in (1, 2)
    for operator in (
        Operator(f"CheckpointingKeyedStateFlatMap{number}", key="TUPLE<LONG>", states=(_COUNT,)),
        Operator(
            f"CheckpointingTimelyStatefulOperator{number}",
            key="TUPLE<LONG>",
            states=(_COUNT.under("LONG"),),
            timers=(TimerService("timer", "LONG"),),
        ),
    )
)
_BROADCAST_JOB = (
    Operator(
        "BrProcess1",
        key="LONG",
        elements=(
            Elements("broadcast-state-1", "broadcast", ("LONG", "LONG")),
            Elements("broadcast-state-2", "broadcast", ("STRING", "LONG")),
        ),
    ),
    Operator(
        "BrProcess2",
        key="LONG",
        elements=(Elements("broadcast-state-3", "broadcast", ("LONG", "STRING")),),
    ),
)


@dataclass(frozen=True)
class Original:
    """A savepoint that a real Flink wrote.

    Attributes:
        path: The folder of ``_metadata``.
        job: The operators of a job that restores it.
        uids: Of its operators, where it has hashes alone.
    """

    path: Path
    job: tuple[Operator, ...]
    uids: tuple[str, ...]

    def __str__(self) -> str:
        return self.path.parent.name if self.path.name == "chk-2" else self.path.name

    @property
    def release(self) -> str:
        """That wrote it: ``1.20``."""
        return release_of(self.path, "")

    @property
    def backend(self) -> str:
        return "rocksdb" if "rocksdb" in str(self.path) else "hashmap"


def sample(name: str) -> Original:
    """One of the samples."""
    path = SAMPLES / name
    facts = path / "expected.json"
    expected = json.loads(facts.read_text("utf-8")) if facts.is_file() else {}
    uids, folder = expected.get("uids", UIDS), expected.get("snapshot", ".")
    return Original(path / folder, JOBS[name.partition("-")[0]], tuple(uids))


def samples() -> Iterator[Original]:
    """Savepoints that a Flink restores from where they lie.

    Checkpoints name files by absolute paths. Kryo 2 can't read lists that Java does not let it
    fill, which the objects of Flink 1 have.
    """
    for path in sorted(SAMPLES.glob("*-*-*-*")):
        is_checkpoint = not (path / "_metadata").is_file()
        if not is_checkpoint and not path.name.startswith("objects-1."):
            yield sample(path.name)


def of_corpus(corpus: Path) -> Iterator[Original]:
    """Savepoints of the corpus whose jobs are known, of Flink 1.8 to 1.20."""
    for path in sorted((corpus / "savepoints").glob("new-stateful-*")):
        job = _BROADCAST_JOB if "broadcast" in path.name else (*_KEYED_JOB, *_SOURCES)
        yield Original(path, job, tuple(operator.uid for operator in job))


def facts(restored: Restored) -> Counter[str]:
    """State that Flink shows, of all subtasks together."""
    return Counter(json.dumps(_anywhere(row), sort_keys=True) for row in restored.rows)


def _anywhere(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "subtask"}
