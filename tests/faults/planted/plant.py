"""A planted fault, and what a command says of it."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Told = Callable[["Plant", Path], list[str]]


@dataclass(frozen=True)
class Plant:
    """A row of the tables.

    Attributes:
        command: The command that must tell it.
        name: What is planted; unique within a command.
        sample: The sample, or the checkpoint of one, in which it is planted.
        plant: Plants it in a copy of the sample; may return more words for the command.
        says: Patterns; each must be found in a fact that the command tells, and no fact may be
            told that none of them finds. None where nothing may be told.
        why: Why the command can't know better, where it tells nothing of a fault, or too much.
    """

    command: str
    name: str
    sample: str
    plant: Callable[[Path], object]
    says: tuple[str, ...] = ()
    why: str = ""

    @property
    def end(self) -> str:
        """What a row ends with that is as it must be."""
        if self.why:
            return "explained"
        return "told" if self.says else "rightly not told"

    def missed(self, told: Told) -> list[str]:
        """Plants it; what is not told, and what is told that is not so."""
        with tempfile.TemporaryDirectory() as folder:
            facts = told(self, Path(folder))
        missed = [f"not told: {pattern}" for pattern in self.says if not _is_in(facts, pattern)]
        return missed + [
            f"told beside it: {fact}"
            for fact in facts
            if not any(re.search(pattern, fact) for pattern in self.says)
        ]


def _is_in(facts: Iterable[str], pattern: str) -> bool:
    return any(re.search(pattern, fact) for fact in facts)
