"""State of aggregations by tumbling, hopping and cumulating windows of event time.

Rows belong to slices, of which windows are made. A slice has the accumulators of its rows under its
end; a timer fires the window that ends with it.

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

from savepoint_formats.errors import PlanError
from savepoint_formats.plans.node_rows import NodeRows
from savepoint_spark.sql_history.aggregate_state import Aggregation
from savepoint_spark.sql_history.history_rows import type_of
from savepoint_spark.sql_history.kept_rows import rowtime_ms
from savepoint_spark.sql_history.node_state import NodeState, StateColumns
from savepoint_spark.writing.grouped_rows import Grouping
from savepoint_spark.writing.run_encoding import NAMESPACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_spark.sql_history.node_state import NodeHistory

_STATE, _TIMER, _AT = "window-aggs", "timer", "time"
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
    windowing = source.at("windowing") or {}
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
    grouping = tuple(source.at("grouping") or ())
    at = rowtime_ms(rows, time)
    sliced = rows.data.where(at.isNotNull()).withColumn(_AT, windows.slice_end(at))
    data = sliced.withColumn(NAMESPACE, windows.namespace(F.col(_AT), watermark))
    data = data.where(F.col(NAMESPACE).isNotNull())
    names = rows.names(grouping)
    calls = NodeRows(node, (rows.row,)).calls
    counted = takes_back or calls.may_count_rows is True
    aggregation = Aggregation(calls, counted, history.comparison)
    in_slices = replace(rows, data=data)
    states = aggregation.states(in_slices, (*names, NAMESPACE), _STATE)
    timers = _timers(sliced, names, windows, watermark)
    open_windows = (states, StateColumns(timers, (), _TIMER))
    return NodeState(names, rows.types(grouping), open_windows, True, watermark)


def _timers(data: DataFrame, names: tuple[str, ...], windows: Windows, watermark: int) -> DataFrame:
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
