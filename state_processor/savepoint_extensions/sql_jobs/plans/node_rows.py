"""Names of the columns in SQL state: the contents of each state of each kind of node.

SQL keeps rows without names. A row in a state is a row of an input, some columns of it, or the
accumulators of the aggregates. A row gets names only if it has as many fields as the plan says, of
the same types; otherwise its fields stay ``f0``, ``f1``.

| kind of node                 | state                    | rows                                         |
|------------------------------|--------------------------|----------------------------------------------|
| aggregates                   | accState, window-aggs    | fields of each call's accumulator, in order  |
| deduplicate, rank, sink...   | deduplicate-state ...    | rows of the input                            |
| rank                         | data-state-with-append   | by columns of the order: rows of the input   |
| rank                         | data-state-with-update   | by the unique key: a row and its rank        |
| join                         | left-records             | by the unique key, or by the whole row       |

Flink: the classes ``StreamExec...`` and the operators that they make.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_extensions.sql_jobs.plans.aggregate_calls import AggregateCalls
from savepoint_extensions.sql_jobs.plans.node_states import (
    KINDS,
    MEANINGS,
    NO_KIND,
    accumulators,
    order_of_over,
)
from savepoint_formats.layout import BinaryRow, Layout, MapOf, Struct, nodes_of, rebuilt
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from savepoint_extensions.sql_jobs.plans.compiled_plan import NamedColumn, PlanNode, Row
    from savepoint_extensions.sql_jobs.plans.node_states import NodeKind, RowOf, StateRows
    from savepoint_formats.state_files import State

_DISTINCT = re.compile(r"distinctAcc_(\d+)")


@dataclass(frozen=True, slots=True)
class NodeRows:
    """A node with the columns of the rows that it reads; it names the fields of its states.

    If columns have origins, ``call_origins`` has those of its aggregate calls, ``aggregated`` the
    rows that these name, and ``read`` the rows of its inputs.
    """

    node: PlanNode
    inputs: tuple[Row | None, ...]
    call_origins: tuple[Hashable, ...] = ()
    aggregated: Row | None = None
    read: Hashable = None

    def has_rows_of(self, other: NodeRows) -> bool:
        """Whether all states have the rows of those of another node that computes the same."""
        facts = [
            (
                [column.type for row in it.inputs for column in row or ()],
                [[column.origin for column in row or ()] for row in it._rows()],
                *(it.read, it.call_origins, it.calls.accumulators(), it.node.states),
            )
            for it in (self, other)
        ]
        return facts[0] == facts[1]

    def _rows(self) -> Iterator[Row | None]:
        """The rows of its keys and of all its states, except for accumulators."""
        yield self.key()
        for known in self.kind.states.values():
            for row_of in (known.value, known.map_key):
                if row_of is not None and row_of is not accumulators:
                    yield row_of(self, 0)

    @property
    def calls(self) -> AggregateCalls:
        return AggregateCalls.of(self.node, self.aggregated or self.input(), self.call_origins)

    @property
    def kind(self) -> NodeKind:
        """The contents of its states."""
        return KINDS.get(self.node.kind, NO_KIND)

    def named(self, state: State) -> State:
        """The state with the names of the query's columns in its key and its values."""
        key = state.key and self.named_key(state.key)
        if state.kind is StateKind.TIMERS:
            return replace(state, key=key, stored=self.named_key(state.stored))
        return replace(state, key=key, stored=self.named_values(state.name, state.stored))

    def named_key(self, stored: Layout) -> Layout:
        """The keys with the names of the query's columns."""
        return _named(stored, self.kind.key, self)

    def named_values(self, state: str, stored: Layout) -> Layout:
        """The values of a state with the names of the query's columns."""
        known = self.kind.states.get(state)
        return stored if known is None else _named_state(stored, known, self)

    def finds_whole_rows(self, number: int) -> bool:
        """Whether rows to take back are found by all columns because an input has no unique key."""
        side = ("left", "right")[min(number, 1)]
        match self.node.kind:
            case "join":
                return not (self.node.at(f"{side}UpsertKeys") or self.node.at(f"{side}UniqueKeys"))
            case "multi-join":
                keys = self.node.at("inputUniqueKeys") or ()
                return not (number < len(keys) and keys[number])
            case "sink":
                return not self.node.at("inputUpsertKey")
            case "over-aggregate":
                order = order_of_over(self, 0)
                return order is None or not any(_is_time(column) for column in order)
            case _:
                return bool(self.node.at("rankStrategy", "type") == "Retract")

    def describes(self, state: str) -> bool:
        """Whether it is known which columns of the query a state has."""
        return state in self.kind.states

    def row_of(self, state: str, count: int, *, is_map_key: bool = False) -> Row | None:
        """Columns of a row with ``count`` fields in a state, or in the keys of a map of rows."""
        known = self.kind.states.get(state)
        row_of = None if known is None else known.map_key if is_map_key else known.value
        return None if row_of is None else row_of(self, count)

    def key(self) -> Row | None:
        return self.kind.key(self, 0)

    def ttl(self, state: str) -> str | None:
        """How long values of a state live, such as ``1 d``; None if the plan doesn't tell."""
        known = self.kind.states.get(state)
        index = known.index if known is not None else 0
        ttls = [planned.ttl for planned in self.node.states if planned.index == index]
        return ttls[0] if ttls else None

    def remarks(self, state: str) -> Iterator[str]:
        """Purpose of a state of the node, and how long its values live."""
        known = self.kind.states.get(state)
        calls = self.calls
        if matched := _DISTINCT.fullmatch(state):
            yield f"distinct values of {calls.distinct_arguments(int(matched.group(1)))}"
        elif known is not None:
            is_aggregate = known.value is accumulators and calls.calls
            yield f"{known.meaning}: {calls}" if is_aggregate else known.meaning
        elif state in MEANINGS:
            yield MEANINGS[state]
        ttl = self.ttl(state)
        if ttl is not None and not ttl.startswith("0 "):
            yield f"values live {ttl}"

    def input(self, number: int = 0) -> Row | None:
        """Columns of an input."""
        return self.inputs[number] if number < len(self.inputs) else None

    def selected(self, numbers: Any, number: int = 0) -> Row | None:
        """Columns of an input, by their numbers."""
        row = self.input(number)
        if row is None or not isinstance(numbers, list):
            return None
        if not all(isinstance(index, int) and 0 <= index < len(row) for index in numbers):
            return None
        return tuple(row[index] for index in numbers)


def _named_state(stored: Layout, known: StateRows, rows: NodeRows) -> Layout:
    match stored:
        case MapOf(key, value):
            has_rows = any(nodes_of(value, BinaryRow))
            row_of = known.map_key if known.map_key and has_rows else known.value
            return replace(
                stored, key=_named(key, row_of, rows), value=_named_values(value, known, rows)
            )
        case _:
            return _named_values(stored, known, rows)


def _named_values(values: Layout, known: StateRows, rows: NodeRows) -> Layout:
    def change(node: Layout) -> Layout:
        if isinstance(node, Struct) and node.names == ("f0", "f1") and known.second:
            first = "row" if any(nodes_of(node.fields[0], BinaryRow)) else "count"
            return replace(node, names=(first, known.second))
        return node

    return rebuilt(_named(values, known.value, rows), change)


def _named(layout: Layout, row_of: RowOf, rows: NodeRows) -> Layout:
    def change(node: Layout) -> Layout:
        if not isinstance(node, BinaryRow):
            return node
        row = row_of(rows, len(node.types))
        return node if row is None or not fits(row, node) else replace(node, names=_names(row))

    return rebuilt(layout, change)


def fits(row: Row, stored: BinaryRow) -> bool:
    """Whether a stored row has as many fields as columns, of the same types."""
    pairs = zip(row, stored.types, strict=False)
    return len(row) == len(stored.types) and all(
        column.root in ("", logical_type.root) for column, logical_type in pairs
    )


def _is_time(column: NamedColumn) -> bool:
    return column.type is not None and column.type.kind != "REGULAR"


def _names(row: Row) -> tuple[str, ...]:
    """Names of columns; a repeated column, such as a key, has its number behind its name."""
    names: list[str] = []
    for number, column in enumerate(row):
        names.append(f"{column.name}_{number}" if column.name in names else column.name)
    return (
        tuple(names) if len(set(names)) == len(names) else tuple(f"f{i}" for i in range(len(row)))
    )
