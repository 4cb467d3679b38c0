"""A node of a plan: the rows that its inputs read, and the keyed states that are made of them.

Columns of rows are numbered as in the plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import Window
from pyspark.sql import functions as F

from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
from savepoint_formats.errors import PlanError, UnencodableError
from savepoint_formats.layout import BinaryRow, LogicalType
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.snapshots import constructed, row_data
from savepoint_formats.state_files import KeyedStateType, StateMetaInfo
from savepoint_formats.values import ROW_KIND, ROW_KINDS
from savepoint_spark.columns import column_of, expect_frame, fitting, spark_type
from savepoint_spark.writing import (
    KEY,
    NAMESPACE,
    Grouping,
    Key,
    KeyedPlan,
    KeyedRows,
    NewOperatorState,
    NewState,
    OperatorPlan,
    OperatorRows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_extensions.sql_jobs.plans.compiled_plan import (
        CompiledPlan,
        NamedColumn,
        PlanNode,
        Row,
    )
    from savepoint_formats.snapshots import TypeSerializerSnapshot


SIGN, ORDER = "sign", "order"
"""1 for a row that comes, -1 for one that is taken back; the place of a row in the order of arrival."""

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = ROW_KINDS


@dataclass(frozen=True)
class HistoryRows:
    """Rows of an input: a column ``c<number>`` for each of the plan, and ``SIGN`` and ``ORDER``.

    Attributes:
        data: The rows.
        row: The columns of the plan.
        is_changelog: Whether rows may be taken back.
        is_ordered: Whether the order of arrival is known.
    """

    data: DataFrame
    row: Row
    is_changelog: bool
    is_ordered: bool

    @classmethod
    def of(
        cls,
        given: DataFrame,
        row: Row,
        row_kind: str | None,
        order_by: Sequence[str],
        operator: str,
    ) -> Self:
        """Rows of a user; ``operator`` names in errors who reads them.

        Raises ``ColumnNotFoundError``, ``ColumnTypeError``; ``PlanError`` for types that aren't
        known here.
        """
        expect_frame(given)
        columns = [_fitted(given, column).alias(name_of(i)) for i, column in enumerate(row)]
        order = [column_of(given, name)[0] for name in order_by]
        place = F.struct(*order) if order else F.lit(None).cast("int")
        sign = F.lit(1) if row_kind is None else _sign(given, row_kind, operator)
        data = given.select(*columns, sign.alias(SIGN), place.alias(ORDER))
        return cls(data, row, row_kind is not None, bool(order))

    @classmethod
    def nothing(cls, spark: SparkSession, row: Row) -> Self:
        """No row of an input, for the types of the state alone; ``PlanError`` for types that aren't known."""
        columns = [
            F.lit(None).cast(sql_spark_type(type_of(column))).alias(name_of(number))
            for number, column in enumerate(row)
        ]
        data = spark.range(0).select(*columns, F.lit(1).alias(SIGN), F.lit(0).alias(ORDER))
        return cls(data, row, is_changelog=False, is_ordered=True)

    def names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Names of columns in ``data``."""
        return tuple(map(name_of, numbers))

    def types(self, numbers: Iterable[int] | None = None) -> tuple[LogicalType, ...]:
        """SQL types of columns, of all by default."""
        numbers = range(len(self.row)) if numbers is None else numbers
        return tuple(type_of(self.row[number]) for number in numbers)

    def serializer(self, numbers: Iterable[int] | None = None) -> TypeSerializerSnapshot:
        """The serializer of rows of columns, of all by default."""
        return row_data(self.types(numbers))

    def struct(self, numbers: Iterable[int] | None = None) -> Column:
        """A row of columns, of all by default."""
        numbers = range(len(self.row)) if numbers is None else numbers
        return row_struct([F.col(name_of(number)) for number in numbers], self.types(numbers))

    def expect_order(self, why: str) -> None:
        """Raises ``ValueError`` if the order of arrival is not known."""
        if not self.is_ordered:
            raise ValueError(f"{why}: name the columns that order the rows, by order_by=…")

    def expect_inserts(self, what: str) -> None:
        """Raises ``ValueError`` for a changelog."""
        if self.is_changelog:
            raise ValueError(f"{what} reads no changelog in this plan: leave row_kind out")

    def surviving(self) -> Self:
        """The rows that were not taken back; equal rows come as often as they remain.

        Of equal rows, the last ones remain.
        """
        if not self.is_changelog:
            return self
        grouping = Grouping.of(self.data, self.names(range(len(self.row))))
        same = [F.col(name) for name in grouping.columns]
        left = F.sum(SIGN).over(Window.partitionBy(*same))
        latest = Window.partitionBy(*same, SIGN).orderBy(F.desc(ORDER))
        data = (
            grouping.data.withColumn("left", left)
            .withColumn("place", F.row_number().over(latest))
            .where((F.col(SIGN) > 0) & (F.col("place") <= F.col("left")))
        )
        return replace(self, data=data.drop("left", "place", *grouping.added), is_changelog=False)

    def latest(self, key: Iterable[int], what: str) -> Self:
        """The row of each key that came last, unless it was taken back.

        Without an order a key has one row only, or ``write`` fails with a ``DuplicateKeyError``.
        """
        if not self.is_ordered:
            if self.is_changelog:
                self.expect_order(f"{what} keeps the last row of each key")
            return self
        # An update comes as two rows, perhaps with the same place.
        of_key = Grouping.of(self.data, self.names(key))
        data = of_key.placed("place", F.desc(ORDER), F.desc(SIGN))
        data = data.where((F.col("place") == 1) & (F.col(SIGN) > 0))
        return replace(self, data=data.drop("place"), is_changelog=False)


def name_of(number: int) -> str:
    """Name of a column in the data of ``HistoryRows``."""
    return f"c{number}"


def in_order(place: Column | str, row: Column) -> Column:
    """The rows of a group, as an array in the order of their places."""
    placed = F.struct(place, row.alias("row"))
    return F.transform(F.array_sort(F.collect_list(placed)), lambda pair: pair["row"])


def type_of(column: NamedColumn) -> LogicalType:
    """The SQL type of a column, or ``PlanError``."""
    if column.type is None:
        raise PlanError(
            f"column {column.name!r} has a type that can't be written: only types of one value,"
            " arrays, maps and rows can. Take the operator's state from a job that has run"
        )
    return column.type


def row_struct(columns: Sequence[Column], types: Sequence[LogicalType]) -> Column:
    """A row of these columns, which are cast to their types."""
    names = tuple(f"f{number}" for number in range(len(columns)))
    fields = [column.alias(name) for column, name in zip(columns, names, strict=True)]
    target = spark_type(BinaryRow(names, tuple(types)))
    return F.struct(*fields, F.lit(_INSERT).alias(ROW_KIND)).cast(target)


def sql_spark_type(logical_type: LogicalType) -> DataType:
    """Spark's type of a column with values of a SQL type."""
    data_type: DataType = spark_type(BinaryRow(("value",), (logical_type,)))["value"].dataType  # type: ignore[index]
    return data_type


def _fitted(given: DataFrame, column: NamedColumn) -> Column:
    logical_type = type_of(column)
    wanted = sql_spark_type(logical_type)
    if logical_type.kind == "PROCTIME":
        return F.lit(None).cast(wanted)
    known, data_type = column_of(given, column.name)
    return fitting(known, data_type, wanted, f"column {column.name!r}", "the operator")


def _sign(given: DataFrame, row_kind: str, operator: str) -> Column:
    kind, _ = column_of(given, row_kind)
    # Spark puts its own words in front. On a line of its own, typed_errors finds the message.
    before = (
        f"\n{UnencodableError.__module__}.{UnencodableError.__qualname__}: operator {operator!r}:"
        f" column {row_kind!r} has "
    )
    value = F.coalesce(F.concat(F.lit("'"), kind.cast("string"), F.lit("'")), F.lit("null"))
    after = F.lit(f", which is no kind of a row: expected {', '.join(ROW_KINDS)}\n")
    return (
        F.when(kind.isin(_INSERT, _UPDATE_AFTER), 1)
        .when(kind.isin(_UPDATE_BEFORE, _DELETE), -1)
        .otherwise(F.raise_error(F.concat(F.lit(before), value, after)).cast("int"))
    )


_FIRST_WITH_EQUALS = (2, 1)


@dataclass(frozen=True)
class NodeHistory:
    """A node and the rows of its inputs; without ``has_rows`` only the types of its state are asked for."""

    plan: CompiledPlan
    node: PlanNode
    inputs: tuple[HistoryRows, ...]
    watermark: datetime | None = None
    has_rows: bool = True

    @property
    def rows(self) -> HistoryRows:
        """The rows of the only input."""
        return self.inputs[0]

    @property
    def comparison(self) -> str:
        """The comparison of structured types in the release of the plan."""
        release = tuple(map(int, re.findall(r"\d+", self.plan.flink_version)[:2]))
        return "NONE" if release < _FIRST_WITH_EQUALS else "EQUALS"

    @property
    def names(self) -> NodeRows:
        """The node with the columns of its inputs."""
        return NodeRows(self.node, tuple(rows.row for rows in self.inputs))

    def at(self, *path: str) -> Any:
        """The value at a path of names in the node's JSON; None if there is none."""
        return self.node.at(*path)

    def numbers(self, *path: str) -> tuple[int, ...]:
        """Numbers of columns at a path."""
        numbers = self.at(*path)
        return tuple(numbers) if isinstance(numbers, list) else ()

    def watermark_ms(self) -> int:
        """The watermark in ms, or ``ValueError``."""
        if self.watermark is None:
            raise ValueError(
                f"{self.node.description}: event time decides what is still open: give watermark=…"
            )
        return int(self.watermark.replace(tzinfo=UTC).timestamp() * 1000)

    def expect_no_ttl(self) -> None:
        """Raises ``PlanError`` if values live for a time only."""
        for state in self.node.states:
            if not state.ttl.startswith("0 "):
                raise PlanError(
                    f"{self.node.description}: its state lives {state.ttl}, and history doesn't"
                    " tell when it was used. Compile the plan without table.exec.state.ttl"
                )


_WATERMARK = "watermark"
_USER_TIMERS, _WINDOW_TIMERS = "user-timers", "window-timers"


@dataclass(frozen=True)
class StateColumns:
    """Rows of keys with their states: for each state its column, kind and serializer."""

    data: DataFrame
    states: tuple[tuple[str, KeyedStateType, TypeSerializerSnapshot], ...]
    timers: str | None = None


@dataclass(frozen=True)
class NodeState:
    """The state of an operator that will be written.

    Attributes:
        key: Names of the columns of its key, in the data of each ``StateColumns``.
        types: Their SQL types.
        columns: The states. The column of a state has its name.
        has_windows: Whether values belong to windows, whose ends are in the column ``namespace``.
        watermark: The watermark in ms, if the operator keeps it.
        has_timers: Whether the operator registers a timer service.
    """

    key: tuple[str, ...]
    types: tuple[LogicalType, ...]
    columns: tuple[StateColumns, ...]
    has_windows: bool = False
    watermark: int | None = None
    has_timers: bool = field(default=True, kw_only=True)

    def plan(self) -> OperatorPlan:
        """The files' contents."""
        key = Key((KEY,), row_data(self.types))
        rows = [self._rows(columns, key) for columns in self.columns]
        infos = {state.name: state.info for of_states in rows for state in of_states.states}
        keyed = KeyedPlan(key.snapshot, tuple(infos.values()), tuple(rows))
        return OperatorPlan(keyed, () if self.watermark is None else (self._watermark(),))

    def _watermark(self) -> OperatorRows:
        single = self.columns[0].data.sparkSession.range(1)
        state = NewOperatorState(_WATERMARK, DistributionMode.UNION, constructed.long())
        data = single.select(F.lit(self.watermark).cast("bigint").alias(_WATERMARK))
        return OperatorRows.of(data, state, (_WATERMARK,))

    def _rows(self, columns: StateColumns, key: Key) -> KeyedRows:
        void = constructed.void_namespace()
        window = constructed.long() if self.has_windows else void
        states = [
            NewState(StateMetaInfo.of_keys(name, kind, window, serializer), name)
            for name, kind, serializer in columns.states
        ]
        if self.has_timers:
            service = _WINDOW_TIMERS if self.has_windows else _USER_TIMERS
            states += [
                NewState.of_timers(
                    service,
                    domain,
                    columns.timers if domain == "event" else None,
                    key.snapshot,
                    window,
                )
                for domain in ("processing", "event")
            ]
        struct = row_struct([F.col(name) for name in self.key], self.types)
        data = columns.data.withColumn(KEY, struct)
        namespace = (F.col(NAMESPACE), window) if self.has_windows else None
        # Several rows of a key belong to different states; each state has only one by construction.
        return KeyedRows(data, key, tuple(states), namespace, len(self.columns) == 1)


def value_state(
    name: str, serializer: TypeSerializerSnapshot
) -> tuple[str, KeyedStateType, TypeSerializerSnapshot]:
    """A state of one value."""
    return name, KeyedStateType.VALUE, serializer


def map_state(
    name: str, serializer: TypeSerializerSnapshot
) -> tuple[str, KeyedStateType, TypeSerializerSnapshot]:
    """A map state, with the serializer of maps."""
    return name, KeyedStateType.MAP, serializer


def entries(key: Column, value: Column, condition: Column | None = None) -> Column:
    """A map of a group's entries that fulfil a condition; null if there are none."""
    pair = F.struct(key.alias("key"), value.alias("value"))
    kept = pair if condition is None else F.when(condition, pair)
    return F.when(F.count(kept) > 0, F.map_from_entries(F.collect_list(kept)))
