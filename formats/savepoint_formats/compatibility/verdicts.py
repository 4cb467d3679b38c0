"""What becomes of state when another Flink restores it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Verdict(StrEnum):
    """What becomes of state, from the worst to the best.

    | value                      | meaning                                                     |
    |----------------------------|-------------------------------------------------------------|
    | silent corruption          | Flink may restore wrong values, and does not notice it      |
    | not restorable             | Flink refuses it, whatever is done to the savepoint alone   |
    | restorable after migration | Flink refuses it as it is; the savepoint can be rewritten   |
    | unknown                    | the savepoint does not tell                                 |
    | restorable                 | nothing is known that is in the way                         |
    """

    SILENT_CORRUPTION = "silent corruption"
    NOT_RESTORABLE = "not restorable"
    AFTER_MIGRATION = "restorable after migration"
    UNKNOWN = "unknown"
    RESTORABLE = "restorable"


_ORDER = tuple(Verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of them; ``restorable`` of none."""
    return min(verdicts, key=_ORDER.index, default=Verdict.RESTORABLE)
