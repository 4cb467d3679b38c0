"""State of aggregations: accumulators of all calls, and the views that belong to them.

That of an aggregation over all rows up to the current one (OVER, UNBOUNDED PRECEDING):

| order           | state      | values                                                    |
|-----------------|------------|-----------------------------------------------------------|
| processing time | accState   | accumulators of all rows                                  |
| event time      | accState   | accumulators of the rows up to the watermark              |
|                 | inputState | time in ms -> rows behind the watermark, as they came     |

A timer waits for each time behind the watermark.

Flink: ``AbstractRowTimeUnboundedPrecedingOver``, ``ProcTimeUnboundedPrecedingFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from savepoint_formats.errors import PlanError
from savepoint_formats.layout import LogicalType
from savepoint_formats.plans.node_rows import NodeRows
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.constructed_sql import row_data
from savepoint_formats.snapshots.data_views import MAP_VIEW
from savepoint_spark.sql_history.accumulators import (
    CallRows,
    ViewAggregate,
    accumulator,
    accumulator_types,
    distinct_view,
    expect_order,
    has_view,
    place_of_view,
    sorted_view,
    view_type,
)
from savepoint_spark.sql_history.history_rows import ORDER, SIGN, in_order, row_struct, type_of
from savepoint_spark.sql_history.kept_rows import rowtime_ms
from savepoint_spark.sql_history.node_state import (
    NodeState,
    StateColumns,
    entries,
    map_state,
    value_state,
)
from savepoint_spark.writing.grouped_rows import Grouping

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_formats.plans.aggregate_calls import AggregateCall, AggregateCalls
    from savepoint_spark.sql_history.history_rows import HistoryRows
    from savepoint_spark.sql_history.node_state import NodeHistory


ROWS = "number of rows"
_BIGINT = LogicalType("BIGINT")


@dataclass(frozen=True)
class Aggregation:
    """Aggregate calls over the rows of groups.

    Attributes:
        calls: The calls of the node.
        takes_back: Whether distinct values count how often they come; see ``accumulators``.
        comparison: That of structured types; see ``LogicalType.kind``.
    """

    calls: AggregateCalls
    takes_back: bool
    comparison: str

    def types(self) -> tuple[LogicalType, ...]:
        """SQL types of the row of accumulators, or ``PlanError``."""
        types: list[LogicalType] = []
        for call in self.calls.calls:
            view = view_type(call, self.comparison)
            types += accumulator_types(call) if view is None else (view,)
        if self._counts_rows():
            types.append(_BIGINT)
        return (*types, *(MAP_VIEW for _ in self._distinct()))

    def states(self, rows: HistoryRows, group: tuple[str, ...], state: str) -> StateColumns:
        """The accumulators of each group as the value of a state, beside the states of views."""
        types = self.types()
        calls = self.calls.calls
        expect_order(calls, rows)
        views = self._views(rows, group)
        in_views = {number: fields for view in views for number, fields in view.fields.items()}
        fields: list[Column] = []
        aggregates = [F.sum(SIGN).cast("bigint").alias(ROWS)]
        for number, call in enumerate(calls):
            if number in in_views:
                fields += in_views[number]
                continue
            for place, column in enumerate(accumulator(CallRows.of(call, rows))):
                aggregates.append(column.alias(f"a{number}_{place}"))
                fields.append(F.col(f"a{number}_{place}"))
        if self._counts_rows():
            fields.append(F.col(ROWS))
        fields += [place_of_view() for _ in self._distinct()]
        data = Grouping.of(rows.data, group).aggregated(*aggregates).where(F.col(ROWS) > 0)
        for view in views:
            data = _joined(data, view.data, group)
        data = data.withColumn(state, row_struct(fields, types))
        of_views = tuple(known for view in views for known in view.states)
        return StateColumns(data, (value_state(state, row_data(types)), *of_views))

    def _views(self, rows: HistoryRows, group: tuple[str, ...]) -> list[ViewAggregate]:
        views = [
            sorted_view(number, call, rows, group)
            for number, call in enumerate(self.calls.calls)
            if has_view(call)
        ]
        for index, calls in enumerate(self._distinct().values()):
            views.append(distinct_view(index, calls, rows, group, self.takes_back))
        return views

    def _counts_rows(self) -> bool:
        is_counted = any(call.counts_rows for call in self.calls.calls)
        return self.calls.may_count_rows is True and not is_counted

    def _distinct(self) -> dict[tuple[str, ...], dict[int, AggregateCall]]:
        """Arguments of distinct calls -> the calls, by their numbers."""
        groups: dict[tuple[str, ...], dict[int, AggregateCall]] = {}
        for number, call in enumerate(self.calls.calls):
            if call.is_distinct:
                groups.setdefault(call.arguments, {})[number] = call
        return groups


def group_aggregate(history: NodeHistory) -> NodeState:
    """Accumulators of a GROUP BY, in one phase or two."""
    history.expect_no_ttl()
    node, rows = history.node, history.rows
    local = history.plan.local_aggregation(node)
    source = node if local is None else local
    grouping = tuple(source.spec.get("grouping") or ())
    takes_back = bool(node.spec.get("needRetraction"))
    if not takes_back:
        rows.expect_inserts(node.description)
    names = NodeRows(node, (rows.row,))
    states = Aggregation(names.calls, takes_back, history.comparison).states(
        rows, rows.names(grouping), "accState"
    )
    return NodeState(
        rows.names(grouping), rows.types(grouping), (states,), has_timers=local is None
    )


def _joined(data: DataFrame, other: DataFrame, group: tuple[str, ...]) -> DataFrame:
    renamed = other.withColumnsRenamed({name: f"of view {name}" for name in group})
    if not group:
        return data.crossJoin(renamed)
    same = [data[name].eqNullSafe(renamed[f"of view {name}"]) for name in group]
    return data.join(renamed, same, "left").drop(*(f"of view {name}" for name in group))


_STATE, _WAITING, _TIMER, _AT = "accState", "inputState", "timer", "time"


def over_aggregate(history: NodeHistory) -> NodeState:
    """Accumulators of the rows so far, and the rows behind the watermark."""
    history.expect_no_ttl()
    rows, description = history.rows, history.node.description
    rows.expect_inserts(description)
    groups: list[dict[str, Any]] = history.at("overSpec", "groups") or []
    bounds = [
        (group.get("lowerBound", {}).get("kind"), group.get("upperBound", {}).get("kind"))
        for group in groups
    ]
    if bounds != [("UNBOUNDED_PRECEDING", "CURRENT_ROW")]:
        raise PlanError(
            f"{description}: only aggregates of all rows up to the current one can be made of"
            " history. Let the job read the history itself"
        )
    key = history.numbers("overSpec", "partition", "fields")
    time = groups[0]["orderBy"]["fields"][0]["index"]
    aggregation = Aggregation(history.names.calls, False, history.comparison)
    kind = type_of(rows.row[time]).kind
    if kind == "PROCTIME":
        states = aggregation.states(rows, rows.names(key), _STATE)
        return NodeState(rows.names(key), rows.types(key), (states,))
    if kind != "ROWTIME":
        raise PlanError(f"{description}: it is ordered by a column that is no time attribute")
    rows.expect_order(f"{description} keeps rows of equal times as they came")
    at = rowtime_ms(rows, time)
    is_over = at <= history.watermark_ms()
    done = replace(rows, data=rows.data.where(is_over))
    states = aggregation.states(done, rows.names(key), _STATE)
    waiting = replace(rows, data=rows.data.where(~is_over).withColumn(_AT, at))
    waits = _waiting(waiting, key)
    if (history.at("unboundedOverVersion") or 1) == 1:
        # Flink before 2.0 has one timer, for the next watermark.
        next_ms = F.lit(history.watermark_ms() + 1).cast("bigint")
        waits = replace(waits, data=waits.data.withColumn(_TIMER, next_ms))
    return NodeState(rows.names(key), rows.types(key), (states, waits))


def _waiting(rows: HistoryRows, key: tuple[int, ...]) -> StateColumns:
    names = rows.names(key)
    by_time = Grouping.of(rows.data, (*names, _AT))
    listed = by_time.aggregated(in_order(ORDER, rows.struct()).alias("rows"))
    data = Grouping.of(listed, names).aggregated(
        entries(F.col(_AT), F.col("rows")).alias(_WAITING), F.collect_list(_AT).alias(_TIMER)
    )
    row_lists = constructed.list_of(rows.serializer())
    serializer = constructed.map_of(constructed.long(), row_lists)
    return StateColumns(data, (map_state(_WAITING, serializer),), _TIMER)
