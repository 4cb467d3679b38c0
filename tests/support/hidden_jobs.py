"""Savepoints of the job in ``tests/flink/hidden_job``: classes that no snapshot of a heap describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor import Savepoint, kryo_class
from support.java_jobs import JavaJobs

if TYPE_CHECKING:
    from pathlib import Path

KEYS = 30
_KEYED = ("items", "by_items", "things")
UIDS = ("numbers", "keys", *_KEYED, *(f"{name}_sink" for name in _KEYED))
GIFT = kryo_class(
    "hidden.Gift",
    {"id": "long", "name": "java.lang.String", "ribbon": "java.lang.String", "weight": "long"},
    is_pojo=True,
    superclass="hidden.Item",
)


def savepoints(release: str, folder: Path, *variants: str) -> dict[str, str]:
    """The path of a savepoint of each backend and format, such as ``hashmap-native``."""
    jobs = JavaJobs(release, folder, "hidden_job", "hidden.HiddenJob")
    answers = jobs.run([str(folder), str(KEYS), *variants])
    return {one["variant"]: one["savepoint"].removeprefix("file:") for one in answers}


def opened(path: str, *, is_described: bool = False) -> Savepoint:
    """A savepoint, with a description of the subclass if wanted."""
    return Savepoint.open(path, uids=UIDS, kryo_classes=(GIFT,) if is_described else ())
