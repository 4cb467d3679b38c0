"""Rows by key, for a function, for an aggregation, or as keyed state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from savepoint_functions.functions.sorted_inputs import KeyedInput
from savepoint_functions.transformations.keyed_aggregation import (
    KeyedAggregation,
    aggregated,
    bound,
    bound_reduction,
)
from savepoint_functions.transformations.process_transformation import (
    KeyedFunctionVerbs,
    KeyedRowsTransformation,
)
from savepoint_spark.bootstrapping.keyed_columns import KeyedColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_functions.aggregating.aggregates import Aggregate
    from savepoint_functions.aggregating.bound_aggregate import BoundAggregate
    from savepoint_functions.transformations.windowed_rows import WindowedRows
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from savepoint_spark.bootstrapping.windowed_transformation import WindowedStateTransformation


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
        """Gives rows windows: those of a column, as state, or those of an assigner, for a function.

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
        """Aggregates of the rows of each key, all of them in the task of the key.

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
        return KeyedAggregation(
            whole, whole.encoded(), is_partial=False, keyed_rows=KeyedStateTransformation
        )
