"""State of aggregations over all rows up to the current one (OVER, UNBOUNDED PRECEDING).

| order           | state      | values                                                    |
|-----------------|------------|-----------------------------------------------------------|
| processing time | accState   | accumulators of all rows                                  |
| event time      | accState   | accumulators of the rows up to the watermark              |
|                 | inputState | time in ms -> rows behind the watermark, as they came     |

A timer waits for each time behind the watermark.

Flink: ``AbstractRowTimeUnboundedPrecedingOver``, ``ProcTimeUnboundedPrecedingFunction``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from savepoint_formats.errors import PlanError
from savepoint_formats.snapshots import constructed
from savepoint_spark.sql_history.aggregate_state import Aggregation
from savepoint_spark.sql_history.history_rows import ORDER, type_of
from savepoint_spark.sql_history.kept_rows import rowtime_ms
from savepoint_spark.sql_history.node_state import NodeState, StateColumns, entries, map_state
from savepoint_spark.writing.grouped_rows import Grouping

if TYPE_CHECKING:
    from savepoint_spark.sql_history.history_rows import HistoryRows
    from savepoint_spark.sql_history.node_history import NodeHistory

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
    placed = F.struct(F.col(ORDER), rows.struct().alias("row"))
    in_order = F.transform(F.array_sort(F.collect_list(placed)), lambda pair: pair["row"])
    listed = Grouping.of(rows.data, (*names, _AT)).aggregated(in_order.alias("rows"))
    data = Grouping.of(listed, names).aggregated(
        entries(F.col(_AT), F.col("rows")).alias(_WAITING), F.collect_list(_AT).alias(_TIMER)
    )
    row_lists = constructed.list_of(rows.serializer())
    serializer = constructed.map_of(constructed.long(), row_lists)
    return StateColumns(data, (map_state(_WAITING, serializer),), _TIMER)
