"""State of aggregations: accumulators of all calls, and the views that belong to them.

State of an aggregation over all rows up to the current one (OVER, UNBOUNDED PRECEDING):

| order           | state      | values                                                    |
|-----------------|------------|-----------------------------------------------------------|
| processing time | accState   | accumulators of all rows                                  |
| event time      | accState   | accumulators of the rows up to the watermark              |
|                 | inputState | time in ms -> rows after the watermark, as they came      |

A timer waits for each time after the watermark.

Flink: ``AbstractRowTimeUnboundedPrecedingOver``, ``ProcTimeUnboundedPrecedingFunction``.

In tumbling, hopping and cumulating windows of event time, rows belong to slices, and windows
consist of slices. A slice has the accumulators of its rows under its end; a timer fires the window
that ends with it.

| window     | slices                | after a window fired                                          |
|------------|-----------------------|---------------------------------------------------------------|
| tumbling   | the window            | its slice is gone                                             |
| hopping    | as long as the slide  | its first slice is gone; the next window fires unless it is empty |
| cumulating | the step              | all its slices are one, under the end of the first; the next window fires |

Times are in ms, as Flink counts them.

Flink: ``SliceAssigners``, ``SliceSharedWindowAggProcessor``, ``SliceUnsharedWindowAggProcessor``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from savepoint_extensions.sql_jobs.history.accumulators import (
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
from savepoint_extensions.sql_jobs.history.kept_rows import rowtime_ms
from savepoint_extensions.sql_jobs.history.node_state import (
    ORDER,
    SIGN,
    NodeState,
    StateColumns,
    entries,
    in_order,
    map_state,
    row_struct,
    type_of,
    value_state,
)
from savepoint_extensions.sql_jobs.history.operator_maps import MAP_VIEW
from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
from savepoint_formats.errors import PlanError
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots import constructed, row_data
from savepoint_spark.writing import NAMESPACE, Grouping

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_extensions.sql_jobs.history.node_state import HistoryRows, NodeHistory
    from savepoint_extensions.sql_jobs.plans.aggregate_calls import AggregateCall, AggregateCalls


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
        """The accumulators of each group as the value of a state, and the states of views."""
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
    """Accumulators of the rows so far, and the rows after the watermark."""
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


_WINDOW_STATE = "window-aggs"
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?")


@dataclass(frozen=True)
class Windows:
    """Windows of event time; all numbers are ms.

    Attributes:
        size: Length of a window, the longest one of cumulating windows.
        step: Distance of their ends.
        offset: Shift of their starts.
        is_cumulating: Whether windows begin together, and grow by ``step``.
    """

    size: int
    step: int
    offset: int
    is_cumulating: bool

    @classmethod
    def of(cls, window: Any, description: str) -> Windows:
        """The windows of a plan, or ``PlanError``."""
        offset = _ms(window.get("offset")) if window.get("offset") else 0
        match window:
            case {"type": "TumblingWindow", "size": size}:
                return cls(_ms(size), _ms(size), offset, False)
            case {"type": "HoppingWindow", "size": size, "slide": slide}:
                return cls(_ms(size), _ms(slide), offset, False)
            case {"type": "CumulativeWindow", "maxSize": size, "step": step}:
                return cls(_ms(size), _ms(step), offset, True)
        raise PlanError(
            f"{description}: the state of its windows can't be made of history; that of tumbling,"
            " hopping and cumulating ones can"
        )

    def slice_end(self, time: Column) -> Column:
        """End of the slice of a time."""
        return time - F.pmod(time - self.offset, F.lit(self.step)) + self.step

    def start(self, time: Column) -> Column:
        """Start of the cumulating windows of a time."""
        return time - F.pmod(time - self.offset, F.lit(self.size))

    def last_fired(self, watermark: int) -> int:
        """End of the last window that a watermark has fired."""
        passed = watermark + 1 - self.offset
        return passed - passed % self.step + self.offset

    def namespace(self, slice_end: Column, watermark: int) -> Column:
        """The end under which the rows of a slice are; null if they are gone."""
        fired = slice_end <= self.last_fired(watermark)
        if self.is_cumulating:
            start = self.start(slice_end - 1)
            open_end = F.when(start + self.size > self.last_fired(watermark), start + self.step)
            return F.when(fired, open_end).otherwise(slice_end)
        last_window = slice_end - self.step + self.size
        return F.when(last_window > self.last_fired(watermark), slice_end)


def window_aggregate(history: NodeHistory) -> NodeState:
    """Accumulators of the slices that are still open, and the timers of their windows."""
    node, description = history.node, history.node.description
    local = history.plan.local_aggregation(node)
    source = NodeRows(local or node, (history.rows.row,))
    windowing = source.node.at("windowing") or {}
    time = windowing.get("timeAttributeIndex")
    is_of_column = windowing.get("strategy") == "TimeAttribute" and windowing.get("isRowtime")
    if not isinstance(time, int) or not is_of_column:
        raise PlanError(
            f"{description}: only windows of a column of event time can be made of history, not"
            " those of processing time or of another window"
        )
    if type_of(history.rows.row[time]).root != "TIMESTAMP_WITHOUT_TIME_ZONE":
        raise PlanError(
            f"{description}: windows of TIMESTAMP_LTZ depend on the time zone of the session, and"
            " can't be made of history. Cast the column to TIMESTAMP"
        )
    windows = Windows.of(windowing.get("window") or {}, description)
    watermark = history.watermark_ms()
    rows = history.rows
    takes_back = bool(node.spec.get("needRetraction"))
    if not takes_back:
        rows.expect_inserts(description)
    grouping = tuple(source.node.at("grouping") or ())
    at = rowtime_ms(rows, time)
    sliced = rows.data.where(at.isNotNull()).withColumn(_AT, windows.slice_end(at))
    data = sliced.withColumn(NAMESPACE, windows.namespace(F.col(_AT), watermark))
    data = data.where(F.col(NAMESPACE).isNotNull())
    names = rows.names(grouping)
    calls = NodeRows(node, (rows.row,)).calls
    counted = takes_back or calls.may_count_rows is True
    aggregation = Aggregation(calls, counted, history.comparison)
    in_slices = replace(rows, data=data)
    states = aggregation.states(in_slices, (*names, NAMESPACE), _WINDOW_STATE)
    timers = _window_timers(sliced, names, windows, watermark)
    open_windows = (states, StateColumns(timers, (), _TIMER))
    return NodeState(names, rows.types(grouping), open_windows, True, watermark)


def _window_timers(
    data: DataFrame, names: tuple[str, ...], windows: Windows, watermark: int
) -> DataFrame:
    """The ends of windows that will fire, under themselves."""
    last = windows.last_fired(watermark)
    end = F.col(_AT)
    if windows.is_cumulating:
        still_open = windows.start(end - 1) + windows.size > last
    else:
        still_open = F.lit(windows.size > windows.step) & (end > last - windows.size)
    next_end = F.when(still_open, F.lit(last + windows.step))
    fires = F.when(end > last, end).otherwise(next_end)
    ends = data.select(*names, fires.alias(NAMESPACE)).where(F.col(NAMESPACE).isNotNull())
    timers = Grouping.of(ends, (*names, NAMESPACE)).distinct()
    return timers.withColumn(_TIMER, F.col(NAMESPACE) - 1)


def _ms(given: Any) -> int:
    matched = _DURATION.fullmatch(str(given))
    if matched is None:
        raise PlanError(f"a window has the length {given!r}, which is not understood")
    days, hours, minutes, seconds, fraction = matched.groups()
    whole = int(days or 0) * 86_400 + int(hours or 0) * 3_600 + int(minutes or 0) * 60
    return (whole + int(seconds or 0)) * 1000 + int((fraction or "0").ljust(3, "0"))
