"""What the catalog of an operator could not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.errors import SavepointError


@dataclass(frozen=True, slots=True)
class CatalogProblem:
    """A file of a subtask that could not be read, so that states may be missing.

    Attributes:
        subtask: The index of the subtask.
        error: What is wrong with the file.
        states: The names of the operator states in it.
        is_keyed: Whether it holds keyed state instead.
    """

    subtask: int
    error: SavepointError
    states: tuple[str, ...] = ()
    is_keyed: bool = False

    def __str__(self) -> str:
        return f"subtask {self.subtask}: {self.error}"
