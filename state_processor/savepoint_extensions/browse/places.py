"""The tree of a savepoint: operators, tables and states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.text import Text
from textual.reactive import var
from textual.widgets import Tree

from savepoint_database.snapshot import OperatorDescription
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.widgets.tree import TreeNode

    from savepoint_database.snapshot import SavepointDescription, TableDescription
    from savepoint_extensions.browse.short_names import ShortNames


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table, or one state of it: the columns that identify rows, and the state's."""

    table: TableDescription
    columns: tuple[str, ...] | None = None

    @property
    def title(self) -> str:
        """The table, and the state if it is a single one."""
        return (
            self.table.table if self.columns is None else f"{self.table.table}: {self.columns[-1]}"
        )


Place = OperatorDescription | TablePlace | None
"""The place of a node: an operator, whose page lists its states; None is the savepoint itself."""


class PlacesTree(Tree[Place]):
    """A node per operator, table and state, with its place."""

    # A chosen operator must not fold its tables.
    auto_expand = var(False)

    def fill(
        self,
        described: SavepointDescription,
        tables: Iterable[TableDescription],
        short: ShortNames,
    ) -> None:
        """Adds all nodes; operators have their short names."""
        by_operator: dict[str, list[TableDescription]] = {}
        for table in tables:
            by_operator.setdefault(_owner(described, table), []).append(table)
        for operator in described.operators:
            name = operator.uid or operator.hash
            size = operator.keyed_size + operator.operator_size
            label = Text(printable(short.operator(name)))
            if size:
                label.append("  ").append(decimal(size), "dim")
            own = by_operator.get(name, [])
            node = self.root.add(label, operator, expand=True, allow_expand=bool(own))
            for table in own:
                _add_table(node, table, table.table.removeprefix(f"{name}."))
        self.root.expand()


def _owner(described: SavepointDescription, table: TableDescription) -> str:
    """The operator of a table: the one with the longest name that the table's name begins with."""
    names = (operator.uid or operator.hash for operator in described.operators)
    return max((name for name in names if table.table.startswith(f"{name}.")), key=len)


def _add_table(node: TreeNode[Place], table: TableDescription, name: str) -> None:
    label = Text(printable(name))
    if table.problems:
        label.append("  ✗", style="red")
    if len(table.states) < 2 or not table.columns or "timers" in table.kinds:
        node.add_leaf(label, TablePlace(table))
        return
    branch = node.add(label, TablePlace(table))
    others = table.columns[: -len(table.states)]
    for state, column in zip(table.states, table.columns[-len(table.states) :], strict=True):
        branch.add_leaf(Text(printable(state)), TablePlace(table, (*others, column)))
