"""Accumulators of aggregate calls, computed from all rows of a group at once.

| function             | fields of its accumulator                                      |
|----------------------|----------------------------------------------------------------|
| COUNT, SUM, SUM0     | the number or sum; SUM that takes rows back has a number, too  |
| AVG                  | sum and number                                                 |
| MIN, MAX             | the value; if rows are taken back a map, see below             |
| FIRST_VALUE, LAST_VALUE | a row of the value and the time at which it came            |
| LISTAGG              | delimiter and text                                             |

Some aggregates keep entries in a state of their own: distinct values, and sorted ones.

| aggregate                      | state               | entries                                     |
|--------------------------------|---------------------|---------------------------------------------|
| DISTINCT, only inserts         | distinctAcc_<n>     | value -> bits of the conditions that it met |
| DISTINCT, rows taken back      | distinctAcc_<n>     | value -> how often it is there              |
| the same, of several conditions|                     | value -> how often, for each condition      |
| DISTINCT, of null              | distinctAcc_<n>_null_state | as for a value                       |
| MIN, MAX, rows taken back      | agg<n>$map          | value -> how often it is there              |
| COLLECT                        | agg<n>$map          | value -> how often it is there              |

Flink: ``DistinctAggCodeGen``, and the classes of ``planner.functions.aggfunctions`` and
``runtime.functions.aggregate``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from savepoint_extensions.sql_jobs.history.node_state import (
    ORDER,
    SIGN,
    entries,
    map_state,
    name_of,
    sql_spark_type,
    value_state,
)
from savepoint_extensions.sql_jobs.history.operator_maps import (
    LONG_ARRAY,
    MAP_VIEW,
    external,
    map_view,
)
from savepoint_formats.errors import PlanError
from savepoint_formats.layout import LogicalType
from savepoint_spark.writing import Grouping

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from savepoint_extensions.sql_jobs.history.node_state import HistoryRows
    from savepoint_extensions.sql_jobs.plans.aggregate_calls import AggregateCall
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import KeyedStateType

    StateColumn = tuple[str, KeyedStateType, TypeSerializerSnapshot]


_FIRST_ORDER, _LAST_ORDER = 2**63 - 1, -(2**63)
"""Times of the accumulators of FIRST_VALUE and LAST_VALUE before the first value."""

_ORDERED = {"FIRST_VALUE", "LAST_VALUE", "LISTAGG"}


@dataclass(frozen=True)
class CallRows:
    """The rows that a call aggregates.

    Attributes:
        call: The call.
        value: Its first argument, null in rows that it leaves out; None for ``COUNT(*)``.
        sign: 1 for a row that comes, -1 for one that is taken back, 0 for one that it leaves out.
        others: Its other arguments.
    """

    call: AggregateCall
    value: Column | None
    sign: Column
    others: tuple[Column, ...] = ()

    @classmethod
    def of(cls, call: AggregateCall, rows: HistoryRows) -> CallRows:
        """The rows of an input for a call."""
        columns = {column.name: F.col(name_of(i)) for i, column in enumerate(rows.row)}
        arguments = [columns[name] for name in call.arguments]
        value, sign = arguments[0] if arguments else None, F.col(SIGN)
        if call.condition is not None:
            is_kept = columns[call.condition.name]
            value = None if value is None else F.when(is_kept, value)
            sign = F.when(is_kept, sign).otherwise(0)
        return cls(call, value, sign, tuple(arguments[1:]))

    @property
    def values(self) -> Column:
        """Its argument."""
        assert self.value is not None  # only COUNT has none
        return self.value

    @property
    def is_there(self) -> Column:
        """Whether a row has a value that it aggregates."""
        return (self.sign != 0) & self.values.isNotNull()

    def count(self) -> Column:
        """The number of values, or of rows for ``COUNT(*)``."""
        counted = self.sign if self.value is None else F.when(self.is_there, self.sign)
        return F.coalesce(F.sum(counted), F.lit(0))

    def total(self) -> Column:
        """The sum of values; null if there are none."""
        signed = F.when(self.sign > 0, self.values).when(self.sign < 0, -self.values)
        return F.sum(signed)


def accumulator(rows: CallRows) -> list[Column]:
    """The fields of a call's accumulator, as aggregates of the rows of a group."""
    return _FUNCTIONS[rows.call.function](rows)


def accumulator_types(call: AggregateCall) -> tuple[LogicalType, ...]:
    """SQL types of a call's accumulator, or ``PlanError``."""
    if call.function not in _FUNCTIONS:
        raise PlanError(
            f"{call} can't be computed from history: supported are"
            f" {', '.join((*_FUNCTIONS, 'COLLECT'))}. Leave it out of the query, or let the"
            " job read the history itself"
        )
    if call.is_retracting and call.function in _ORDERED:
        raise PlanError(
            f"{call} takes rows back here: its state has each row with the time at which it came,"
            " which history doesn't tell. Let the job read the history itself"
        )
    if len(call.arguments) > (2 if call.function == "LISTAGG" else 1):
        raise PlanError(f"{call} has several arguments; only LISTAGG may have them")
    if call.function in _VALUE_AND_TIME:
        value = replace(_argument(call), is_nullable=True)
        names = _VALUE_AND_TIME[call.function]
        return (LogicalType("ROW", names=names, children=(value, LogicalType("BIGINT"))),)
    types = [column.type for column in call.columns if column.type is not None]
    if len(types) != len(call.columns) or (call.argument or LogicalType("")).root == "CHAR":
        raise PlanError(f"{call} has an argument whose type is not supported")
    return tuple(types)


def expect_order(calls: Sequence[AggregateCall], rows: HistoryRows) -> None:
    """Raises ``ValueError`` if a call depends on the order of rows, and none is known."""
    for call in calls:
        if call.function in _ORDERED:
            rows.expect_order(f"{call} depends on the order in which rows come")


def _argument(call: AggregateCall) -> LogicalType:
    if call.argument is None:
        raise PlanError(f"{call} has an argument whose type is not supported")
    return call.argument


def _sum(rows: CallRows) -> list[Column]:
    return [rows.total(), rows.count()] if rows.call.is_retracting else [rows.total()]


def _first_or_last(rows: CallRows, is_first: bool) -> list[Column]:
    choose = F.min_by if is_first else F.max_by
    value = choose(rows.values, F.when(rows.is_there, F.col(ORDER)))
    if not is_first:
        return [F.struct(value, F.lit(_LAST_ORDER))]
    now_ms = time.time_ns() // 1_000_000
    came = F.when(value.isNotNull(), F.lit(now_ms)).otherwise(F.lit(_FIRST_ORDER))
    return [F.struct(value, came)]


def _list_agg(rows: CallRows) -> list[Column]:
    placed = F.when(rows.is_there, F.struct(F.col(ORDER), rows.values.alias("value")))
    texts = F.transform(F.array_sort(F.collect_list(placed)), lambda pair: pair["value"])
    given = F.max(rows.others[0]) if rows.others else F.lit(",")
    return [given, F.when(F.count(placed) > 0, F.call_function("array_join", texts, given))]


_VALUE_AND_TIME = {
    "FIRST_VALUE": ("firstValue", "firstOrder"),
    "LAST_VALUE": ("lastValue", "lastOrder"),
}
_FUNCTIONS: dict[str, Callable[[CallRows], list[Column]]] = {
    "COUNT": lambda rows: [rows.count()],
    "SUM": _sum,
    "SUM0": lambda rows: [F.coalesce(rows.total(), F.lit(0))],
    "AVG": lambda rows: [F.coalesce(rows.total(), F.lit(0)), rows.count()],
    "MIN": lambda rows: [F.min(rows.values)],
    "MAX": lambda rows: [F.max(rows.values)],
    "FIRST_VALUE": lambda rows: _first_or_last(rows, is_first=True),
    "LAST_VALUE": lambda rows: _first_or_last(rows, is_first=False),
    "LISTAGG": _list_agg,
}


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
