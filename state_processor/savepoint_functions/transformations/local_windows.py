"""Windows of rows in their partition, whose partial results are merged in the task of the key.

A partition has a window operator of its own, whose event timers follow the watermark of the
partition. It gives a row per key and window, which the window operator of the key takes instead of
elements. The state equals that of an operator without local windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.errors import NotMergeableError
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.sorted_inputs import KeyedInput
from savepoint_functions.transformations.local_state_transformation import local_rows
from savepoint_functions.transformations.process_transformation import KeyedRowsTransformation
from savepoint_functions.transformations.windowed_rows import WindowFunctionRows
from savepoint_functions.windows.triggers import EventTimeTrigger, PurgingTrigger, Trigger
from savepoint_functions.windows.window_assigners import GivenWindows
from savepoint_functions.windows.window_contents import of_aggregation, of_reduction
from savepoint_functions.windows.window_functions import ProcessWindowFunction, ResultRows
from savepoint_functions.windows.window_operator import RowTimes, Windowing, WindowOperator
from savepoint_spark.columns import column_of, spark_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    from savepoint_database.types.descriptors import AggregateFunction
    from savepoint_database.types.types import TypeInformation
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from savepoint_functions.windows.window_contents import WindowContents

_KEY, _START, _END, _WATERMARK, _VALUE = "key", "start", "end", "watermark", "value"


@dataclass(frozen=True, repr=False)
class LocalWindowedRows:
    """Rows in windows, in their partition.

    Attributes:
        rows: The rows.
        assigner: Gives the windows.
    """

    rows: KeyedInput
    assigner: WindowAssigner

    def trigger(self, trigger: Trigger) -> LocalWindowedRows:
        """Refuses triggers that can't be merged across partitions.

        Raises:
            NotMergeableError: It is another trigger than ``EventTimeTrigger``, whatever purges it.
        """
        nested = trigger.nested if isinstance(trigger, PurgingTrigger) else trigger
        if not isinstance(nested, EventTimeTrigger):
            raise NotMergeableError(
                f"{type(nested).__name__} looks at the elements, or the clock, of one partition, and"
                " has no merge across partitions: use EventTimeTrigger, or key_by(…) the rows"
            )
        return self

    def reduce(
        self,
        function: Callable[[Any, Any], Any],
        element_type: TypeInformation,
        column: str | None = None,
        window_function: ProcessWindowFunction | None = None,
    ) -> LocalWindowFunction:
        """One element per window; arguments and errors are those of ``WindowedRows.reduce``.

        Example:
            >>> local = rows.local_key_by("shop").window(TumblingWindows(3_600_000))
            >>> local.reduce(max, Types.LONG(), "cents").merged().rows("cents BIGINT").show()
        """
        contents = of_reduction(function, element_type)
        return self._function(contents, contents, element_type, column, window_function)

    def aggregate(
        self,
        function: AggregateFunction,
        accumulator_type: TypeInformation,
        column: str | None = None,
        window_function: ProcessWindowFunction | None = None,
    ) -> LocalWindowFunction:
        """One accumulator per window; arguments and errors are those of ``WindowedRows.aggregate``."""
        partial = of_aggregation(_Partial(function), accumulator_type)
        merged = of_aggregation(_Merged(function), accumulator_type)
        return self._function(partial, merged, accumulator_type, column, window_function)

    def _function(
        self,
        partial: WindowContents,
        merged: WindowContents,
        partial_type: TypeInformation,
        column: str | None,
        window_function: ProcessWindowFunction | None,
    ) -> LocalWindowFunction:
        element = None
        if column is not None:
            column_of(self.rows.data, column)
            element = self.rows.fields.index(column)
        windowing = Windowing(self.assigner, EventTimeTrigger(), element=element)
        operator = WindowOperator(windowing, partial, _PartialRows())
        return LocalWindowFunction(
            self.rows, operator, partial_type, merged, window_function or ResultRows()
        )


@dataclass(frozen=True, repr=False)
class LocalWindowFunction:
    """A function over windows of partitions, which has not run yet.

    Attributes:
        input: The rows.
        operator: The windows of a partition.
        partial_type: The type of the results of a partition.
        contents: What the window of the key keeps of them.
        function: Makes rows of the merged results.
    """

    input: KeyedInput
    operator: WindowOperator
    partial_type: TypeInformation
    contents: WindowContents
    function: ProcessWindowFunction

    def partial(self) -> DataFrame:
        """The results of partitions: key, start, end, watermark and value; a row per key and window.

        Example:
            >>> local.reduce(max, Types.LONG(), "cents").partial().show()
        """
        longs = [pa.field(name, pa.int64()) for name in (_START, _END, _WATERMARK)]
        key, value = self.input.key.snapshot.layout(), self.partial_type.layout
        fields = [pa.field(_KEY, arrow_type(key)), *longs, pa.field(_VALUE, arrow_type(value))]
        return local_rows(self.input, self.operator, spark_schema(pa.schema(fields)))

    def merged(self) -> WindowFunctionRows:
        """The windows of keys, into which those of all partitions are merged.

        Example:
            >>> run = local.reduce(max, Types.LONG(), "cents").merged().run("cents BIGINT")
        """
        partial = self.partial()
        key = replace(self.input.key, columns=(_KEY,))
        rows = KeyedInput(partial, key, timestamps=_START)
        places = {name: place for place, name in enumerate(partial.columns)}
        assigner = GivenWindows(places[_START], places[_END], self.operator.is_merging)
        times = RowTimes(columns=(places[_START], places[_WATERMARK]))
        windowing = Windowing(assigner, EventTimeTrigger(), times=times, element=places[_VALUE])
        operator = WindowOperator(windowing, self.contents, self.function)
        return WindowFunctionRows(KeyedRowsTransformation((rows,)), operator)


class _PartialRows(ProcessWindowFunction):
    """Gives a row per window; its watermark is that of its first row."""

    def process(self, key: Any, context: Any, elements: list[Any]) -> Iterable[Any]:
        window = context.window()
        return [(key, window.start, window.end, window.start - 1, *elements)]


@dataclass(frozen=True)
class _Partial:
    """An aggregation whose result is the accumulator."""

    function: AggregateFunction

    def create_accumulator(self) -> Any:
        return self.function.create_accumulator()

    def add(self, value: Any, accumulator: Any) -> Any:
        return self.function.add(value, accumulator)

    def merge(self, accumulator: Any, other: Any) -> Any:
        return self.function.merge(accumulator, other)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


class _Merged(_Partial):
    """An aggregation whose values are accumulators."""

    def add(self, value: Any, accumulator: Any) -> Any:
        return self.function.merge(accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return self.function.get_result(accumulator)
