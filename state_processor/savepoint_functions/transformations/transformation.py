"""Transformations from DataFrames to an operator's state, with the names of Flink's own writer.

``OperatorTransformation.bootstrap_with(data)`` takes the rows. ``key_by`` and ``with_state`` say
which columns become keys and states. Nothing runs before ``SavepointWriter.write``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from savepoint_functions.functions.operator_function import in_structs, operator_rows
from savepoint_functions.functions.sorted_inputs import KeyedInput, expect_ordered, milliseconds
from savepoint_functions.transformations.broadcast_transformation import (
    BroadcastRows,
    BroadcastTransformation,
)
from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
from savepoint_functions.transformations.local_aggregation import (
    TABLE_SIZE,
    LocalKeyedTransformation,
)
from savepoint_spark.bootstrapping import OperatorStateTransformation, key_of
from savepoint_spark.columns import expect_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import (
        ListStateDescriptor,
        MapStateDescriptor,
        StateDescriptor,
        TypeInformation,
    )
    from savepoint_functions.functions.operator_function import OperatorFunction


@dataclass(frozen=True, repr=False)
class OneInputStateTransformation:
    """A DataFrame for state.

    Attributes:
        data: Its rows.
        timestamps: The column of their timestamps, if they were assigned.
        tie_breaker: The column that orders rows with equal timestamps, if there is one.
    """

    data: DataFrame
    timestamps: str | None = None
    tie_breaker: str | None = None

    def __repr__(self) -> str:
        return f"OneInputStateTransformation({self.data.columns})"

    def __post_init__(self) -> None:
        expect_frame(self.data)

    def assign_timestamps(self, column: str, tie_breaker: str | None = None) -> Self:
        """The rows with timestamps, in whose order a function gets the rows of a key.

        Rows of a key with equal timestamps come in the order of ``tie_breaker``. Without one they
        come in any order, which may differ from run to run.

        Args:
            column: A ``TIMESTAMP``, or ms since the epoch as ``BIGINT``.
            tie_breaker: A column of any type that Spark orders, such as the offset in a topic. A
                stream doesn't use it: its rows come as they arrive.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: It has no timestamps, or Spark does not order the other column.

        Example:
            >>> transformation.assign_timestamps("sold_at").key_by("account").transform(Totals())
        """
        milliseconds(self.data, column)
        if tie_breaker is not None:
            expect_ordered(self.data, tie_breaker)
        return replace(self, timestamps=column, tie_breaker=tie_breaker)

    def key_by(
        self,
        *columns: str,
        key_type: TypeInformation | None = None,
        key_groups: str | None = None,
        hash_code: Callable[[pa.Array], NDArray[np.int32]] | None = None,
    ) -> KeyedStateTransformation:
        """Keyed state; each row belongs to one key.

        Args:
            columns: The column of the key; several are the fields of a tuple.
            key_type: The key's type in the job; by default the most likely type of the column:
                ``BIGINT`` is ``Types.LONG()``, ``STRING`` is ``Types.STRING()``.
            key_groups: A column with the key group of each key, for keys of an existing savepoint
                whose Java hash code can't be computed. The max parallelism must be that of the
                savepoint.
            hash_code: Gives the Java hash codes, as i32, of an Arrow array of keys, for classes
                that have a ``hashCode`` of their own.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit, or may be several types in Flink.

        Example:
            >>> transformation.key_by("account", key_type=Types.INT())
        """
        key = key_of(self.data, columns, key_type, key_groups, hash_code)
        return KeyedStateTransformation(
            self.data, key, timestamps=self.timestamps, tie_breaker=self.tie_breaker
        )

    def local_key_by(
        self,
        *columns: str,
        key_type: TypeInformation | None = None,
        hash_code: Callable[[pa.Array], NDArray[np.int32]] | None = None,
        table_size: int = TABLE_SIZE,
    ) -> LocalKeyedTransformation:
        """Rows by key inside their partitions; nothing is shuffled.

        Args:
            columns: As for ``key_by``.
            key_type: As for ``key_by``.
            hash_code: As for ``key_by``.
            table_size: The bytes of accumulators that a task may hold; with more, it passes them on
                and begins anew.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit, or may be several types in Flink.

        Example:
            >>> partial = rows.local_key_by("word").aggregate(count=Count(), total=Sum("amount"))
            >>> partial.key_by("word").rows().show()
        """
        key = key_of(self.data, columns, key_type, None, hash_code)
        rows = KeyedInput(self.data, key, self.timestamps, self.tie_breaker)
        return LocalKeyedTransformation(rows, table_size)

    def like(
        self, operator: Operator, *, ttl_times: Literal["now"] | None = None
    ) -> KeyedStateTransformation:
        """Keyed state with the types of an operator of an existing savepoint.

        The columns are named as ``read_keyed_state`` and ``read_window_state`` name them: ``key``,
        ``namespace`` for windows, and one for each state. A column ``key_group`` gives the key
        groups of keys whose hash code cannot be computed.

        Args:
            operator: The operator; its max parallelism is not taken over.
            ttl_times: ``now`` takes the time of writing as the last access of values with TTL.
                By default the column has the times, as read with ``with_times=True``.

        Raises:
            StateNotFoundError: A column has the name of no state; the message lists them.
            ColumnTypeError: A column has another type than the state.
            ValueError: A column lacks the times of a state with TTL.

        Example:
            >>> OperatorTransformation.bootstrap_with(totals).like(savepoint.operator("summarize"))
        """
        return KeyedStateTransformation.like(self.data, operator, ttl_times)

    def broadcast(self, *descriptors: MapStateDescriptor) -> BroadcastRows:
        """Broadcast rows: every task of other rows sees their broadcast state.

        Args:
            descriptors: The broadcast states.

        Raises:
            ValueError: There is no descriptor, two have one name, or one lacks a type.

        Example:
            >>> rates = OperatorTransformation.bootstrap_with(rates_df).broadcast(RATES)
        """
        return BroadcastRows.of(self.data, self._timestamps(), descriptors)

    def connect(self, other: BroadcastRows) -> BroadcastTransformation:
        """The rows, without keys, connected with broadcast rows.

        Raises:
            TypeError: The others are not rows of ``broadcast``.

        Example:
            >>> sales = OperatorTransformation.bootstrap_with(sales_df).connect(rates)
            >>> sales.process(Converter(), "id BIGINT, amount DOUBLE").show()
        """
        return BroadcastTransformation.of(self.data, self._timestamps(), other)

    def transform(self, function: OperatorFunction) -> OperatorStateTransformation:
        """The operator state that a function makes of the rows of each partition.

        Args:
            function: A ``StateBootstrapFunction`` for list and union state, or a
                ``BroadcastStateBootstrapFunction``.

        Raises:
            ValueError: The function registers no state, or a descriptor lacks a type.

        Example:
            >>> OperatorTransformation.bootstrap_with(rows).transform(Elements())
        """
        rows = operator_rows(in_structs(self.data, self._timestamps()), function)
        return OperatorStateTransformation(rows)

    def _timestamps(self) -> str | None:
        """The timestamps of rows without keys. Raises ``ValueError`` for a tie breaker."""
        if self.tie_breaker is not None:
            raise ValueError("tie_breaker orders the rows of a key: leave it out, or add key_by")
        return self.timestamps

    def list_state(
        self, descriptor: ListStateDescriptor, column: str | None = None
    ) -> OperatorStateTransformation:
        """Operator list state: an element per row, spread over the subtasks.

        Args:
            descriptor: The name, and the type of the elements.
            column: The column of the elements; by default that of the descriptor's name.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit.

        Example:
            >>> transformation.list_state(ListStateDescriptor("elements", Types.STRING()))
        """
        return OperatorStateTransformation.of_list(self.data, descriptor, column, is_union=False)

    def union_state(
        self, descriptor: ListStateDescriptor, column: str | None = None
    ) -> OperatorStateTransformation:
        """Union list state: an element per row; each subtask gets all elements.

        Arguments and errors are those of ``list_state``.

        Example:
            >>> transformation.union_state(ListStateDescriptor("offsets", Types.LONG()))
        """
        return OperatorStateTransformation.of_list(self.data, descriptor, column, is_union=True)

    def broadcast_state(
        self, descriptor: StateDescriptor, *, key: str = "key", value: str = "value"
    ) -> OperatorStateTransformation:
        """Broadcast state: an entry per row; each subtask has all entries.

        Args:
            descriptor: The name, and the types of keys and values.
            key: The column of the keys.
            value: The column of the values.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit.
            TypeError: The descriptor is not that of a map.

        Example:
            >>> rates = MapStateDescriptor("rates", Types.INT(), Types.DOUBLE())
            >>> transformation.broadcast_state(rates, key="currency", value="rate")
        """
        return OperatorStateTransformation.of_broadcast(self.data, descriptor, key, value)
