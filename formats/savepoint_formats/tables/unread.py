"""Which tables of an operator lack what a missing or damaged file holds.

The names of operator states are in ``_metadata``; those of keyed states are in their files alone. A
file that can't be read is one of ``keyed_state`` unless another subtask tells which tables there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.tables.tables import KEYED_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.tables.catalog_problem import CatalogProblem
    from savepoint_formats.tables.tables import Table


def problems_by_table(
    problems: Iterable[CatalogProblem], known: tuple[Table, ...]
) -> dict[str, tuple[CatalogProblem, ...]]:
    """What is wrong with each table, by its name; of tables that are not known, too.

    Args:
        problems: The problems of an operator.
        known: The tables of which some file tells.
    """
    keyed = tuple(table.name for table in known if table.states[0].kind.is_keyed)
    by_table: dict[str, tuple[CatalogProblem, ...]] = {}
    for problem in problems:
        for name in (keyed or (KEYED_STATE,)) if problem.is_keyed else problem.states:
            by_table[name] = (*by_table.get(name, ()), problem)
    return by_table
