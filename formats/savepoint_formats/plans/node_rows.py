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
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.layout import BinaryRow, Layout, MapOf, Struct, nodes_of, rebuilt
from savepoint_formats.plans.aggregate_calls import AggregateCalls
from savepoint_formats.plans.compiled_plan import NamedColumn, PlanNode, Row
from savepoint_formats.state_files.state import StateKind

if TYPE_CHECKING:
    from savepoint_formats.state_files.state import State

_DISTINCT = re.compile(r"distinctAcc_(\d+)")


@dataclass(frozen=True, slots=True)
class NodeRows:
    """A node with the columns of the rows that it reads; it names the fields of its states.

    If columns have origins, ``call_origins`` has those of its aggregate calls, and ``aggregated``
    the rows that these name.
    """

    node: PlanNode
    inputs: tuple[Row | None, ...]
    call_origins: tuple[Hashable, ...] = ()
    aggregated: Row | None = None

    @property
    def calls(self) -> AggregateCalls:
        return AggregateCalls.of(self.node, self.aggregated or self.input(), self.call_origins)

    def named(self, state: State) -> State:
        """The state with the names of the query's columns in its key and its values."""
        kind = _KINDS.get(self.node.kind, _NO_KIND)
        key = state.key and _named(state.key, kind.key, self)
        if state.kind is StateKind.TIMERS:
            return replace(state, key=key, stored=_named(state.stored, kind.key, self))
        known = kind.states.get(state.name)
        stored = state.stored if known is None else _named_state(state.stored, known, self)
        return replace(state, key=key, stored=stored)

    def finds_whole_rows(self, number: int) -> bool:
        """Whether rows to take back are found by all columns because an input has no unique key."""
        side = ("left", "right")[min(number, 1)]
        match self.node.kind:
            case "join":
                return not (self.node.at(f"{side}UpsertKeys") or self.node.at(f"{side}UniqueKeys"))
            case "sink":
                return not self.node.at("inputUpsertKey")
            case _:
                return bool(self.node.at("rankStrategy", "type") == "Retract")

    def describes(self, state: str) -> bool:
        """Whether it is known which columns of the query a state has."""
        return state in _KINDS.get(self.node.kind, _NO_KIND).states

    def row_of(self, state: str, count: int, *, is_map_key: bool = False) -> Row | None:
        """Columns of a row with ``count`` fields in a state, or in the keys of a map of rows."""
        known = _KINDS.get(self.node.kind, _NO_KIND).states.get(state)
        row_of = None if known is None else known.map_key if is_map_key else known.value
        return None if row_of is None else row_of(self, count)

    def key(self) -> Row | None:
        return _KINDS.get(self.node.kind, _NO_KIND).key(self, 0)

    def ttl(self, state: str) -> str | None:
        """How long values of a state live, such as ``1 d``; None if the plan doesn't tell."""
        known = _KINDS.get(self.node.kind, _NO_KIND).states.get(state)
        index = known.index if known is not None else 0
        ttls = [planned.ttl for planned in self.node.states if planned.index == index]
        return ttls[0] if ttls else None

    def remarks(self, state: str) -> Iterator[str]:
        """Purpose of a state of the node, and how long its values live."""
        known = _KINDS.get(self.node.kind, _NO_KIND).states.get(state)
        calls = self.calls
        if matched := _DISTINCT.fullmatch(state):
            yield f"distinct values of {calls.distinct_arguments(int(matched.group(1)))}"
        elif known is not None:
            is_aggregate = known.value is _accumulators and calls.calls
            yield f"{known.meaning}: {calls}" if is_aggregate else known.meaning
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


RowOf = Callable[[NodeRows, int], Row | None]
"""The columns of a row with a given number of fields."""


def _input(number: int = 0) -> RowOf:
    return lambda rows, _: rows.input(number)


def _columns(*path: str, number: int = 0) -> RowOf:
    return lambda rows, _: rows.selected(rows.node.at(*path), number)


def _order(*path: str) -> RowOf:
    def columns(rows: NodeRows, _: int) -> Row | None:
        fields = rows.node.at(*path, "fields")
        if not isinstance(fields, list):
            return None
        return rows.selected([field.get("index") for field in fields])

    return columns


def _unique_key(side: str, number: int) -> RowOf:
    def columns(rows: NodeRows, _: int) -> Row | None:
        keys = rows.node.at(f"{side}UpsertKeys") or rows.node.at(f"{side}UniqueKeys") or ()
        return rows.selected(min(keys, key=len), number) if keys else None

    return columns


def _primary_key(rows: NodeRows, _: int) -> Row | None:
    """The columns of the input at the places that the key's columns have in the table."""
    schema = rows.node.at("dynamicTableSink", "table", "resolvedTable", "schema") or {}
    names = (schema.get("primaryKey") or {}).get("columns")
    if not isinstance(names, list):
        return None
    columns = [column.get("name") for column in schema.get("columns") or ()]
    row = rows.selected([columns.index(name) for name in names if name in columns])
    if row is None or len(row) != len(names):
        return tuple(map(NamedColumn, names))
    return tuple(replace(column, name=name) for column, name in zip(row, names, strict=True))


def _accumulators(rows: NodeRows, count: int) -> Row | None:
    return rows.calls.accumulators(count)


@dataclass(frozen=True, slots=True)
class StateRows:
    """Rows in a state.

    Attributes:
        meaning: What the state is for.
        value: Rows of values, also of elements of lists.
        map_key: Rows that are keys of a map whose values are rows; keys of other maps are like
            ``value``.
        index: Number of the state in the node, by which the plan tells its TTL.
        second: Name of the number or flag that Flink keeps beside a row.
    """

    meaning: str
    value: RowOf
    map_key: RowOf | None = None
    index: int = 0
    second: str = ""


_AGGREGATES = {"accState": StateRows("accumulators", _accumulators)}
_WINDOW_AGGREGATES = {
    "window-aggs": StateRows("accumulators of the window", _accumulators),
    "previous-window-aggs": StateRows("accumulators as they were emitted last", _accumulators),
}
_RANK = {
    "data-state-with-append": StateRows("rows by the order", _input(), _order("orderBy")),
    "data-state-with-update": StateRows(
        "rows and their ranks by the unique key",
        _input(),
        _columns("rankStrategy", "primaryKeys"),
        second="rank",
    ),
    "data-state": StateRows("rows by the order", _input(), _order("orderBy")),
    "sorted-map": StateRows("number of rows by the order", _order("orderBy")),
    "Top1-Rank-State": StateRows("the first row", _input()),
}
_JOIN = {
    "left-records": StateRows(
        "rows of the left input", _input(0), _unique_key("left", 0), 0, "matches"
    ),
    "right-records": StateRows(
        "rows of the right input", _input(1), _unique_key("right", 1), 1, "matches"
    ),
}
_DEDUPLICATE = {"deduplicate-state": StateRows("the row that was kept", _input())}
_WINDOW_JOIN = {
    "left-records": StateRows("rows of the left input in the window", _input(0)),
    "right-records": StateRows("rows of the right input in the window", _input(1)),
}
_TEMPORAL = {
    "left": StateRows("rows of the left input that wait", _input(0)),
    "right": StateRows("versions of the right input", _input(1)),
}
_INTERVAL = {
    "IntervalJoinLeftCache": StateRows(
        "rows of the left input by time", _input(0), second="is_emitted"
    ),
    "IntervalJoinRightCache": StateRows(
        "rows of the right input by time", _input(1), second="is_emitted"
    ),
}
_MATCH = {
    "sharedBuffer-events": StateRows("events of partial matches", _input()),
    "eventQueuesStateName": StateRows("events by time", _input()),
}
_WAITING = {"_async_wait_operator_state_": StateRows("rows that wait for an answer", _input())}


@dataclass(frozen=True, slots=True)
class _Kind:
    key: RowOf
    states: Mapping[str, StateRows]


_GROUPED = _columns("grouping")
_KINDS = {
    "group-aggregate": _Kind(_GROUPED, _AGGREGATES),
    "global-group-aggregate": _Kind(_GROUPED, _AGGREGATES),
    "incremental-group-aggregate": _Kind(_columns("partialAggGrouping"), _AGGREGATES),
    "group-table-aggregate": _Kind(_GROUPED, _AGGREGATES),
    "python-group-aggregate": _Kind(_GROUPED, {}),
    "window-aggregate": _Kind(_GROUPED, _WINDOW_AGGREGATES),
    "global-window-aggregate": _Kind(_GROUPED, _WINDOW_AGGREGATES),
    "group-window-aggregate": _Kind(_GROUPED, _WINDOW_AGGREGATES),
    "over-aggregate": _Kind(
        _columns("overSpec", "partition", "fields"),
        {**_AGGREGATES, "inputState": StateRows("rows of the input by time", _input())},
    ),
    "deduplicate": _Kind(_columns("uniqueKeys"), _DEDUPLICATE),
    "changelog-normalize": _Kind(_columns("uniqueKeys"), _DEDUPLICATE),
    "rank": _Kind(_columns("partition", "fields"), _RANK),
    "limit": _Kind(_columns("partition", "fields"), _RANK),
    "sort-limit": _Kind(_columns("partition", "fields"), _RANK),
    "join": _Kind(_columns("joinSpec", "leftKeys"), _JOIN),
    "interval-join": _Kind(_columns("intervalJoinSpec", "joinSpec", "leftKeys"), _INTERVAL),
    "temporal-join": _Kind(_columns("joinSpec", "leftKeys"), _TEMPORAL),
    "window-join": _Kind(_columns("joinSpec", "leftKeys"), _WINDOW_JOIN),
    "window-rank": _Kind(
        _columns("partitionSpec", "fields"),
        {"window_rank": StateRows("rows of the window by the order", _input(), _order("sortSpec"))},
    ),
    "window-deduplicate": _Kind(
        _columns("partitionKeys"),
        {"window_deduplicate": StateRows("the row that was kept of the window", _input())},
    ),
    "window-table-function": _Kind(
        _columns("windowing", "window", "partition_key_indices"),
        {"session-window-tvf-acc": StateRows("rows of the session", _input())},
    ),
    "match": _Kind(_columns("matchSpec", "partition", "fields"), _MATCH),
    "sink": _Kind(
        _primary_key, {"values": StateRows("rows by the order of their arrival", _input())}
    ),
    "async-calc": _Kind(_columns(), _WAITING),
    "lookup-join": _Kind(_columns("inputUpsertKey"), _WAITING),
}
KINDS_WITH_STATE = frozenset(_KINDS) - {
    "async-calc",
    "lookup-join",
    "python-group-aggregate",
    "sink",
    "window-table-function",
}
"""Kinds of nodes with keyed state of their own in every job."""

_NO_KIND = _Kind(_columns(), {})


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
        return node if row is None or not _fits(row, node) else replace(node, names=_names(row))

    return rebuilt(layout, change)


def _fits(row: Row, stored: BinaryRow) -> bool:
    pairs = zip(row, stored.types, strict=False)
    return len(row) == len(stored.types) and all(
        column.root in ("", logical_type.root) for column, logical_type in pairs
    )


def _names(row: Row) -> tuple[str, ...]:
    """Names of columns; a repeated column, such as a key, has its number behind its name."""
    names: list[str] = []
    for number, column in enumerate(row):
        names.append(f"{column.name}_{number}" if column.name in names else column.name)
    return (
        tuple(names) if len(set(names)) == len(names) else tuple(f"f{i}" for i in range(len(row)))
    )
