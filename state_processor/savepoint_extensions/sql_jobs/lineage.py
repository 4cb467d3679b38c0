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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_extensions.sql_jobs.origins import Origin, Rows, frozen, of_side, origin_of
from savepoint_extensions.sql_jobs.plans.compiled_plan import parse_row
from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan, PlanNode, Row

_PASSING = {
    "exchange",
    "watermark-assigner",
    "mini-batch-assigner",
    "drop-update-before",
}
_SCAN = "table-source-scan"
_LOCAL = {"local-group-aggregate", "local-window-aggregate"}
_JOINS = {"join", "interval-join", "temporal-join", "window-join"}
_LEFT_ALONE = {"SEMI", "ANTI"}
_OUTER = "outer-join"
_UPDATING = {
    "group-aggregate",
    "deduplicate",
    "changelog-normalize",
    "rank",
    "sort-limit",
    "limit",
    "multi-join",
    _OUTER,
}
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
    "inputUniqueKeys",
    "joinAttributeMap",
    "namedWindowProperties",
    "outputRowNumber",
}


@dataclass(frozen=True, slots=True)
class Renames:
    """New names of columns of tables, by their old names, which may begin with a table: ``orders.id``."""

    names: Mapping[str, str]

    def column(self, table: str, name: str) -> str:
        """The present name of a column; ``table`` is the identifier in the plan."""
        return self.names.get(f"{_short(table)}.{name}") or self.names.get(name) or name

    def unknown(self, plan: CompiledPlan) -> set[str]:
        """Old names that no column of a table in the old plan has."""
        known: set[str] = set()
        for node in plan.nodes.values():
            if node.kind.endswith(_SCAN):
                names = _column_names(node)
                known |= {*names, *(f"{_short(_table(node))}.{name}" for name in names)}
        return self.names.keys() - known


NO_RENAMES = Renames({})


class Lineage:
    """The rows of all nodes of a plan."""

    def __init__(self, plan: CompiledPlan, renames: Renames = NO_RENAMES) -> None:
        self.plan, self.renames = plan, renames
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
        types = (self.plan.nodes[number].spec.get("outputType") for number in node.inputs)
        unknown = (
            None if row else repr(it) for row, it in zip(self.plan.inputs(node), types, strict=True)
        )
        return NodeRows(
            node,
            tuple(_with_origins(row, rows) for row, rows in given),
            calls(node, inputs),
            None if before is None else _with_origins(aggregated, before),
            (inputs, tuple(unknown)),
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
        if node.kind.endswith(_SCAN):
            return _scanned(node, self.renames)
        if node.kind == "calc" and inputs:
            return _calculated(spec, inputs[0])
        if node.kind in _LOCAL and inputs:
            grouped = keys(node, inputs)
            partial = (("partial",),) * (len(node.output or ()) - len(grouped))
            return Rows(inputs[0].row_set, (*grouped, *partial), inputs[0])
        is_outer = node.kind == "join" and _join_type(spec) != "INNER"
        row_set = (
            _OUTER if is_outer else family(node),
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
    return tuple(settings_by_name(node, inputs).items())


def settings_by_name(node: PlanNode, inputs: Sequence[Rows]) -> dict[str, Hashable]:
    """The settings by their names in the plan."""
    kept = {name: value for name, value in node.spec.items() if name not in _NOT_OF_ROWS}
    return {name: of_side(name, kept[name], inputs) for name in sorted(kept)}


def keys(node: PlanNode, inputs: Sequence[Rows]) -> tuple[Origin, ...]:
    """Origins of the columns by which an aggregate groups."""
    return tuple(origin_of(number, inputs) for number in node.spec.get("grouping") or ())


def calls(node: PlanNode, inputs: Sequence[Rows]) -> tuple[Hashable, ...]:
    """The aggregate calls of a node, without their aliases and the types of their results."""
    inputs = [rows.unaggregated or rows for rows in inputs]
    given = node.spec.get("aggCalls") or ()
    retracting = node.spec.get("aggCallNeedRetractions") or ()
    return tuple(
        frozen(
            {
                **{name: value for name, value in call.items() if name not in ("name", "type")},
                "retracts": bool(retracting[number]) if number < len(retracting) else False,
            },
            inputs,
        )
        for number, call in enumerate(given)
    )


def family(node: PlanNode) -> str:
    """One name for an aggregation in one step and in two."""
    return node.kind.removeprefix("global-")


def _short(table: str) -> str:
    return table.rsplit(".", 1)[-1].strip("`")


def _table(node: PlanNode) -> str:
    return str(node.at("scanTableSource", "table", "identifier"))


def _column_names(node: PlanNode) -> tuple[str, ...]:
    """Names of the columns of a source's table, or of the rows that it emits."""
    schema = node.at("scanTableSource", "table", "resolvedTable", "schema", "columns")
    given = [str(column.get("name")) for column in schema or ()]
    return tuple(given or (column.name for column in node.output or ()))


def _scanned(node: PlanNode, renames: Renames) -> Rows:
    table = _table(node)

    def origins(names: Iterable[str]) -> tuple[Origin, ...]:
        return tuple(("column", table, renames.column(table, name)) for name in names)

    read = Rows((), origins(_column_names(node)))
    kept = []
    for ability in node.at("scanTableSource", "abilities") or ():
        if ability.get("type") not in _OF_COLUMNS:
            given = {name: ability[name] for name in ability if name != "producedType"}
            kept.append(frozen(given, (read,)))
        if (produced := parse_row(ability.get("producedType"))) is not None:
            read = Rows((), origins(column.name for column in produced))
    columns = origins(column.name for column in node.output or ())
    return Rows(("table", table, tuple(kept)), columns)


def _calculated(spec: Mapping[str, Any], rows: Rows) -> Rows:
    condition = spec.get("condition")
    row_set = rows.row_set
    if condition is not None:
        row_set = ("where", row_set, frozen(condition, (rows,)))
    columns = tuple(frozen(item, (rows,)) for item in spec.get("projection") or ())
    return Rows(row_set, columns)


def _join_type(spec: Mapping[str, Any]) -> str:
    join = spec.get("intervalJoinSpec") or spec
    return str((join.get("joinSpec") or {}).get("joinType"))
