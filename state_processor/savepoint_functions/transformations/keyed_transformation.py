"""Rows by key: for a function, as keyed state, or aggregated in the task of their key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, overload

from pyspark.sql import functions as F

from savepoint_database.types import Types, expect_type
from savepoint_formats.errors import ColumnNotFoundError
from savepoint_functions.aggregating.accumulators import Reduced
from savepoint_functions.aggregating.aggregated_rows import AggregatedRows
from savepoint_functions.aggregating.bound_aggregate import BoundAggregate, accumulated
from savepoint_functions.functions.sorted_inputs import KeyedInput
from savepoint_functions.transformations.process_transformation import (
    KeyedFunctionVerbs,
    KeyedRowsTransformation,
)
from savepoint_spark.bootstrapping import KeyedColumns, columns_of_key, window_column
from savepoint_spark.columns import arrow_type_of, column_of, natural_type
from savepoint_spark.writing import Key, PlannedTransformation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_functions.aggregating.aggregates import Aggregate
    from savepoint_functions.transformations.windowed_rows import WindowedRows
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from savepoint_spark.bootstrapping import WindowedStateTransformation
    from savepoint_spark.writing import OperatorPlan


@dataclass(frozen=True, repr=False)
class KeyedAggregation(PlannedTransformation):
    """Aggregates of rows by key; as an operator, keyed state of the accumulators.

    Attributes:
        aggregated: The rows, and the aggregates.
        encoded: Rows with values, or with accumulators.
        is_partial: Whether they have accumulators.
        is_combined: Whether each key has only one accumulator, which is no longer encoded.
    """

    aggregated: AggregatedRows
    encoded: DataFrame
    is_partial: bool
    is_combined: bool = False

    @classmethod
    def grouped(cls, aggregated: AggregatedRows) -> Self:
        """Rows aggregated by Spark's own ``groupBy``; see ``AggregatedRows.is_grouped``."""
        rows = aggregated.grouped()
        return cls(aggregated, rows, is_partial=True, is_combined=True)

    def __repr__(self) -> str:
        return f"KeyedAggregation({self.encoded.columns})"

    def rows(self) -> DataFrame:
        """A row for each key: the columns of the key, the window, and a column for each result.

        Example:
            >>> rows.local_key_by("word").aggregate(count=Count()).key_by("word").rows().show()
        """
        return self.aggregated.output(self._combined(), has_results=True)

    def accumulators(self) -> DataFrame:
        """Rows like ``rows``, with the accumulators of state instead of results.

        Example:
            >>> combined.accumulators().printSchema()
        """
        return self.aggregated.output(self._combined(), has_results=False)

    def key_by(self, *columns: str, key_type: TypeInformation | None = None) -> Self:
        """The accumulators, combined under fewer columns of the key.

        Arguments and errors are those of ``LocalAggregation.key_by``.

        Example:
            >>> rows.key_by("shop", "article").aggregate(cents=Sum("cents")).key_by("shop").rows()
        """
        key = fewer_columns(self.aggregated, columns, key_type)
        if key == self.aggregated.key:
            return self
        fewer = replace(self.aggregated, key=key)
        if self.is_combined and not fewer.is_merging and fewer.is_grouped:
            return self.grouped(fewer)
        rows, encoded = self.aggregated.rekeyed(self._combined(), key)
        return type(self)(rows, encoded, is_partial=True)

    @property
    def keyed(self) -> KeyedStateTransformation:
        """The accumulators by key, as rows for state, windows or a function."""
        return KeyedStateTransformation(self.accumulators(), self.aggregated.key)

    def with_state(
        self, descriptor: StateDescriptor, column: str | None = None
    ) -> KeyedStateTransformation:
        """A column of accumulators as a state; see ``KeyedStateTransformation.with_state``.

        Example:
            >>> counts = ReducingStateDescriptor("counts", Types.LONG())
            >>> rows.local_key_by("word").aggregate(n=Count()).key_by("word").with_state(counts, "n")
        """
        return self.keyed.with_state(descriptor, column)

    def window(
        self,
        column: str,
        *,
        is_merging: bool | None = None,
        is_processing_time: bool = False,
        allowed_lateness_ms: int = 0,
    ) -> WindowedStateTransformation:
        """The accumulators of windows as window state.

        Arguments and errors are those of ``KeyedStateTransformation.window``. By default windows
        merge if rows were aggregated by merging windows.

        Example:
            >>> combined = rows.local_key_by("shop").window("hour").aggregate(n=Count()).key_by("shop")
            >>> combined.window("hour").reduce(Types.LONG(), "n")
        """
        return self.keyed.window(
            column,
            is_merging=self.aggregated.is_merging if is_merging is None else is_merging,
            is_processing_time=is_processing_time,
            allowed_lateness_ms=allowed_lateness_ms,
        )

    def plan(self) -> OperatorPlan:
        """The plan of a state for each aggregate.

        Raises:
            ColumnTypeError: An accumulator may be of several types in Flink.
            ValueError: Rows have windows, or were reduced as a whole.
        """
        if self.aggregated.windows is not None:
            raise ValueError(
                "the state of windows is written as .window(…).reduce(…) or .aggregate(…)"
            )
        keyed = self.keyed
        for aggregate in self.aggregated.aggregates:
            keyed = keyed.with_state(aggregate.state(), aggregate.name)
        return keyed.plan()

    def _combined(self) -> DataFrame:
        if self.is_combined:
            return self.encoded
        return self.aggregated.combined(self.encoded, is_partial=self.is_partial)


def aggregated(
    rows: KeyedInput,
    aggregates: tuple[BoundAggregate, ...],
    window: str | None,
    *,
    is_merging: bool = False,
) -> AggregatedRows:
    """Rows and aggregates. Raises the errors of ``KeyedInput.check``."""
    rows.check()
    windows = None if window is None else (window, window_column(rows.data, window))
    # The bytes of keys decide on their task; given key groups belong to rows that are gone.
    key = replace(rows.key, key_groups=None)
    return AggregatedRows(rows.data, key, aggregates, windows, is_merging)


def bound(
    rows: KeyedInput, aggregates: Mapping[str, Aggregate], window: str | None = None
) -> tuple[BoundAggregate, ...]:
    """The aggregates of these rows. Raises the errors of ``LocalKeyedTransformation.aggregate``."""
    taken = [name for name in aggregates if name in (*rows.key.columns, window)]
    if taken or not aggregates:
        reason = f"{taken[0]!r} is a column of the key" if taken else "there are no aggregates"
        raise ValueError(f"{reason}: name results, e.g. aggregate(total=Sum('amount'))")
    for name, aggregate in aggregates.items():
        if not hasattr(aggregate, "bind"):
            raise TypeError(
                f"{name}={aggregate!r} is a {type(aggregate).__name__}, expected an aggregate, e.g."
                f" {name}=Sum('amount')"
            )
    return tuple(aggregate.bind(name, rows.data) for name, aggregate in aggregates.items())


def bound_reduction(
    rows: KeyedInput, function: Callable[[Any, Any], Any]
) -> tuple[BoundAggregate, ...]:
    """A function that reduces whole rows, as an aggregate."""
    names = rows.data.columns
    row = F.struct(*(column_of(rows.data, name)[0].alias(name) for name in names))
    accumulator = Reduced(arrow_type_of(rows.data.schema), function, are_rows=True)
    return (BoundAggregate("row", row, accumulator, accumulated, _no_state, is_row=True),)


def _no_state() -> StateDescriptor:
    raise ValueError(
        "rows that were reduced as a whole have several types in Flink: say which columns become"
        " state, with .key_by(…).with_state(descriptor, column)"
    )


def fewer_columns(
    rows: AggregatedRows, columns: tuple[str, ...], key_type: TypeInformation | None
) -> Key:
    """A key of some of the columns of another one."""
    known = rows.key.columns
    unknown = [name for name in columns if name not in known]
    if unknown or not columns:
        what = f"{unknown[0]!r} is none of the columns" if unknown else "there is no column"
        raise ColumnNotFoundError(
            f"{what} by which rows were aggregated: key_by takes {', '.join(known)}, or some of them"
        )
    if key_type is not None:
        columns = columns_of_key(columns, expect_type(key_type, "key_type"))
    if columns == known and (key_type is None or key_type.snapshot == rows.key.snapshot):
        return rows.key
    if key_type is None:
        types = [natural_type(name, column_of(rows.data, name)[1]) for name in columns]
        key_type = types[0] if len(types) == 1 else Types.TUPLE(types)
    return Key(columns, key_type.snapshot)


@dataclass(frozen=True, repr=False)
class KeyedStateTransformation(KeyedColumns, KeyedFunctionVerbs):
    """Rows that become keyed state, by their columns or by a function.

    Attributes:
        timestamps: The column of the rows' timestamps, for functions.
        tie_breaker: The column that orders rows with equal timestamps.
    """

    timestamps: str | None = None
    tie_breaker: str | None = None

    @property
    def rows(self) -> KeyedRowsTransformation:
        """See ``KeyedFunctionVerbs``."""
        return KeyedRowsTransformation((self._input,))

    @property
    def _input(self) -> KeyedInput:
        """The rows for a function. Raises ``ValueError`` if some columns are states already."""
        if self.states:
            names = ", ".join(repr(state.name) for state in self.states)
            raise ValueError(
                f"columns are state {names} already, which a function over the rows would leave out:"
                " let the function make all states, or leave the function out"
            )
        return KeyedInput(self.data, self.key, self.timestamps, self.tie_breaker)

    @overload
    def window(
        self,
        column: str,
        *,
        is_merging: bool = False,
        is_processing_time: bool = False,
        allowed_lateness_ms: int = 0,
    ) -> WindowedStateTransformation: ...

    @overload
    def window(
        self,
        column: WindowAssigner,
        *,
        is_processing_time: bool = False,
        allowed_lateness_ms: int = 0,
    ) -> WindowedRows: ...

    def window(
        self,
        column: str | WindowAssigner,
        *,
        is_merging: bool = False,
        is_processing_time: bool = False,
        allowed_lateness_ms: int = 0,
    ) -> WindowedStateTransformation | WindowedRows:
        """Gives rows windows: of a column, for state, or of an assigner, for a function.

        Arguments and errors are those of ``KeyedColumns.window`` for a column, and of
        ``KeyedRowsTransformation.window`` for an assigner.

        Example:
            >>> keyed.window("hour").reduce(Types.LONG(), "cents")
            >>> keyed.window(TumblingWindows(3_600_000)).reduce(max, Types.LONG(), "cents")
        """
        if isinstance(column, str):
            return KeyedColumns.window(
                self,
                column,
                is_merging=is_merging,
                is_processing_time=is_processing_time,
                allowed_lateness_ms=allowed_lateness_ms,
            )
        return KeyedFunctionVerbs.window(
            self,
            column,
            is_processing_time=is_processing_time,
            allowed_lateness_ms=allowed_lateness_ms,
        )

    def aggregate(self, **aggregates: Aggregate) -> KeyedAggregation:
        """Aggregates of the rows of each key, computed in the task of the key.

        Arguments and errors are those of ``LocalKeyedTransformation.aggregate``, which aggregates
        in each partition first.

        Example:
            >>> keyed.aggregate(count=Count(), total=Sum("amount")).rows().show()
        """
        return self._aggregation(bound(self._input, aggregates))

    def reduce(self, function: Callable[[Any, Any], Any]) -> KeyedAggregation:
        """The rows of each key, reduced to one; see ``LocalKeyedTransformation.reduce``.

        Example:
            >>> keyed.reduce(lambda one, other: max(one, other)).rows().show()
        """
        return self._aggregation(bound_reduction(self._input, function))

    def _aggregation(self, aggregates: tuple[BoundAggregate, ...]) -> KeyedAggregation:
        whole = aggregated(self._input, aggregates, None)
        return KeyedAggregation(whole, whole.encoded(), is_partial=False)
