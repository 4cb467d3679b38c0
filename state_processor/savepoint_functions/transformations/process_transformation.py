"""State, or rows, that a function makes of keyed rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_functions.functions.batch_plan import BatchFunctionPlan
from savepoint_functions.functions.broadcast_functions import KeyedBroadcastProcessFunction
from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_calls import expect_kind
from savepoint_functions.functions.function_plan import FunctionPlan
from savepoint_functions.functions.outputs import OUTPUT, Outputs, rows_in
from savepoint_functions.functions.process_functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
)
from savepoint_functions.functions.rows_by_key import ROWS, over_batches
from savepoint_functions.transformations.broadcast_transformation import BroadcastRows
from savepoint_functions.transformations.function_result import (
    FunctionResult,
    FunctionStateTransformation,
)
from savepoint_functions.transformations.windowed_rows import WindowedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import StateDescriptor
    from savepoint_functions.functions.broadcast_run import BroadcastResult
    from savepoint_functions.functions.execution_options import Setting
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.rows_by_key import BatchFunction, KeyBatchFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.windows.window_assigners import WindowAssigner


NOT_CONNECTED = (
    "local keyed rows can't be connected: they stay in the partition of their input, where rows of"
    " another input with the same key need not be; use key_by(…) for both"
)


class KeyedFunctionVerbs(ABC):
    """Verbs of functions over keyed rows, for all classes that have such rows."""

    @property
    @abstractmethod
    def rows(self) -> KeyedRowsTransformation:
        """The rows with their key, for a function; a key may have several rows."""

    def with_options(self, settings: Mapping[str, Setting]) -> KeyedRowsTransformation:
        """The rows with options for the function.

        | option                                 | values                                      |
        |----------------------------------------|---------------------------------------------|
        | execution.sorted-inputs.enabled        | ``false`` for the rows of a key in the      |
        |                                        | order of arrival: partition after partition |
        |                                        | as Spark reads them. Nothing is late        |
        | execution.sorted-inputs.memory         | the greatest size of a batch of sorted rows |
        |                                        | on its way to a backlog's function          |
        | execution.batch-state-backend.enabled  | ``false`` to fire timers that timers        |
        |                                        | register at the end, and none of processing |
        |                                        | time that isn't due; by default with sorted |
        |                                        | inputs ``true``                             |
        | execution.timers-between-rows.enabled  | whether timers fire between the rows of     |
        |                                        | their key; by default only with ``initial`` |
        | execution.checkpointing.interval       | how often a stream has savepoints           |
        | execution.checkpointing.interval-      | how often a backlog has savepoints, as a    |
        | during-backlog                         | stream from its first row; 0, the default,  |
        |                                        | for a batch without any                     |
        | state.backend.type                     | ``hashmap`` for state in memory; or         |
        |                                        | ``rocksdb`` for state on disk, of keys that |
        |                                        | have more than memory                       |

        Raises:
            ValueError: An option is unknown, or has no such value.

        Example:
            >>> keyed.with_options({"state.backend.type": "rocksdb"})
        """
        return replace(self.rows, options=ExecutionOptions.of(settings))

    def connect(self, other: KeyedFunctionVerbs | BroadcastRows) -> KeyedRowsTransformation:
        """The rows, connected with a second input of the same key type, or with broadcast rows.

        A function has one set of options: options that one input was given count for both. Broadcast
        rows take a ``KeyedBroadcastProcessFunction``, which runs over them at once. They come before
        all other rows, also before the timers of ``initial``.

        Raises:
            ValueError: There would be more than two inputs, or both were given different options.
            TypeError: The others are rows neither of ``key_by`` nor of ``broadcast``.

        Example:
            >>> orders.key_by("customer").connect(payments.key_by("customer")).process(fn, schema)
            >>> orders.key_by("customer").connect(rates.broadcast(RATES)).process(convert, schema)
        """
        if not isinstance(other, BroadcastRows | KeyedFunctionVerbs):
            raise TypeError(f"a {type(other).__name__} can't be connected; {NOT_CONNECTED}")
        first = self.rows
        second = first if isinstance(other, BroadcastRows) else other.rows
        if first.is_connected or second.is_connected:
            raise ValueError("a function has two inputs at most: make a union of the others first")
        if isinstance(other, BroadcastRows):
            return replace(first, broadcast=other)
        given = {first.options, second.options} - {ExecutionOptions()}
        if len(given) > 1:
            raise ValueError(
                "two connected inputs have different options, but one function: give them once,"
                " after connect(…)"
            )
        options = next(iter(given), first.options)
        return replace(first, inputs=(*first.inputs, *second.inputs), options=options)

    def window(
        self,
        assigner: WindowAssigner,
        *,
        is_processing_time: bool = False,
        allowed_lateness_ms: int = 0,
    ) -> WindowedRows:
        """The rows in windows, for a function over each.

        Args:
            assigner: ``TumblingWindows``, ``SlidingWindows``, ``SessionWindows`` or
                ``GlobalWindows``.
            is_processing_time: Whether the clock assigns and fires windows; by default, timestamps
                of rows assign them, and the watermark fires them.
            allowed_lateness_ms: How long after its end a window takes late rows, in ms.

        Raises:
            ValueError: Rows are of two inputs, or the lateness is negative.

        Example:
            >>> keyed.window(TumblingWindows(3_600_000)).reduce(max, Types.LONG(), "cents")
        """
        return WindowedRows.of(
            self.rows, assigner, allowed_lateness_ms, is_processing_time=is_processing_time
        )

    def transform(
        self, function: KeyedFunction, *, initial: Operator | None = None
    ) -> FunctionStateTransformation:
        """The state that a function makes; timers do not fire, but become timers of the savepoint.

        Args:
            function: A ``KeyedStateBootstrapFunction``; or a process function, whose rows are
                dropped. For two inputs a ``KeyedCoProcessFunction``, for broadcast rows a
                ``KeyedBroadcastProcessFunction``.
            initial: The operator of a savepoint with whose state the function begins. Keys without
                rows, and states that the function does not register, are copied.

        Raises:
            TypeError: The function is of another kind.
            UnstableKeyError: Equal keys may have different bytes, so rows can't be sorted by them.
            ColumnTypeError: The keys of two inputs are of different types.
            KeyTypeError: The keys of the savepoint are of another type than those of the rows.
            StateTypeError: A state is of another kind or type in the savepoint.

        Example:
            >>> totals = keyed.transform(Totals())
            >>> totals = keyed.transform(Totals(), initial=yesterday.operator("totals"))
        """
        self.rows.expect(function, KeyedStateBootstrapFunction, KeyedProcessFunction)
        rows, broadcast = self.rows.with_function(
            function, Outputs.dropped(), initial, keeps_state=True
        )
        return FunctionStateTransformation(rows, broadcast.elements() if broadcast else ())

    def transform_batches(
        self, function: BatchFunction, *descriptors: StateDescriptor
    ) -> FunctionStateTransformation:
        """The state that a function makes of Arrow tables, each with all rows of many keys.

        Args:
            function: Takes a ``pyarrow.Table`` of the rows, sorted by key and timestamp, and gives
                one with a row per key: a column ``key``, and one named as each state. A key without
                a row has no state.
            descriptors: The states.

        Raises:
            ValueError: There is no state, or there are two inputs.

        Example:
            >>> def counts(rows):
            ...     found = rows.group_by("word", use_threads=False).aggregate([([], "count_all")])
            ...     return found.rename_columns(["key", "count"])
            >>> keyed.transform_batches(counts, ValueStateDescriptor("count", Types.LONG()))
        """
        self.rows.expect_alone("a function over batches takes")
        (rows,) = self.rows.inputs
        over_batch = over_batches(function, [descriptor.name for descriptor in descriptors])
        batches = BatchFunctionPlan.of(rows, over_batch, descriptors, returns_all_keys=False)
        return FunctionStateTransformation(batches)

    def run_batches(
        self,
        function: KeyBatchFunction,
        schema: StructType | str | None,
        *descriptors: StateDescriptor,
        initial: Operator | None = None,
        max_parallelism: int | None = None,
        batch_rows: int = ROWS,
    ) -> FunctionResult:
        """The rows and the state that a function makes of batches of whole keys and their state.

        It is like ``run`` without a call per row. Timers and windows of ``initial`` are copied, and
        no timer fires. Nothing expires: values of a state with TTL are structs of ``timestamp``,
        the last access, and ``value``, as with ``with_times=True``.

        Args:
            function: Takes a ``KeyBatch``, and gives a tuple of two ``pyarrow.Table``: the rows, or
                None; and the new state, with a row for each key of the batch in any order, and with
                column ``key`` and one per state. Nulls clear a state.
            schema: The columns of the rows, as a schema of Spark or as a DDL string; None if the
                function gives none, and then it runs when its state is written.
            descriptors: The states.
            initial: The operator of a savepoint with whose state the function begins. Keys without
                rows, and states that no descriptor names, are copied.
            max_parallelism: As for ``run``.
            batch_rows: A batch ends with the key that brings it to this number of rows, or to 64
                MB. A key is never divided: one with more rows has a batch of its own.

        Returns:
            The rows and the state. If there are rows, Spark keeps both as ``run`` does.

        Raises:
            ValueError: There is no state, or there are two inputs; and the errors of ``transform``.
            SavepointError: A task failed with this error, as when the function left out a column, or
                gave it another type.

        Example:
            >>> run = keyed.run_batches(totals, "account STRING, total BIGINT", TOTAL)
            >>> run = keyed.run_batches(totals, None, TOTAL, initial=yesterday.operator("totals"))
        """
        self.rows.expect_alone("a function over batches takes")
        (rows,) = self.rows.inputs
        batches = BatchFunctionPlan.of(rows, function, descriptors, batch_rows, initial)
        return FunctionResult.of_batches(batches, schema, max_parallelism)

    def process(
        self,
        function: KeyedFunction,
        schema: StructType | str,
        *,
        initial: Operator | None = None,
        out_of_orderness_ms: int = 0,
    ) -> DataFrame:
        """The rows that a function gives; nothing runs before they are used.

        At the end of a key its timers fire, those of event time in the order of their timestamps.
        With ``initial`` and timestamps, timers also fire between rows: each row brings its
        timestamp, less the out-of-orderness, less 1 ms, and timers up to that fire before it.

        Args:
            function: A ``KeyedProcessFunction``; for two inputs a ``KeyedCoProcessFunction``, for
                broadcast rows a ``KeyedBroadcastProcessFunction``.
            schema: The columns of the rows, as a schema of Spark or as a DDL string.
            initial: The operator of a savepoint with whose state the function begins.
            out_of_orderness_ms: How much later than others a row may come, in ms.

        Raises:
            ValueError: The schema has no columns, or the out-of-orderness is negative; and the
                errors of ``transform``.
            EndlessTimersError: Timers register each other without end.

        Example:
            >>> keyed.process(Counts(), "word STRING, count BIGINT").show()
        """
        self.rows.expect(function, KeyedProcessFunction)
        outputs = Outputs.of(schema, function)
        rows, broadcast = self.rows.with_function(
            function, outputs, initial, out_of_orderness_ms, keeps_state=False
        )
        output = rows.output(schema)
        return rows_in(broadcast.table, OUTPUT).unionAll(output) if broadcast else output

    def run(
        self,
        function: KeyedFunction,
        schema: StructType | str | None = None,
        *,
        initial: Operator | None = None,
        watermark: int | None = None,
        max_parallelism: int | None = None,
        out_of_orderness_ms: int = 0,
    ) -> FunctionResult:
        """Runs a function once, and keeps both its rows and its state.

        Args:
            function: As for ``transform``.
            schema: The columns of the rows, as a schema of Spark or as a DDL string; None if the
                function gives none.
            initial: As for ``transform``.
            watermark: The event time in ms that the rows have reached. Timers up to it fire at the
                end of their key, also those of keys without rows, and others become timers of the
                savepoint. With ``initial`` they also fire between rows, as in ``process``. By
                default none fires.
            max_parallelism: The number of key groups of the state's savepoint; by default that of
                ``initial``, or 128.
            out_of_orderness_ms: As for ``process``.

        Returns:
            The rows, the side outputs and the state. Spark keeps them in its directory of
            checkpoints, if the session has one; else each on the disks of two executors.

        Raises:
            ValueError: A schema has no columns, two side outputs have one name, the
                out-of-orderness is negative, or there are a watermark and timers in namespaces,
                which nothing fires; and the errors of ``transform``.
            SavepointError: A task failed with this error.

        Example:
            >>> run = keyed.run(Counts(), "word STRING, count BIGINT")
            >>> run.output.show()
            >>> Savepoint.create(spark).with_operator("counts", run.state).write(path)
        """
        self.rows.expect(function, KeyedStateBootstrapFunction, KeyedProcessFunction)
        outputs = Outputs.of(schema, function)
        rows, broadcast = self.rows.with_function(
            function, outputs, initial, out_of_orderness_ms, keeps_state=True
        )
        key_groups = rows.max_parallelism(max_parallelism)
        return FunctionResult.of(rows, outputs, watermark, key_groups, broadcast)


@dataclass(frozen=True, repr=False)
class KeyedRowsTransformation(KeyedFunctionVerbs):
    """Keyed rows of one or two DataFrames, for a function.

    Attributes:
        inputs: The rows.
        options: The execution options.
        broadcast: The broadcast rows that they are connected with.
    """

    inputs: tuple[KeyedInput, ...]
    options: ExecutionOptions = ExecutionOptions()  # noqa: RUF009  # it is frozen
    broadcast: BroadcastRows | None = None

    def __repr__(self) -> str:
        keys = [list(rows.key.columns) for rows in self.inputs]
        others = "" if self.broadcast is None else f", {self.broadcast}"
        return f"KeyedRowsTransformation(keys {keys}{others})"

    @property
    def rows(self) -> Self:
        """See ``KeyedFunctionVerbs``."""
        return self

    @property
    def is_connected(self) -> bool:
        """Whether it has a second input, or broadcast rows."""
        return len(self.inputs) > 1 or self.broadcast is not None

    def expect_alone(self, what: str) -> None:
        """Raises ``ValueError`` for a second input, or broadcast rows."""
        if self.is_connected:
            raise ValueError(f"{what} the rows of one input")

    def with_function(
        self,
        function: KeyedFunction,
        outputs: Outputs,
        initial: Operator | None,
        out_of_orderness_ms: int = 0,
        *,
        keeps_state: bool,
    ) -> tuple[FunctionPlan, BroadcastResult | None]:
        """The plan of a function over the rows, and what it has made of the broadcast rows."""
        broadcast = None
        if self.broadcast is not None:
            assert isinstance(function, KeyedBroadcastProcessFunction)  # as ``expect`` has seen
            broadcast = self.broadcast.run(function, outputs, initial)
        plan = FunctionPlan.of(
            self.inputs,
            function,
            self.options,
            keeps_state=keeps_state,
            initial=initial,
            broadcast=broadcast.held() if broadcast else None,
            out_of_orderness_ms=out_of_orderness_ms,
        )
        return plan, broadcast

    def expect(self, function: object, *of_one: type) -> None:
        """Raises ``TypeError`` if a function doesn't take these rows."""
        if self.broadcast is not None:
            of_one = (KeyedBroadcastProcessFunction,)
        elif len(self.inputs) > 1:
            of_one = (KeyedCoProcessFunction,)
        expect_kind(function, *of_one)
