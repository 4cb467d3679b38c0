"""Aggregate calls of a plan's node, and the fields of their accumulators.

The accumulators of a node are one row. Their fields are in this order:

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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Self

from savepoint_extensions.sql_jobs.plans.compiled_plan import (
    NamedColumn,
    PlanNode,
    Row,
    parse_row,
    parse_type,
)
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots import DATA_VIEW

_BIGINT, _INTEGER = LogicalType("BIGINT"), LogicalType("INTEGER")
_STRING = LogicalType("VARCHAR", length=0x7FFF_FFFF)
_MAX_PRECISION = 38
_OF_SUMS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), _BIGINT),
    **dict.fromkeys(("FLOAT", "DOUBLE"), LogicalType("DOUBLE")),
}
_OF_VALUES = {
    **dict.fromkeys(("CHAR", "VARCHAR"), _STRING),
    "TIME_WITHOUT_TIME_ZONE": LogicalType("TIME_WITHOUT_TIME_ZONE"),
}
ROW_COUNT: Hashable = "the number of rows"
"""Origin of the number of rows, which ``COUNT(*)`` has too."""


class FieldType(Enum):
    """Type of a field of an accumulator, where it follows from the call."""

    RESULT = "that of the result"
    VALUE = "that of the argument, texts and times of any length"
    SUM = "that of sums of the argument, for averages"


@dataclass(frozen=True, slots=True)
class AccumulatorField:
    """A field of an accumulator.

    Attributes:
        name: Its name, behind that of the call; empty if it is the only one.
        type: Its type, or the rule for it; None if only the savepoint knows it.
        initial: Its value before the first row.
    """

    name: str
    type: LogicalType | FieldType | None
    initial: int | str | None = None


_COUNT = AccumulatorField("count", _BIGINT, 0)
_FIELDS = {
    "COUNT": (AccumulatorField("", _BIGINT, 0),),
    "SUM": (AccumulatorField("", FieldType.RESULT),),
    "SUM0": (AccumulatorField("", FieldType.RESULT, 0),),
    "AVG": (AccumulatorField("sum", FieldType.SUM, 0), _COUNT),
    "MIN": (AccumulatorField("", FieldType.VALUE),),
    "MAX": (AccumulatorField("", FieldType.VALUE),),
    "SINGLE_VALUE": (
        AccumulatorField("value", FieldType.VALUE),
        AccumulatorField("count", _INTEGER, 0),
    ),
    "LISTAGG": (AccumulatorField("delimiter", _STRING, ","), AccumulatorField("text", _STRING)),
}
_RETRACTING = {
    "SUM": (AccumulatorField("sum", FieldType.RESULT), _COUNT),
    **{name: _FIELDS[name] for name in ("COUNT", "SUM0", "AVG", "SINGLE_VALUE")},
}
"""Accumulators of functions that take rows back."""

_VIEW = LogicalType("RAW", class_name=f"{DATA_VIEW}MapView")
_UNKNOWN = (AccumulatorField("", None),)


@dataclass(frozen=True, slots=True)
class AccumulatorColumn(NamedColumn):
    """A field of a row of accumulators; ``initial`` is its value before the first row."""

    initial: int | str | None = None


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call such as ``SUM(price) AS total``.

    Attributes:
        alias: Its name in the query, or the column of its result.
        is_retracting: Whether rows are taken back.
        result: Type of its result; None if it isn't understood.
        argument_types: Types of its arguments; None for those that aren't understood.
        origin: Equal for calls that compute the same; see ``lineage``.
        condition: Column of the condition of the rows that it aggregates; None for all rows.
    """

    alias: str
    function: str
    arguments: tuple[str, ...]
    is_distinct: bool
    is_retracting: bool
    result: LogicalType | None = None
    argument_types: tuple[LogicalType | None, ...] = ()
    origin: Hashable = None
    argument_origins: tuple[Hashable, ...] = ()
    condition: NamedColumn | None = None

    def __str__(self) -> str:
        distinct = "DISTINCT " if self.is_distinct else ""
        return f"{self.alias} = {self.function}({distinct}{', '.join(self.arguments) or '*'})"

    @property
    def argument(self) -> LogicalType | None:
        """Type of its first argument; None if it has none, or one that isn't understood."""
        return self.argument_types[0] if self.argument_types else None

    @property
    def value_types(self) -> tuple[LogicalType | None, ...]:
        """Types of its arguments and its result, all nullable: accumulators don't differ by that."""
        return tuple(map(_nullable, (*self.argument_types, self.result)))

    @property
    def counts_rows(self) -> bool:
        """Whether it is ``COUNT(*)``."""
        is_plain = not (self.arguments or self.is_distinct) and self.condition is None
        return self.function == "COUNT" and is_plain

    @property
    def fields(self) -> tuple[AccumulatorField, ...]:
        """The fields of its accumulator."""
        known = _RETRACTING if self.is_retracting else _FIELDS
        return known.get(self.function, _UNKNOWN)

    @property
    def columns(self) -> tuple[AccumulatorColumn, ...]:
        """The fields of its accumulator, as columns of the row of all accumulators."""
        return tuple(
            AccumulatorColumn(
                f"{self.alias}_{field.name}" if field.name else self.alias,
                self._type(field.type),
                ROW_COUNT if self.counts_rows else (self.origin, number),
                field.initial,
            )
            for number, field in enumerate(self.fields)
        )

    def _type(self, given: LogicalType | FieldType | None) -> LogicalType | None:
        argument = _nullable(self.argument)
        match given:
            case FieldType.RESULT:
                return _nullable(self.result)
            case FieldType.VALUE:
                return argument and _OF_VALUES.get(argument.root, argument)
            case FieldType.SUM if argument is not None and argument.root == "DECIMAL":
                return replace(argument, precision=_MAX_PRECISION)
            case FieldType.SUM:
                return argument and _OF_SUMS.get(argument.root)
            case _:
                return given


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """Distinct values of some columns, which several calls may share."""

    arguments: tuple[str, ...]
    calls: tuple[AggregateCall, ...] = ()

    @property
    def filters(self) -> tuple[Hashable, ...]:
        """The distinct conditions of their calls; each has a place in the stored form of a value."""
        conditions = (call.condition for call in self.calls)
        return tuple(dict.fromkeys(column and column.identity for column in conditions))

    @property
    def types(self) -> tuple[LogicalType | None, ...]:
        """The types of the columns; a single column is a key of a map, which is never null."""
        given = self.calls[0].argument_types
        return given if len(given) > 1 else tuple(map(_nullable, given))


@dataclass(frozen=True, slots=True)
class AggregateCalls:
    """The calls of a node, in order.

    ``may_count_rows`` says whether their accumulators have the number of rows if no call counts them;
    None if the plan doesn't tell.
    """

    calls: tuple[AggregateCall, ...]
    may_count_rows: bool | None = False

    def __str__(self) -> str:
        return ", ".join(map(str, self.calls))

    @classmethod
    def of(cls, node: PlanNode, row: Row | None, origins: Sequence[Hashable] = ()) -> Self:
        """The calls of a node that reads these rows; none for nodes that don't aggregate.

        ``origins`` has the origins of the calls; without them, calls have their numbers. Behind a
        local aggregation, calls name columns of the rows in front of it; ``row`` may have these
        columns.
        """
        given, offset = _calls(node, row)
        takes_back = bool(node.spec.get("needRetraction"))
        retracting = node.spec.get("aggCallNeedRetractions") or [takes_back] * len(given)
        arguments = row or ()
        if arguments and arguments[0].origin is None:
            arguments = parse_row(node.spec.get("localAggInputRowType")) or arguments
        aliases = [column.name for column in (node.output or ())[offset:]]
        calls = []
        for number, call in enumerate(given):
            alias = call.get("name") or (aliases[number] if number < len(aliases) else None)
            columns = [_column(arguments, index) for index in call.get("argList") or ()]
            calls.append(
                AggregateCall(
                    str(alias or f"agg{number}"),
                    _function(call),
                    tuple(column.name for column in columns),
                    bool(call.get("distinct")),
                    number < len(retracting) and bool(retracting[number]),
                    parse_type(call.get("type")),
                    tuple(column.type for column in columns),
                    origins[number] if number < len(origins) else number,
                    tuple(column.identity for column in columns),
                    _condition(arguments, call.get("filterArg")),
                )
            )
        return cls(tuple(calls), _may_count_rows(node))

    def accumulators(self, count: int | None = None) -> tuple[AccumulatorColumn, ...] | None:
        """The columns of a row of accumulators with ``count`` fields; None if they don't fit.

        Without ``count``, the node says whether the row has the number of rows.
        """
        columns = [column for call in self.calls for column in call.columns]
        distinct = [
            AccumulatorColumn(f"distinct_{'_'.join(view.arguments)}", _VIEW, ("distinct", origins))
            for origins, view in self.distinct.items()
        ]
        is_counted = any(call.counts_rows for call in self.calls)
        fits = (
            self.may_count_rows is True if count is None else len(columns + distinct) + 1 == count
        )
        if fits and not is_counted and self.may_count_rows is not False:
            columns.append(AccumulatorColumn("row_count", _BIGINT, ROW_COUNT, 0))
        columns += distinct
        return tuple(columns) if count in (None, len(columns)) else None

    def distinct_arguments(self, number: int) -> str:
        """Arguments whose distinct values the state of this number holds."""
        views = tuple(self.distinct.values())
        return ", ".join(views[number].arguments) if number < len(views) else "an aggregate"

    @property
    def distinct(self) -> dict[tuple[Hashable, ...], DistinctValues]:
        """The stored distinct values, by the origins of their columns, in order."""
        views: dict[tuple[Hashable, ...], DistinctValues] = {}
        for call in self.calls:
            if call.is_distinct:
                origins = call.argument_origins
                before = views.get(origins, DistinctValues(call.arguments))
                views[origins] = replace(before, calls=(*before.calls, call))
        return views


def _calls(node: PlanNode, row: Row | None) -> tuple[list[Mapping[str, Any]], int]:
    """The calls, and the column of the output at which their results begin."""
    spec = node.spec
    if isinstance(spec.get("overSpec"), Mapping):
        groups = spec["overSpec"].get("groups") or ()
        return [call for group in groups for call in group.get("aggCalls") or ()], len(row or ())
    if "partialOriginalAggCalls" in spec:
        return list(spec["partialOriginalAggCalls"]), len(spec.get("partialAggGrouping") or ())
    return list(spec.get("aggCalls") or ()), len(spec.get("grouping") or ())


def _may_count_rows(node: PlanNode) -> bool | None:
    kind_of_window = node.at("windowing", "window", "type")
    if node.at("needRetraction") or kind_of_window == "HoppingWindow":
        return True
    return None if "needRetraction" not in node.spec else False


def _nullable(given: LogicalType | None) -> LogicalType | None:
    return given and replace(given, is_nullable=True)


def _function(call: Mapping[str, Any]) -> str:
    """The name of a function: ``$$SUM0$1`` of the planner is ``SUM0``."""
    name = call.get("internalName") or call.get("systemName") or call.get("catalogName") or "?"
    return str(name).strip("$").removesuffix("$1").rsplit(".", 1)[-1].strip("`")


def _condition(row: Row, index: Any) -> NamedColumn | None:
    return None if index in (-1, None) else _column(row, index)


def _column(row: Row, index: Any) -> NamedColumn:
    is_there = isinstance(index, int) and 0 <= index < len(row)
    return row[index] if is_there else NamedColumn(f"${index}")
