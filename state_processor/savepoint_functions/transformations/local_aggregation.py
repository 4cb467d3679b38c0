"""Rows that are aggregated in their partitions, before they are sent to the task of their key.

If half of all rows have one key, one task gets half of the work. Aggregated in each partition
first, such a key has only one row per partition. See ``docs/how-to/aggregate-locally.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

from pyspark.sql import functions as F

from savepoint_functions.transformations.keyed_transformation import (
    KeyedAggregation,
    aggregated,
    bound,
    bound_reduction,
    fewer_columns,
)
from savepoint_functions.transformations.local_state_transformation import (
    SUBTASK_OF_ROWS,
    LocalFunctionTransformation,
    LocalStateTransformation,
    local_results,
)
from savepoint_functions.transformations.process_transformation import (
    NOT_CONNECTED,
    KeyedRowsTransformation,
)
from savepoint_functions.transformations.windowed_rows import WindowedRows
from savepoint_spark.bootstrapping import window_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import TypeInformation
    from savepoint_formats.metadata import OperatorState
    from savepoint_functions.aggregating.aggregated_rows import AggregatedRows
    from savepoint_functions.aggregating.aggregates import Aggregate
    from savepoint_functions.aggregating.bound_aggregate import BoundAggregate
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from savepoint_spark.writing import WriteContext

TABLE_SIZE = 64 << 20


@dataclass(frozen=True, repr=False)
class LocalKeyedTransformation:
    """Rows with keys that stay in their partition.

    Attributes:
        rows: The rows.
        table_size: The bytes of accumulators that a task may hold.
        windows: The column of their windows, if they have any.
        is_merging: Whether windows merge.
    """

    rows: KeyedInput
    table_size: int = TABLE_SIZE
    windows: str | None = None
    is_merging: bool = False

    def __repr__(self) -> str:
        return f"LocalKeyedTransformation(key {list(self.rows.key.columns)})"

    @overload
    def window(self, column: str, *, is_merging: bool = False) -> Self: ...

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
    ) -> Self | WindowedRows:
        """Rows with a window each, next to their key; or rows in windows, for a function over each.

        Functions over windows of a partition give rows, which are keyed and merged like any rows.
        Windows of a column need no function, and are faster.

        Args:
            column: The windows, see ``KeyedStateTransformation.window``; ``assign_windows`` makes
                them. Or an assigner, see ``KeyedRowsTransformation.window``.
            is_merging: Whether windows of a column merge, like session windows: windows of a key
                that overlap, or touch, become one window when they are keyed, as in Flink.
            is_processing_time: As for ``KeyedRowsTransformation.window``, with an assigner.
            allowed_lateness_ms: Likewise.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: It has no windows.
            ValueError: The lateness is negative.

        Example:
            >>> hours = assign_windows(sales, "sold_at", TumblingWindows(3_600_000), "hour")
            >>> rows = OperatorTransformation.bootstrap_with(hours).assign_timestamps("sold_at")
            >>> rows.local_key_by("shop").window("hour").aggregate(cents=Sum("cents"))
            >>> windows = rows.local_key_by("shop").window(TumblingWindows(3_600_000))
            >>> windows.process(Totals(), Types.LONG(), "cents").rows(schema)
        """
        if isinstance(column, str):
            window_column(self.rows.data, column)
            return replace(self, windows=column, is_merging=is_merging)
        return WindowedRows.of(
            LocalRows((self._without_windows(),)),
            column,
            allowed_lateness_ms,
            is_processing_time=is_processing_time,
        )

    def aggregate(self, **aggregates: Aggregate) -> LocalAggregation:
        """Accumulators of the rows of each key in each partition.

        Args:
            aggregates: Aggregates by the column of their results.

        Raises:
            ColumnNotFoundError: A column is missing.
            ColumnTypeError: An aggregate doesn't take the type of a column.
            NotMergeableError: Partial results of an aggregate can't be combined.
            UnstableKeyError: Equal keys may have different bytes.
            ValueError: There are no aggregates, or one has the name of a key's column.

        Example:
            >>> partial = rows.local_key_by("word").aggregate(count=Count(), total=Sum("amount"))
            >>> partial.key_by("word").rows().show()
        """
        return self._aggregated(bound(self.rows, aggregates, self.windows))

    def reduce(self, function: Callable[[Any, Any], Any]) -> LocalAggregation:
        """Rows of each key in each partition, reduced to one.

        Args:
            function: Makes one row of two. It gets named tuples in any order, and gives a tuple, a
                dict or a ``Row`` of the same columns.

        Raises:
            UnstableKeyError: Equal keys may have different bytes.

        Example:
            >>> partial = rows.local_key_by("word").reduce(lambda one, other: max(one, other))
            >>> partial.key_by("word").rows().show()
        """
        return self._aggregated(bound_reduction(self.rows, function))

    def process(self, function: KeyedFunction, schema: StructType | str) -> DataFrame:
        """The rows that a function gives for the sorted rows of each key in each partition.

        Each key of a partition has its own state, and timers fire when the rows of the key have
        ended. The results can be keyed and combined like any rows.

        Arguments and errors are those of ``KeyedRowsTransformation.process``; ``ValueError`` also
        for rows with windows.

        Example:
            >>> partial = rows.local_key_by("word").process(Counts(), "word STRING, count BIGINT")
            >>> OperatorTransformation.bootstrap_with(partial).key_by("word").process(Sums(), schema)
        """
        return local_results(self._without_windows(), function, schema)

    def transform(self, function: KeyedFunction) -> LocalFunctionTransformation:
        """Local keyed state that a function makes of the rows of each key in each partition.

        Arguments and errors are those of ``KeyedRowsTransformation.transform``; ``ValueError`` also
        for rows with windows.

        Example:
            >>> writer.with_operator("counts", rows.local_key_by("word").transform(Counts()))
        """
        return LocalFunctionTransformation.of(self._without_windows(), function)

    def connect(self, other: object) -> NoReturn:  # noqa: ARG002  # it is refused whatever it is
        """Raises ``TypeError``, because rows of another input are in other partitions."""
        raise TypeError(NOT_CONNECTED)

    def _aggregated(self, aggregates: tuple[BoundAggregate, ...]) -> LocalAggregation:
        rows = aggregated(self.rows, aggregates, self.windows, is_merging=self.is_merging)
        return LocalAggregation(rows, self.table_size)

    def _without_windows(self) -> KeyedInput:
        if self.windows is not None:
            raise ValueError(
                "a function has the state of a key, not of a window: aggregate or reduce windows, or"
                " add the window to the columns of the key"
            )
        return self.rows


@dataclass(frozen=True, repr=False)
class LocalRows(KeyedRowsTransformation):
    """Keyed rows that stay in their partition, for a function over windows."""

    def process(
        self,
        function: KeyedFunction,
        schema: StructType | str,
        *,
        initial: Operator | None = None,
        out_of_orderness_ms: int = 0,  # noqa: ARG002  # windows have their own
    ) -> DataFrame:
        """See ``LocalKeyedTransformation.process``."""
        if initial is not None:
            _refuse_state("begin with no state")
        return local_results(self.inputs[0], function, schema)

    def transform(self, *_: Any, **__: Any) -> NoReturn:
        """Raises ``ValueError``, because local keyed state has no windows."""
        _refuse_state("leave no state")

    def run(self, *_: Any, **__: Any) -> NoReturn:
        """Raises ``ValueError``; see ``transform``."""
        _refuse_state("leave no state")


def _refuse_state(what: str) -> NoReturn:
    raise ValueError(
        f"windows of a partition {what}, because local keyed state has no windows: take their"
        " rows(…), and give these key_by(…).window(…), whose state a savepoint takes"
    )


@dataclass(frozen=True, repr=False)
class LocalAggregation:
    """Accumulators of the rows of each partition, one per key; as an operator, local keyed state.

    A subtask gets the partition with its number. If there are more partitions than subtasks, some
    are put together, without a shuffle.

    Attributes:
        partial: The rows, and their aggregates.
        table_size: The bytes of accumulators that a task may hold.
    """

    partial: AggregatedRows
    table_size: int

    def __repr__(self) -> str:
        return "LocalAggregation()"

    def key_by(self, *columns: str, key_type: TypeInformation | None = None) -> KeyedAggregation:
        """The accumulators, sent to the task of their key, and combined there.

        If all aggregates are ``Count``, ``Sum``, ``Avg``, ``Min`` or ``Max``, and keys are whole
        numbers, booleans, strings or bytes, Spark's own ``groupBy`` does all of it. It also
        aggregates partially, with the same accumulators.

        Args:
            columns: All columns of the local key, or some of them.
            key_type: The key's type in the job; by default that of the local key, or the most
                likely type of the columns.

        Raises:
            ColumnNotFoundError: A column is not in the local key.
            ColumnTypeError: Its type does not fit, or may be several types in Flink.

        Example:
            >>> partial.key_by("word").rows().show()
        """
        key = fewer_columns(self.partial, columns, key_type)
        target = replace(self.partial, key=key)
        if target.is_grouped:
            return KeyedAggregation.grouped(target)
        rows, encoded = self.partial, self.partial.partial(self.table_size)
        if key != rows.key:
            rows, encoded = rows.keyed(encoded, key)
        return KeyedAggregation(rows, encoded, is_partial=True)

    def accumulators(self) -> DataFrame:
        """The accumulators as they leave their partitions: the key, the window, a column for each.

        A key has a row per partition, or several if the table of a task was full.

        Example:
            >>> partial.accumulators().groupBy("word").count().show()
        """
        return self.partial.accumulators_in_place(self.partial.partial(self.table_size))

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``.

        Raises:
            ValueError: Rows have windows, or were reduced as a whole.
            ColumnTypeError: An accumulator may be of several types in Flink.
        """
        rows = self.partial
        if rows.windows is not None:
            raise ValueError(
                "local keyed state has no windows: key_by(…) the accumulators, and write these"
            )
        partial = rows.partial(self.table_size, context.parallelism)
        combined = rows.output(rows.combined_in_place(partial, is_partial=True), has_results=False)
        data = combined.withColumn(SUBTASK_OF_ROWS, F.spark_partition_id())
        state = LocalStateTransformation(data, rows.key, SUBTASK_OF_ROWS)
        for aggregate in rows.aggregates:
            state = state.with_state(aggregate.state(), aggregate.name)
        return state.write(context)
