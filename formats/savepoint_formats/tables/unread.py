"""State files that could not be read, and the tables that lack their states.

The names of operator states are in ``_metadata``, those of keyed states only in their files. So an
unreadable file belongs to ``keyed_state`` unless another subtask tells which tables there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.tables.tables import KEYED_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.errors import SavepointError
    from savepoint_formats.tables.tables import Table


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


def problems_by_table(
    problems: Iterable[CatalogProblem], known: tuple[Table, ...]
) -> dict[str, tuple[CatalogProblem, ...]]:
    """Problems by the name of their table; it may be a table that is not ``known``."""
    keyed = tuple(table.name for table in known if table.states[0].kind.is_keyed)
    by_table: dict[str, tuple[CatalogProblem, ...]] = {}
    for problem in problems:
        for name in (keyed or (KEYED_STATE,)) if problem.is_keyed else problem.states:
            by_table[name] = (*by_table.get(name, ()), problem)
    return by_table
