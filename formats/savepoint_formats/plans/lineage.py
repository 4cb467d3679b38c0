"""Origins of the rows of a query's operators, in a form that makes two plans comparable.

Numbers of nodes and columns, and names of columns, differ between plans even if rows are the same.
A *row set* describes the rows that a node emits, a column's *origin* how its values are computed,
both down to the tables of the sources. Where these are equal, two plans have the same rows.

| node                       | row set                                   | columns                        |
|----------------------------|-------------------------------------------|--------------------------------|
| source                     | table, what is pushed down to it          | table and name                 |
| calc                       | the input's, with the condition           | the expressions                |
| exchange, assigners        | the input's                               | the input's                    |
| aggregates                 | the input's, with the keys and the window | keys, then a call each         |
| joins                      | both inputs', with type and condition     | those of both; sides are told  |
|                            |                                           | apart if they share a table    |
| unions                     | all inputs'                               | those of all, column by column |
| deduplicate, rank          | the input's, with keys, order and range   | the input's, then the rank     |
| any other                  | the inputs', with all that the node says  | numbered                       |
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.plans.compiled_plan import parse_row
from savepoint_formats.plans.node_rows import NodeRows

if TYPE_CHECKING:
    from savepoint_formats.plans.compiled_plan import CompiledPlan, PlanNode, Row

_PASSING = {
    "exchange",
    "watermark-assigner",
    "mini-batch-assigner",
    "drop-update-before",
}
_LOCAL = {"local-group-aggregate", "local-window-aggregate"}
_JOINS = {"join", "interval-join", "temporal-join", "window-join"}
_LEFT_ALONE = {"SEMI", "ANTI"}
_UPDATING = {"group-aggregate", "deduplicate", "changelog-normalize", "rank", "sort-limit", "limit"}
_KEPT = {"deduplicate", "changelog-normalize", "window-deduplicate"}
_AGGREGATES = {
    "group-aggregate",
    "global-group-aggregate",
    "window-aggregate",
    "global-window-aggregate",
    "group-window-aggregate",
}
_OF_COLUMNS = {"ProjectPushDown", "ReadingMetadata", "WatermarkPushDown"}
"""Abilities of a source that don't change which rows it emits."""

_NOT_OF_ROWS = {
    "id",
    "type",
    "configuration",
    "description",
    "outputType",
    "inputProperties",
    "state",
    "grouping",
    "aggCalls",
    "aggCallNeedRetractions",
    "generateUpdateBefore",
    "needRetraction",
    "localAggInputRowType",
    "leftUpsertKeys",
    "rightUpsertKeys",
    "namedWindowProperties",
    "outputRowNumber",
}
_REFERENCES = {
    "grouping",
    "leftKeys",
    "rightKeys",
    "uniqueKeys",
    "partitionKeys",
    "orderKey",
    "timeAttributeIndex",
    "leftTimeIndex",
    "rightTimeIndex",
    "leftTimeAttributeIndex",
    "rightTimeAttributeIndex",
    "windowStart",
    "windowEnd",
    "sliceEnd",
    "fields",
    "index",
    "argList",
    "filterArg",
    "inputIndex",
    "fieldIndex",
    "partition_key_indices",
    "primaryKeys",
}
"""Names of JSON fields with numbers of columns."""

_COUNT_OF_COLUMNS = "originalInputFields"
_OF_RIGHT = {"rightKeys", "rightTimeIndex", "rightTimeAttributeIndex"}

Origin = Hashable


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a node emits.

    Attributes:
        row_set: Which rows they are.
        columns: The origin of each column.
        unaggregated: The rows in front of a local aggregation, which calls of the global one name.
    """

    row_set: Hashable
    columns: tuple[Origin, ...]
    unaggregated: Rows | None = None


class Lineage:
    """The rows of all nodes of a plan."""

    def __init__(self, plan: CompiledPlan) -> None:
        self.plan = plan
        self._rows: dict[int, Rows] = {}

    def inputs(self, node: PlanNode) -> tuple[Rows, ...]:
        """The rows that a node reads."""
        return tuple(self.rows(self.plan.nodes[number]) for number in node.inputs)

    def node_rows(self, node: PlanNode) -> NodeRows:
        """A node with its inputs, whose columns have their origins."""
        inputs = self.inputs(node)
        given = zip(self.plan.inputs(node), inputs, strict=True)
        aggregated = parse_row(node.spec.get("localAggInputRowType"))
        before = inputs[0].unaggregated if inputs else None
        return NodeRows(
            node,
            tuple(_with_origins(row, rows) for row, rows in given),
            calls(node, inputs),
            None if before is None else _with_origins(aggregated, before),
        )

    def rows(self, node: PlanNode) -> Rows:
        """The rows that a node emits."""
        waiting = [node]
        while waiting:
            top = waiting[-1]
            missing = [self.plan.nodes[it] for it in top.inputs if it not in self._rows]
            if top.id not in self._rows and missing and len(waiting) <= len(self.plan.nodes):
                waiting += missing
                continue
            waiting.pop()
            self._rows[top.id] = self._emitted(top)
        return self._rows[node.id]

    def _emitted(self, node: PlanNode) -> Rows:
        inputs = tuple(self._rows[number] for number in node.inputs if number in self._rows)
        spec = node.spec
        if node.kind in _PASSING and inputs:
            return inputs[0]
        if node.kind.endswith("table-source-scan"):
            return _scanned(node)
        if node.kind == "calc" and inputs:
            return _calculated(spec, inputs[0])
        if node.kind in _LOCAL and inputs:
            grouped = keys(node, inputs)
            partial = (("partial",),) * (len(node.output or ()) - len(grouped))
            return Rows(inputs[0].row_set, (*grouped, *partial), inputs[0])
        row_set = (
            family(node),
            *(rows.row_set for rows in inputs),
            frozenset(keys(node, inputs)),
            settings(node, inputs),
        )
        columns = tuple(column for rows in inputs for column in rows.columns)
        if node.kind == "union":
            columns = tuple(zip(*(rows.columns for rows in inputs), strict=False))
        elif node.kind in _JOINS and _shares_tables(inputs):
            columns = tuple(
                ("side", side, column)
                for side, rows in enumerate(inputs)
                for column in rows.columns
            )
        if node.kind in _JOINS and _join_type(spec) in _LEFT_ALONE:
            columns = columns[: len(inputs[0].columns)]
        elif node.kind in _AGGREGATES and inputs:
            columns = keys(node, inputs)
            columns += tuple(("call", row_set, call) for call in calls(node, inputs))
        count = len(node.output or ())
        if node.kind in _KEPT:
            return Rows(row_set, columns)
        columns = columns[:count]
        more = range(len(columns), count)
        return Rows(row_set, (*columns, *(("of", row_set, number) for number in more)))


def tables(row_set: Hashable) -> Iterator[str]:
    """Names of the tables that rows come from."""
    match row_set:
        case ("table", str() as name, _):
            yield name
        case tuple() | list():
            for part in row_set:
                yield from tables(part)


def _with_origins(row: Row | None, rows: Rows) -> Row | None:
    if row is None or len(row) != len(rows.columns):
        return None
    return tuple(
        replace(column, origin=origin) for column, origin in zip(row, rows.columns, strict=True)
    )


def takes_rows_back(row_set: Hashable) -> bool:
    """Whether an operator that rows come from takes rows back; unknown for sources."""
    match row_set:
        case (str() as kind, *_) if kind in _UPDATING:
            return True
        case tuple() | list():
            return any(map(takes_rows_back, row_set))
        case _:
            return False


def _shares_tables(inputs: Sequence[Rows]) -> bool:
    seen = [set(tables(rows.row_set)) for rows in inputs]
    return len(seen) > 1 and bool(seen[0] & seen[1])


def settings(node: PlanNode, inputs: Sequence[Rows]) -> Hashable:
    """The settings of a node that concern its rows, with origins in place of numbers of columns."""
    kept = {name: value for name, value in node.spec.items() if name not in _NOT_OF_ROWS}
    return _frozen(kept, inputs)


def keys(node: PlanNode, inputs: Sequence[Rows]) -> tuple[Origin, ...]:
    """Origins of the columns by which an aggregate groups."""
    return tuple(origin_of(number, inputs) for number in node.spec.get("grouping") or ())


def calls(node: PlanNode, inputs: Sequence[Rows]) -> tuple[Hashable, ...]:
    """The aggregate calls of a node, without their aliases."""
    inputs = [rows.unaggregated or rows for rows in inputs]
    given = node.spec.get("aggCalls") or ()
    retracting = node.spec.get("aggCallNeedRetractions") or ()
    return tuple(
        _frozen(
            {
                **{name: value for name, value in call.items() if name != "name"},
                "retracts": bool(retracting[number]) if number < len(retracting) else False,
            },
            inputs,
        )
        for number, call in enumerate(given)
    )


def family(node: PlanNode) -> str:
    """One name for an aggregation in one step and in two."""
    return node.kind.removeprefix("global-")


def _scanned(node: PlanNode) -> Rows:
    table = node.at("scanTableSource", "table", "identifier")
    abilities = node.at("scanTableSource", "abilities") or ()
    pushed = [ability for ability in abilities if ability.get("type") not in _OF_COLUMNS]
    kept = [{name: it[name] for name in it if name != "producedType"} for it in pushed]
    columns = tuple(("column", table, column.name) for column in node.output or ())
    return Rows(("table", table, _frozen(kept, ())), columns)


def _calculated(spec: Mapping[str, Any], rows: Rows) -> Rows:
    condition = spec.get("condition")
    row_set = rows.row_set
    if condition is not None:
        row_set = ("where", row_set, _frozen(condition, (rows,)))
    columns = tuple(_frozen(item, (rows,)) for item in spec.get("projection") or ())
    return Rows(row_set, columns)


def _join_type(spec: Mapping[str, Any]) -> str:
    join = spec.get("intervalJoinSpec") or spec
    return str((join.get("joinSpec") or {}).get("joinType"))


def _frozen(value: Any, inputs: Sequence[Rows], name: str = "") -> Hashable:
    """A value of JSON that can be compared, with origins in place of numbers of columns."""
    match value:
        case {"kind": "INPUT_REF", "inputIndex": int(number)}:
            return origin_of(number, inputs, name)
        case Mapping():
            items = sorted(item for item in value.items() if item[0] != _COUNT_OF_COLUMNS)
            return tuple((key, _frozen(item, inputs, key)) for key, item in items)
        case list() | tuple():
            return tuple(_frozen(item, inputs, name) for item in value)
        case int(number) if name in _REFERENCES and not isinstance(number, bool):
            return origin_of(number, inputs, name)
        case _:
            return value  # type: ignore[no-any-return]  # JSON has nothing else


def origin_of(number: int, inputs: Sequence[Rows], name: str = "") -> Origin:
    """Origin of the column of this number; ``name`` is the name of the field with the number."""
    if name in _OF_RIGHT:
        inputs = inputs[1:]
    columns = [column for rows in inputs for column in rows.columns]
    if 0 <= number < len(columns):
        return columns[number]
    # Constants of an OVER window come behind the columns; -1 is none.
    return "none", number - len(columns) if number >= 0 else number
