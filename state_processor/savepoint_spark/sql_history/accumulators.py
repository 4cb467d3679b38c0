"""Accumulators of aggregate calls, computed from all rows of a group at once.

| function             | fields of its accumulator                                      |
|----------------------|----------------------------------------------------------------|
| COUNT, SUM, SUM0     | the number or sum; SUM that takes rows back has a number, too  |
| AVG                  | sum and number                                                 |
| MIN, MAX             | the value; if rows are taken back a map, see ``view_aggregates`` |
| FIRST_VALUE, LAST_VALUE | a row of the value and the time at which it came            |
| LISTAGG              | delimiter and text                                             |

Flink: the classes of ``planner.functions.aggfunctions`` and ``runtime.functions.aggregate``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from savepoint_formats.errors import PlanError
from savepoint_formats.layout import LogicalType
from savepoint_spark.sql_history.history_rows import ORDER, SIGN, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column

    from savepoint_formats.plans.aggregate_calls import AggregateCall
    from savepoint_spark.sql_history.history_rows import HistoryRows

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
        """Those of an input."""
        columns = {column.name: F.col(name_of(i)) for i, column in enumerate(rows.row)}
        arguments = [columns[name] for name in call.arguments]
        value, sign = arguments[0] if arguments else None, F.col(SIGN)
        if call.filter_by:
            is_kept = columns[call.filter_by]
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
    """SQL types of a call's accumulator.

    Raises:
        PlanError: The function, or its form here, is not supported.
    """
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
