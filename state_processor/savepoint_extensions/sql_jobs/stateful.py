"""Operators of a query that keep state, with the origins of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_extensions.sql_jobs.lineage import (
    NO_RENAMES,
    Lineage,
    Renames,
    calls,
    family,
    settings,
    tables,
)
from savepoint_extensions.sql_jobs.plans.node_states import KINDS_WITH_STATE

if TYPE_CHECKING:
    from collections.abc import Hashable

    from savepoint_extensions.sql_jobs.origins import Rows
    from savepoint_extensions.sql_jobs.plans.compiled_plan import (
        CompiledPlan,
        NamedColumn,
        PlanNode,
    )
    from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows

_CONNECTORS = {
    "table-source-scan": ("scanTableSource", "table", "identifier"),
    "sink": ("dynamicTableSink", "table", "identifier"),
}
"""Nodes whose state belongs to a connector, and where the name of their table is."""

CONNECTORS = frozenset(_CONNECTORS)
"""Kinds of nodes whose state belongs to a connector."""


@dataclass(frozen=True)
class Stateful:
    """An operator with state."""

    node: PlanNode
    lineage: Lineage

    @cached_property
    def inputs(self) -> tuple[Rows, ...]:
        """The rows that it reads."""
        return self.lineage.inputs(self.node)

    @cached_property
    def rows(self) -> NodeRows:
        """Its columns, with their origins."""
        return self.lineage.node_rows(self.node)

    @property
    def keeps_rows(self) -> bool:
        """Whether it is a sink that keeps the rows of a key in the order of their arrival."""
        return self.node.kind == "sink" and bool(self.node.spec.get("requireUpsertMaterialize"))

    @property
    def has_calls(self) -> bool:
        """Whether it aggregates; OVER windows have their aggregates among their settings."""
        return bool(self.node.spec.get("aggCalls"))

    @property
    def calls(self) -> tuple[Hashable, ...]:
        """Origins of its aggregate calls."""
        return calls(self.node, self.inputs)

    def columns(self, number: int) -> dict[Hashable, NamedColumn]:
        """Origin of each column of an input -> the column."""
        return {column.origin: column for column in self.rows.input(number) or ()}

    @cached_property
    def identity(self) -> Hashable:
        """Equal for operators whose rows mean the same, whatever their columns are."""
        if (table := table_of(self.node)) is not None:
            return self.node.kind, table
        if self.node.kind.endswith("aggregate") and not self.node.kind.startswith("over"):
            return self.lineage.rows(self.node).row_set
        return (
            family(self.node),
            *(rows.row_set for rows in self.inputs),
            settings(self.node, self.inputs),
        )

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables that its rows come from."""
        return frozenset(name for rows in self.inputs for name in tables(rows.row_set))


def table_of(node: PlanNode) -> str | None:
    """The table of a source or sink."""
    if node.kind not in CONNECTORS:
        return None
    return str(node.at(*_CONNECTORS[node.kind]))


def stateful(plan: CompiledPlan, renames: Renames = NO_RENAMES) -> dict[int, Stateful]:
    """The operators with state of a plan, by their numbers."""
    lineage = Lineage(plan, renames)
    return {
        number: Stateful(node, lineage) for number, node in plan.nodes.items() if _has_state(node)
    }


def _has_state(node: PlanNode) -> bool:
    match node.kind:
        case "window-table-function":
            return bool(node.at("windowing", "window", "type") == "SessionWindow")
        case "lookup-join":
            return bool(node.at("requireUpsertMaterialize"))
        case kind:
            return kind in KINDS_WITH_STATE or kind in CONNECTORS
