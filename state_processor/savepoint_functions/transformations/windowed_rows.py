"""Rows in windows, and functions over the contents of a window.

``key_by(…).window(assigner)`` begins them. They run like any function, for rows, state, or both,
and their state is that of Flink's window operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql.types import LongType

from savepoint_formats.errors import ColumnTypeError
from savepoint_functions.windows.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger
from savepoint_functions.windows.window_contents import (
    evicted,
    of_aggregation,
    of_elements,
    of_reduction,
)
from savepoint_functions.windows.window_functions import ProcessWindowFunction, ResultRows
from savepoint_functions.windows.window_operator import RowTimes, Windowing, WindowOperator
from savepoint_spark.columns import column_of, fits

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import AggregateFunction, TypeInformation
    from savepoint_functions.functions.outputs import OutputTag
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.transformations.function_result import (
        FunctionResult,
        FunctionStateTransformation,
    )
    from savepoint_functions.transformations.process_transformation import KeyedRowsTransformation
    from savepoint_functions.windows.evictors import Evictor
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from savepoint_functions.windows.window_contents import WindowContents


@dataclass(frozen=True, repr=False)
class WindowedRows:
    """Keyed rows in windows, for a function.

    Attributes:
        keyed: The rows, and the execution options.
        windowing: The assigner and trigger of the windows.
        evicting: Removes elements when a window fires; None for none.
    """

    keyed: KeyedRowsTransformation
    windowing: Windowing
    evicting: Evictor | None = None

    @classmethod
    def of(
        cls,
        keyed: KeyedRowsTransformation,
        assigner: WindowAssigner,
        allowed_lateness_ms: int,
        *,
        is_processing_time: bool,
    ) -> Self:
        """Rows in windows; see ``KeyedFunctionVerbs.window``."""
        keyed.expect_alone("windows take")
        if allowed_lateness_ms < 0:
            raise ValueError(f"allowed_lateness_ms={allowed_lateness_ms}, expected 0 or more")
        trigger = ProcessingTimeTrigger() if is_processing_time else EventTimeTrigger()
        windowing = Windowing(assigner, trigger, is_processing_time, allowed_lateness_ms)
        return cls(keyed, windowing)

    @property
    def rows(self) -> KeyedInput:
        """The rows."""
        return self.keyed.inputs[0]

    def __repr__(self) -> str:
        return f"WindowedRows(key {list(self.rows.key.columns)}, {self.windowing.assigner})"

    def trigger(self, trigger: Trigger) -> Self:
        """Another trigger than the one that fires at the end of the window.

        Raises:
            ValueError: Windows merge, and the trigger can't.

        Example:
            >>> keyed.window(TumblingWindows(3_600_000)).trigger(CountTrigger.of(100))
        """
        if self.windowing.assigner.is_merging and not trigger.can_merge():
            raise ValueError(
                f"{type(trigger).__name__} can't merge, but {self.windowing.assigner} does: give it"
                " can_merge and on_merge"
            )
        return self._with(trigger=trigger)

    def evictor(self, evictor: Evictor) -> Self:
        """Removes elements of a window when it fires; until then, the window has all of them.

        Example:
            >>> keyed.window(GlobalWindows()).trigger(CountTrigger.of(10)).evictor(CountEvictor.of(100))
        """
        return replace(self, evicting=evictor)

    def side_output_late_data(self, tag: OutputTag) -> Self:
        """Gives late rows, unchanged, to a side output; without one they are in ``left_out``.

        Example:
            >>> LATE = OutputTag("late", sales.schema)
            >>> keyed.window(TumblingWindows(3_600_000)).side_output_late_data(LATE)
        """
        return self._with(late=tag)

    def bounded_out_of_orderness(self, out_of_orderness_ms: int) -> Self:
        """Puts the watermark this many ms, and 1 ms more, behind the timestamp of each row.

        The watermark of ``run`` is the greatest that it reaches.

        Raises:
            ValueError: It is negative.

        Example:
            >>> keyed.window(SessionWindows(600_000)).bounded_out_of_orderness(5_000)
        """
        if out_of_orderness_ms < 0:
            raise ValueError(f"out_of_orderness_ms={out_of_orderness_ms}, expected 0 or more")
        return self._with(times=RowTimes(out_of_orderness_ms))

    def in_order_of_arrival(self, arrival: str, watermark: str) -> Self:
        """Rows of a key come in the order of arrival, so some of them may be late.

        Args:
            arrival: The column by which rows are sorted: ``BIGINT``, such as an offset.
            watermark: The column of the watermark at the row's arrival, in ms as ``BIGINT``. A task
                fails if it decreases from row to row of a key.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: A column, or that of the timestamps, is not ``BIGINT``.
            ValueError: Rows have no timestamps, or the options say that inputs are not sorted.

        Example:
            >>> before = Window.orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
            >>> at = F.coalesce(F.max("at").over(before) - 5_001, F.lit(-(2**63)))
            >>> rows = OperatorTransformation.bootstrap_with(sales.withColumn("watermark", at))
            >>> keyed = rows.assign_timestamps("at").key_by("shop")
            >>> keyed.window(TumblingWindows(60_000)).in_order_of_arrival("offset", "watermark")
        """
        time = self.rows.timestamps
        if time is None:
            raise ValueError("rows have no timestamps: add assign_timestamps('at')")
        if not self.keyed.options.sorted_inputs:
            raise ValueError(
                "rows that are not sorted have no watermark: leave out in_order_of_arrival, or"
                " execution.sorted-inputs.enabled=false"
            )
        for name in (arrival, watermark, time):
            data_type = column_of(self.rows.data, name)[1]
            if not fits(data_type, LongType()):
                raise ColumnTypeError(
                    f"column {name!r} is {data_type.simpleString()}, expected bigint"
                )
        times = RowTimes(columns=(self._place(time), self._place(watermark)))
        keyed = replace(self.keyed, inputs=(replace(self.rows, timestamps=arrival),))
        return replace(self, keyed=keyed, windowing=replace(self.windowing, times=times))

    def process(
        self,
        function: ProcessWindowFunction,
        element_type: TypeInformation,
        column: str | None = None,
    ) -> WindowFunctionRows:
        """A function that sees all elements of a window.

        Args:
            function: The function.
            element_type: The type of the elements in Flink.
            column: The column of the elements; by default whole rows.

        Raises:
            ColumnNotFoundError: There is no such column.
            ValueError: No trigger fires the window.

        Example:
            >>> keyed.window(TumblingWindows(3_600_000)).process(Counts(), Types.LONG(), "cents")
        """
        return self._function(of_elements(element_type), function, element_type, column)

    def reduce(
        self,
        function: Callable[[Any, Any], Any],
        element_type: TypeInformation,
        column: str | None = None,
        window_function: ProcessWindowFunction | None = None,
    ) -> WindowFunctionRows:
        """Reduces the elements of a window to one, by a function of two elements.

        Args:
            function: The function.
            element_type: The type of the elements in Flink.
            column: The column of the elements; by default whole rows.
            window_function: Makes rows of the one element; by default the element is the row, or
                its only column.

        Raises:
            ColumnNotFoundError: There is no such column.
            ValueError: No trigger fires the window.

        Example:
            >>> keyed.window(TumblingWindows(3_600_000)).reduce(max, Types.LONG(), "cents")
        """
        contents = of_reduction(function, element_type)
        return self._function(contents, window_function or ResultRows(), element_type, column)

    def aggregate(
        self,
        function: AggregateFunction,
        accumulator_type: TypeInformation,
        column: str | None = None,
        window_function: ProcessWindowFunction | None = None,
        element_type: TypeInformation | None = None,
    ) -> WindowFunctionRows:
        """Collects the elements of a window in an accumulator.

        Arguments are those of ``reduce``; ``element_type`` is for windows with an evictor, which keep
        the elements.

        Raises:
            ColumnNotFoundError: There is no such column.
            ValueError: No trigger fires the window, or an evictor lacks the type of the elements.

        Example:
            >>> keyed.window(SlidingWindows(3_600_000, 60_000)).aggregate(Mean(), MEAN, "cents")
        """
        contents = of_aggregation(function, accumulator_type)
        return self._function(contents, window_function or ResultRows(), element_type, column)

    def _function(
        self,
        contents: WindowContents,
        function: ProcessWindowFunction,
        element_type: TypeInformation | None,
        column: str | None,
    ) -> WindowFunctionRows:
        windowing = self.windowing
        if not windowing.assigner.has_time and isinstance(
            windowing.trigger, EventTimeTrigger | ProcessingTimeTrigger
        ):
            raise ValueError(
                f"{windowing.assigner} never ends: say when it fires, with .trigger(…)"
            )
        if windowing.assigner.is_merging and function.window_states:
            raise ValueError(
                f"{type(function).__name__} has window_states, which windows that merge can't have:"
                " use global_states"
            )
        if self.evicting is not None:
            if element_type is None:
                raise ValueError("a window with an evictor keeps its elements: give element_type")
            contents = evicted(contents, self.evicting, element_type)
        if column is not None:
            windowing = replace(windowing, element=self._place(column))
        return WindowFunctionRows(self.keyed, WindowOperator(windowing, contents, function))

    def _place(self, column: str) -> int:
        column_of(self.rows.data, column)
        return self.rows.fields.index(column)

    def _with(self, **changes: Any) -> Self:
        return replace(self, windowing=replace(self.windowing, **changes))


@dataclass(frozen=True, repr=False)
class WindowFunctionRows:
    """A function over windows, which has not run yet.

    Attributes:
        keyed: The rows, and the execution options.
        operator: The windows, and their function.
    """

    keyed: KeyedRowsTransformation
    operator: WindowOperator

    def __repr__(self) -> str:
        return f"WindowFunctionRows(key {list(self.keyed.inputs[0].key.columns)})"

    def rows(self, schema: StructType | str, *, initial: Operator | None = None) -> DataFrame:
        """The rows that windows give; all windows fire at the end, and late rows are dropped.

        Arguments and errors are those of ``KeyedRowsTransformation.process``.

        Example:
            >>> windows.rows("shop STRING, end BIGINT, n INT").show()
        """
        return self.keyed.process(self.operator, schema, initial=initial)

    def run(
        self,
        schema: StructType | str | None = None,
        *,
        initial: Operator | None = None,
        watermark: int | None = None,
        max_parallelism: int | None = None,
    ) -> FunctionResult:
        """The rows that windows give up to a watermark, and the remaining windows as state.

        Without a watermark no window ends, so all of them remain. ``left_out`` of the result has
        the late rows that ``side_output_late_data`` doesn't take.

        Arguments and errors are those of ``KeyedRowsTransformation.run``.

        Example:
            >>> run = windows.run(schema, initial=yesterday.operator("hourly"), watermark=midnight)
            >>> writer = yesterday.with_operator("hourly", run.state)
        """
        return self.keyed.run(
            self.operator.with_left_out(self.keyed.inputs[0].data.schema),
            schema,
            initial=initial,
            watermark=watermark,
            max_parallelism=max_parallelism,
        )

    def transform(self, *, initial: Operator | None = None) -> FunctionStateTransformation:
        """The windows as state of an operator. None ends; rows that elements fire are dropped.

        Arguments and errors are those of ``KeyedRowsTransformation.transform``.

        Example:
            >>> Savepoint.create(spark).with_operator("hourly", windows.transform()).write(path)
        """
        return self.keyed.transform(self.operator, initial=initial)
