"""Aggregates whose entries lie in a state of their own: those of distinct values, and sorted ones.

| aggregate                      | state               | entries                                     |
|--------------------------------|---------------------|---------------------------------------------|
| DISTINCT, only inserts         | distinctAcc_<n>     | value -> bits of the conditions that it met |
| DISTINCT, rows taken back      | distinctAcc_<n>     | value -> how often it is there              |
| the same, of several conditions|                     | value -> how often, for each condition      |
| DISTINCT, of null              | distinctAcc_<n>_null_state | as for a value                       |
| MIN, MAX, rows taken back      | agg<n>$map          | value -> how often it is there              |
| COLLECT                        | agg<n>$map          | value -> how often it is there              |

Flink: ``DistinctAggCodeGen``, ``MinWithRetractAggFunction``, ``CollectAggFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from savepoint_formats.errors import PlanError
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots.data_views import LONG_ARRAY, MAP_VIEW, external, map_view
from savepoint_spark.sql_history.accumulators import CallRows, accumulator
from savepoint_spark.sql_history.history_rows import name_of, sql_spark_type
from savepoint_spark.sql_history.node_state import entries, map_state, value_state
from savepoint_spark.writing.grouped_rows import Grouping

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_formats.plans.aggregate_calls import AggregateCall
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import KeyedStateType
    from savepoint_spark.sql_history.history_rows import HistoryRows

    StateColumn = tuple[str, KeyedStateType, TypeSerializerSnapshot]

_BIGINT = LogicalType("BIGINT")
_AGGREGATES = "org.apache.flink.table.runtime.functions.aggregate."
_MAX_CONDITIONS = 64
_VALUE, _PLACE = "value", b"\x00"


@dataclass(frozen=True)
class ViewAggregate:
    """Accumulators of calls that share a view.

    Attributes:
        fields: Number of a call -> the columns with the fields of its accumulator.
        data: A row per group, with these columns and the states.
        states: The states of the view.
    """

    fields: dict[int, list[Column]]
    data: DataFrame
    states: tuple[StateColumn, ...]


def view_type(call: AggregateCall, comparison: str) -> LogicalType | None:
    """The type of an accumulator that has a view; None for other calls.

    ``comparison`` is that of structured types; see ``LogicalType.kind``.
    """
    value = call.argument
    if call.function == "COLLECT":
        return _structured("CollectAggFunction$CollectAccumulator", {"map": MAP_VIEW}, comparison)
    if not has_view(call):
        return None
    if value is None or call.is_distinct:
        raise PlanError(f"{call} takes rows back, of a type that is not supported")
    name = call.function.lower()
    fields = {name: replace(value, is_nullable=True), "mapSize": _BIGINT, "map": MAP_VIEW}
    owner = f"{name.title()}WithRetract"
    return _structured(f"{owner}AggFunction${owner}Accumulator", fields, comparison)


def _structured(name: str, fields: dict[str, LogicalType], comparison: str) -> LogicalType:
    return LogicalType(
        "STRUCTURED_TYPE",
        names=tuple(fields),
        children=tuple(fields.values()),
        class_name=f"{_AGGREGATES}{name}",
        kind=comparison,
    )


def has_view(call: AggregateCall) -> bool:
    """Whether an accumulator has a view."""
    is_sorted = call.function in ("MIN", "MAX") and call.is_retracting
    return is_sorted or call.function == "COLLECT"


def place_of_view() -> Column:
    """The place of a view in a row of accumulators."""
    return F.struct(F.lit(_PLACE).alias("bytes"), F.lit("").alias("reason"))


def sorted_view(
    number: int, call: AggregateCall, rows: HistoryRows, group: tuple[str, ...]
) -> ViewAggregate:
    """A call of MIN, MAX or COLLECT that counts its values."""
    of_call = CallRows.of(call, rows)
    assert call.argument is not None  # see view_type
    counted = _counted(rows, group, of_call.values, {"n": of_call.sign})
    kept = (F.col("n") > 0) & F.col(_VALUE).isNotNull()
    name, is_collect = f"agg{number}$map", call.function == "COLLECT"
    choose = F.min if call.function == "MIN" else F.max
    chosen, size = choose(F.when(kept, F.col(_VALUE))), F.count(F.when(kept, F.lit(1)))
    value_type = LogicalType("INTEGER") if is_collect else _BIGINT
    amounts = F.col("n").cast(sql_spark_type(value_type))
    data = Grouping.of(counted, group).aggregated(
        entries(F.col(_VALUE), amounts, kept).alias(name),
        chosen.alias(f"chosen{number}"),
        size.alias(f"size{number}"),
    )
    fields = [F.col(f"chosen{number}"), F.coalesce(f"size{number}", F.lit(0)), place_of_view()]
    field = F.struct(place_of_view()) if is_collect else F.struct(*fields)
    serializer = map_view(replace(call.argument, is_nullable=False), value_type)
    return ViewAggregate({number: [field]}, data, (map_state(name, serializer),))


def distinct_view(
    index: int,
    calls: dict[int, AggregateCall],
    rows: HistoryRows,
    group: tuple[str, ...],
    takes_back: bool,
) -> ViewAggregate:
    """Calls of distinct values of the same argument."""
    first = next(iter(calls.values()))
    if len(calls) > _MAX_CONDITIONS or first.argument is None or len(first.arguments) > 1:
        raise PlanError(f"{first} has more than one argument, or one that is not supported")
    of_calls = {number: CallRows.of(call, rows) for number, call in calls.items()}
    columns = {column.name: name_of(number) for number, column in enumerate(rows.row)}
    argument = F.col(columns[first.arguments[0]])
    signs = {f"n{number}": of_call.sign for number, of_call in of_calls.items()}
    counted = _counted(rows, group, argument, signs)
    is_there = [F.col(name) > 0 for name in signs]
    counted = counted.where(reduce(lambda left, right: left | right, is_there))
    value_type, value = _distinct_value(list(signs), takes_back)
    view, null = f"distinctAcc_{index}", f"distinctAcc_{index}_null_state"
    aggregates, fields = [], {}
    for number, call in calls.items():
        kept = F.col(f"n{number}") > 0
        distinct = CallRows(call, F.when(kept, F.col(_VALUE)), F.when(kept, 1).otherwise(0))
        columns_of = [f"d{number}_{place}" for place in range(len(call.columns))]
        made = zip(accumulator(distinct), columns_of, strict=True)
        aggregates += [column.alias(name) for column, name in made]
        fields[number] = [F.col(name) for name in columns_of]
    has_value = F.col(_VALUE).isNotNull()
    data = Grouping.of(counted, group).aggregated(
        entries(F.col(_VALUE), value, has_value).alias(view),
        F.first(F.when(~has_value, value), ignorenulls=True).alias(null),
        *aggregates,
    )
    states = (
        map_state(view, map_view(first.argument, value_type)),
        value_state(null, external(value_type)),
    )
    return ViewAggregate(fields, data, states)


def _distinct_value(counts: list[str], takes_back: bool) -> tuple[LogicalType, Column]:
    if not takes_back:
        bits = [F.when(F.col(name) > 0, F.lit(1 << i)) for i, name in enumerate(counts)]
        met = [F.coalesce(bit.cast("bigint"), F.lit(0).cast("bigint")) for bit in bits]
        whole = reduce(lambda left, right: left.bitwiseOR(right), met)
        return replace(_BIGINT, is_nullable=False), whole
    if len(counts) == 1:
        return replace(_BIGINT, is_nullable=False), F.col(counts[0])
    return LONG_ARRAY, F.array(*map(F.col, counts))


def _counted(
    rows: HistoryRows, group: tuple[str, ...], value: Column, signs: dict[str, Column]
) -> DataFrame:
    """How often each value of a group is there, by the sign of each call."""
    sign_columns = [sign.alias(f"sign {name}") for name, sign in signs.items()]
    data = rows.data.select(*group, value.alias(_VALUE), *sign_columns)
    sums = [F.sum(f"sign {name}").cast("bigint").alias(name) for name in signs]
    return Grouping.of(data, (*group, _VALUE)).aggregated(*sums)
