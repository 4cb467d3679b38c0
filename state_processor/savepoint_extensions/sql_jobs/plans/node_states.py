"""Contents of each state of each kind of node; see ``node_rows``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_extensions.sql_jobs.plans.compiled_plan import NamedColumn, Row
from savepoint_formats.layout import LogicalType

if TYPE_CHECKING:
    from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows

FOREVER = -1

RowOf = Callable[["NodeRows", int], Row | None]
"""The columns of a row with a given number of fields."""


def _input(number: int = 0) -> RowOf:
    return lambda rows, _: rows.input(number)


_ROW_NUMBER = NamedColumn("number", LogicalType("BIGINT"), "the number of the row")


def _columns(*path: str, number: int = 0) -> RowOf:
    return lambda rows, _: rows.selected(rows.node.at(*path), number)


def _order(*path: str) -> RowOf:
    def columns(rows: NodeRows, _: int) -> Row | None:
        fields = rows.node.at(*path, "fields")
        if not isinstance(fields, list):
            return None
        return rows.selected([field.get("index") for field in fields])

    return columns


def order_of_over(rows: NodeRows, _: int) -> Row | None:
    """Columns of the order of an OVER window, or the number of the row in it."""
    groups = rows.node.at("overSpec", "groups") or [{}]
    fields = (groups[0].get("orderBy") or {}).get("fields")
    return rows.selected([field.get("index") for field in fields]) if fields else None


def _order_of_accumulators(rows: NodeRows, count: int) -> Row | None:
    """Keys of the accumulators of an OVER window that isn't by time: by ROWS, a number per row."""
    groups = rows.node.at("overSpec", "groups") or [{}]
    return (_ROW_NUMBER,) if groups[0].get("isRows") else order_of_over(rows, count)


def _looked_up(rows: NodeRows, _: int) -> Row | None:
    """Columns of the table that a lookup join reads; they come behind those of its input."""
    row, output = rows.input(), rows.node.output
    if row is None or output is None:
        return None
    return tuple(
        replace(column, origin=("looked up", number))
        for number, column in enumerate(output[len(row) :])
    )


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


def _unnamed(_rows: NodeRows, _count: int) -> Row | None:
    """Rows whose columns the plan doesn't tell."""
    return None


def _upsert_key(rows: NodeRows, _: int) -> Row | None:
    """Columns by which a sink finds rows that are taken back: all, if there is no upsert key."""
    key = rows.node.at("inputUpsertKey")
    return rows.selected(key) if key else rows.input()


def _common_key(rows: NodeRows, _: int) -> Row | None:
    """The column by which several inputs are joined; None if they are joined by several ones."""
    pairs = rows.node.at("joinAttributeMap", "0") or ()
    numbers = {pair.get("rightFieldIndex") for pair in pairs}
    return rows.selected(list(numbers)) if len(numbers) == 1 else None


def _partition(rows: NodeRows, _: int) -> Row | None:
    """Columns by which the first table of a process table function is partitioned."""
    operands = rows.node.at("functionCall", "operands") or ()
    tables = [it for it in operands if it.get("kind") == "TABLE_ARG_CALL"]
    first: Mapping[str, Any] = next((it for it in tables if it.get("inputIndex") == 0), {})
    return rows.selected(first.get("partitionKeys"))


def accumulators(rows: NodeRows, count: int) -> Row | None:
    """The fields of the accumulators of a node's aggregates."""
    return rows.calls.accumulators(count)


@dataclass(frozen=True, slots=True)
class StateRows:
    """Rows in a state.

    Attributes:
        meaning: What the state is for.
        value: Rows of values, also of elements of lists.
        map_key: Rows that are keys of a map whose values are rows; keys of other maps are like
            ``value``.
        index: Number of the state in the node, by which the plan tells its TTL; ``FOREVER`` if Flink does
            not apply that to it.
        second: Name of the number or flag that Flink keeps beside a row.
    """

    meaning: str
    value: RowOf
    map_key: RowOf | None = None
    index: int = 0
    second: str = ""


_AGGREGATES = {"accState": StateRows("accumulators", accumulators)}
_WINDOW_AGGREGATES = {
    "window-aggs": StateRows("accumulators of the window", accumulators),
    "previous-aggs": StateRows("accumulators as they were emitted last", accumulators),
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
_OVER = {
    **_AGGREGATES,
    "inputState": StateRows("rows of the input by time", _input()),
    "valueMapState": StateRows("rows of the input by their numbers", _input()),
    "sortedListState": StateRows("numbers of rows by the order", order_of_over, second="numbers"),
    "accMapState": StateRows("accumulators by the order", accumulators, _order_of_accumulators),
}
_DEDUPLICATE = {
    "deduplicate-state": StateRows("the row that was kept", _input()),
    "waiting-to-emit-on-timer": StateRows(
        "the first row, until its time has come", _input(), index=FOREVER
    ),
}
_SORT = {
    "dataState": StateRows("rows of the input by time", _input()),
    "sortState": StateRows("rows of the input", _input()),
    "localBufferState": StateRows("rows of the input, with their numbers", _input()),
}
_LOOKUP = {
    "unique-value": StateRows("the row that was found", _looked_up),
    "values": StateRows("rows that were found", _looked_up),
}
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
_WAITING = {
    "_async_wait_operator_state_": StateRows("rows that wait for an answer", _input()),
    "_keyed_async_wait_operator_state_": StateRows("rows that wait for an answer", _input()),
}
_DELTA_JOIN = {
    "_delta_join_operator_async_wait_state_": StateRows(
        "rows of both inputs that wait for an answer", _unnamed
    )
}
_MOST_INPUTS = 64
_MULTI_JOIN = {
    f"multi-join-input-{number}": StateRows(
        f"rows of input {number}", _input(number), _unnamed, number
    )
    for number in range(_MOST_INPUTS)
}
_SINK = {
    "values": StateRows("rows by the order of their arrival", _input()),
    "list": StateRows(
        "rows by the order of their arrival", _input(), index=FOREVER, second="timestamp"
    ),
    "rowToSqnState": StateRows(
        "places of rows in the order of their arrival", _upsert_key, index=FOREVER
    ),
    "sqnToNodeState": StateRows("rows by their places", _input(), index=FOREVER),
    "highestSqnState": StateRows("the last place, and the number of rows", _unnamed, index=FOREVER),
    "watermark-buffer": StateRows("rows by time, until the watermark has come", _input()),
    "current-value": StateRows("the row that was emitted last", _input()),
}
_PROCESS = {"internal-named-timers-map": StateRows("timers by their names", _unnamed)}


@dataclass(frozen=True, slots=True)
class NodeKind:
    """The columns of the keys of a kind of node, and those of its states that have rows."""

    key: RowOf
    states: Mapping[str, StateRows]


_ASYNC = (
    "async-calc",
    "async-correlate",
    "ml-predict-table-function",
    "vector-search-table-function",
)
"""Kinds of nodes that ask others, and keep the rows that wait for answers."""

_GROUPED = _columns("grouping")
KINDS = {
    "group-aggregate": NodeKind(_GROUPED, _AGGREGATES),
    "global-group-aggregate": NodeKind(_GROUPED, _AGGREGATES),
    "incremental-group-aggregate": NodeKind(_columns("partialAggGrouping"), _AGGREGATES),
    "group-table-aggregate": NodeKind(_GROUPED, _AGGREGATES),
    "python-group-aggregate": NodeKind(_GROUPED, {}),
    "window-aggregate": NodeKind(_GROUPED, _WINDOW_AGGREGATES),
    "global-window-aggregate": NodeKind(_GROUPED, _WINDOW_AGGREGATES),
    "group-window-aggregate": NodeKind(_GROUPED, _WINDOW_AGGREGATES),
    "over-aggregate": NodeKind(
        _columns("overSpec", "partition", "fields"),
        _OVER,
    ),
    "deduplicate": NodeKind(_columns("uniqueKeys"), _DEDUPLICATE),
    "changelog-normalize": NodeKind(_columns("uniqueKeys"), _DEDUPLICATE),
    "rank": NodeKind(_columns("partition", "fields"), _RANK),
    "limit": NodeKind(_columns("partition", "fields"), _RANK),
    "sort-limit": NodeKind(_columns("partition", "fields"), _RANK),
    "join": NodeKind(_columns("joinSpec", "leftKeys"), _JOIN),
    "interval-join": NodeKind(_columns("intervalJoinSpec", "joinSpec", "leftKeys"), _INTERVAL),
    "temporal-join": NodeKind(_columns("joinSpec", "leftKeys"), _TEMPORAL),
    "window-join": NodeKind(_columns("joinSpec", "leftKeys"), _WINDOW_JOIN),
    "window-rank": NodeKind(
        _columns("partitionSpec", "fields"),
        {"window_rank": StateRows("rows of the window by the order", _input(), _order("sortSpec"))},
    ),
    "window-deduplicate": NodeKind(
        _columns("partitionKeys"),
        {"window_deduplicate": StateRows("the row that was kept of the window", _input())},
    ),
    "window-table-function": NodeKind(
        _columns("windowing", "window", "partition_key_indices"),
        {"session-window-tvf-acc": StateRows("rows of the session", _input())},
    ),
    "match": NodeKind(_columns("matchSpec", "partition", "fields"), _MATCH),
    "sink": NodeKind(_primary_key, _SINK),
    **dict.fromkeys(_ASYNC, NodeKind(_columns(), _WAITING)),
    "delta-join": NodeKind(_columns("leftJoinKeys"), _DELTA_JOIN),
    "multi-join": NodeKind(_common_key, _MULTI_JOIN),
    "process-table-function": NodeKind(_partition, _PROCESS),
    "lookup-join": NodeKind(_columns("inputUpsertKey"), {**_WAITING, **_LOOKUP}),
    "sort": NodeKind(_columns(), _SORT),
    "temporal-sort": NodeKind(_columns(), _SORT),
}
KINDS_WITH_STATE = frozenset(KINDS) - {
    *_ASYNC,
    "delta-join",
    "lookup-join",
    "process-table-function",
    "python-group-aggregate",
    "sink",
    "window-table-function",
}
"""Kinds of nodes with keyed state of their own in every job."""

NO_KIND = NodeKind(_columns(), {})

MEANINGS = {
    "already-emitted-state-boolean": "whether the first row was emitted",
    "cleanupTsState": "when the state of the key is removed",
    "counterState": "number of rows",
    "idState": "number of the next row",
    "IntervalJoinLeftTimerState": "time of the next timer of the left input",
    "IntervalJoinRightTimerState": "time of the next timer of the right input",
    "lastTriggeringTsState": "time of the last rows that were emitted",
    "next-index": "number of the next row",
    "nfaStateName": "partial matches",
    "processedCountState": "number of rows",
    "rankEnd": "the last rank",
    "session-window-mapping": "sessions and the windows that their state is under",
    "session-window-tvf-counter": "number of rows of the session",
    "sharedBuffer-entries-with-lockable-edges": "partial matches, event by event",
    "sharedBuffer-events-count": "number of events by time",
    "smallestTSState": "time of the first row",
    "timer": "time of the next timer",
}
"""What states without rows are for."""
