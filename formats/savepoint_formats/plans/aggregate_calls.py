"""Aggregate calls of a plan's node, and the fields of their accumulators.

The accumulators of a node are one row. Flink puts them together in this order:

| fields                | meaning                                                                     |
|-----------------------|-----------------------------------------------------------------------------|
| those of each call    | in the order of the calls; most functions have one field, some several      |
| number of rows        | if the node takes rows back and no ``COUNT(*)`` counts them; groups say so in |
|                       | ``needRetraction``, windows and OVER don't                                   |
| distinct values       | one per list of arguments of ``DISTINCT``; their content is another state   |

Flink: ``AggregateUtil``, ``AggsHandlerCodeGenerator``, the classes of
``planner.functions.aggfunctions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from savepoint_formats.plans.compiled_plan import NamedColumn, PlanNode, Row, parse_row

_SUM_AND_COUNT = ("sum", "count")
_FIELDS = {
    "AVG": _SUM_AND_COUNT,
    "SINGLE_VALUE": ("value", "count"),
}
"""Functions whose accumulators have several fields always."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call such as ``SUM(price) AS total``."""

    alias: str
    function: str
    arguments: tuple[str, ...]
    is_distinct: bool
    is_retracting: bool

    def __str__(self) -> str:
        distinct = "DISTINCT " if self.is_distinct else ""
        return f"{self.alias} = {self.function}({distinct}{', '.join(self.arguments) or '*'})"

    @property
    def columns(self) -> Row:
        """The fields of its accumulator."""
        if self.function == "COUNT":
            return (NamedColumn(self.alias, "BIGINT"),)
        is_sum_and_count = self.function == "SUM" and self.is_retracting
        fields = _SUM_AND_COUNT if is_sum_and_count else _FIELDS.get(self.function)
        if fields is None:
            return (NamedColumn(self.alias),)
        return tuple(
            NamedColumn(f"{self.alias}_{field}", "BIGINT" if field == "count" else "")
            for field in fields
        )


@dataclass(frozen=True, slots=True)
class AggregateCalls:
    """The calls of a node, in order."""

    calls: tuple[AggregateCall, ...]
    may_count_rows: bool = False

    def __str__(self) -> str:
        return ", ".join(map(str, self.calls))

    @classmethod
    def of(cls, node: PlanNode, row: Row | None) -> Self:
        """The calls of a node that reads these rows; none for nodes that don't aggregate."""
        given, offset = _calls(node, row)
        retracting = node.spec.get("aggCallNeedRetractions") or ()
        arguments = parse_row(node.spec.get("localAggInputRowType")) or row
        names = [column.name for column in arguments or ()]
        aliases = [column.name for column in (node.output or ())[offset:]]
        calls = []
        for number, call in enumerate(given):
            alias = call.get("name") or (aliases[number] if number < len(aliases) else None)
            calls.append(
                AggregateCall(
                    str(alias or f"agg{number}"),
                    _function(call),
                    tuple(_name(names, index) for index in call.get("argList") or ()),
                    bool(call.get("distinct")),
                    number < len(retracting) and bool(retracting[number]),
                )
            )
        return cls(tuple(calls), bool(node.spec.get("needRetraction", True)))

    def accumulators(self, count: int) -> Row | None:
        """The columns of a row of accumulators with so many fields; None if they don't fit."""
        columns = [column for call in self.calls for column in call.columns]
        distinct = self._distinct()
        if self.may_count_rows and len(columns) + len(distinct) + 1 == count:
            columns.append(NamedColumn("row_count", "BIGINT"))
        columns += [NamedColumn(f"distinct_{'_'.join(arguments)}") for arguments in distinct]
        return tuple(columns) if self.calls and len(columns) == count else None

    def distinct_arguments(self, number: int) -> str:
        """Arguments whose distinct values the state of this number holds."""
        distinct = self._distinct()
        return ", ".join(distinct[number]) if number < len(distinct) else "an aggregate"

    def _distinct(self) -> tuple[tuple[str, ...], ...]:
        return tuple(
            dict.fromkeys(tuple(call.arguments) for call in self.calls if call.is_distinct)
        )


def _calls(node: PlanNode, row: Row | None) -> tuple[list[Mapping[str, Any]], int]:
    """The calls, and the column of the output at which their results begin."""
    spec = node.spec
    if isinstance(spec.get("overSpec"), Mapping):
        groups = spec["overSpec"].get("groups") or ()
        return [call for group in groups for call in group.get("aggCalls") or ()], len(row or ())
    if "partialOriginalAggCalls" in spec:
        return list(spec["partialOriginalAggCalls"]), len(spec.get("partialAggGrouping") or ())
    return list(spec.get("aggCalls") or ()), len(spec.get("grouping") or ())


def _function(call: Mapping[str, Any]) -> str:
    """The name of a function: ``$$SUM0$1`` of the planner is ``SUM0``."""
    name = call.get("internalName") or call.get("systemName") or call.get("catalogName") or "?"
    return str(name).strip("$").removesuffix("$1").rsplit(".", 1)[-1].strip("`")


def _name(names: list[str], index: Any) -> str:
    return names[index] if isinstance(index, int) and 0 <= index < len(names) else f"${index}"
