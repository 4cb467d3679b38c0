"""A function over the rows of one stream, or of two: its query, and a savepoint of its state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_rows import FunctionRows
from savepoint_functions.functions.side_outputs import expect_one_output
from savepoint_functions.mixed_mode.initial_state import initial_state
from savepoint_functions.mixed_mode.keyed_processor import StreamTask
from savepoint_functions.mixed_mode.stored_rows import StoredTransformation
from savepoint_functions.mixed_mode.stream_query import StreamQuery
from savepoint_functions.mixed_mode.switch_state import SwitchState
from savepoint_spark.savepoint.planned_operator import expect_parallelism
from savepoint_spark.savepoint.savepoint import Savepoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.mixed_mode.keyed_processor import ProcessFunction
    from savepoint_spark.savepoint.spark_savepoint import SparkSavepoint
    from savepoint_spark.savepoint.written import WrittenSavepoint


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Settings of an operator, besides its function and its rows.

    Attributes:
        uid: Its uid in savepoints.
        schema: The columns of the rows that it gives.
        out_of_orderness_ms: How much later than others a row may come, in ms. The watermark is that much,
            and 1 ms, behind the greatest timestamp.
        parallelism: The number of its subtasks in savepoints.
        max_parallelism: The number of its key groups.

    Raises:
        ValueError: The out-of-orderness is negative; or not 1 <= parallelism <= max parallelism <= 32768.

    Example:
        >>> OperatorSettings("totals", "account BIGINT, total DOUBLE", out_of_orderness_ms=5_000)
    """

    uid: str
    schema: StructType | str
    out_of_orderness_ms: int = 0
    parallelism: int = 1
    max_parallelism: int = 128

    def __post_init__(self) -> None:
        expect_parallelism(self.parallelism, self.max_parallelism)
        if self.out_of_orderness_ms < 0:
            raise ValueError(f"out_of_orderness_ms={self.out_of_orderness_ms}, expected 0 or more")


@dataclass(frozen=True)
class StreamFunction:
    """A function over the rows of one stream, or of two."""

    function: ProcessFunction
    inputs: tuple[KeyedInput, ...]
    settings: OperatorSettings

    @cached_property
    def rows(self) -> FunctionRows:
        """The function over its rows, after ``open`` of a copy has registered its states."""
        return FunctionRows.of(self.inputs, self.function, ExecutionOptions(), keeps_state=True)

    def check(self) -> None:
        """Raises ``ValueError`` if it has state that a stream doesn't keep, or side outputs."""
        expect_one_output(self.function)
        for state in self.rows.states:
            if state.namespace is not None:
                raise ValueError(
                    f"state {state.new.name!r} has namespaces, which a stream does not keep: make"
                    " them keys of a map state"
                )

    @property
    def spark(self) -> SparkSession:
        return self.inputs[0].data.sparkSession

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states that it registers, timers excluded."""
        return tuple(state.new.name for state in self.rows.states if not state.is_timers)

    def backlog_query(self, directory: str) -> StreamQuery:
        """A query over a backlog, whose state begins with nothing; Spark's checkpoint is in the directory."""
        rows = self.rows.task.rows
        task = StreamTask(self.function, rows.key, rows.inputs, is_backlog=True)
        return self._query(task, directory)

    def query(self, directory: str, savepoint: SparkSavepoint, watermark: int) -> StreamQuery:
        """A query over a stream that goes on from the savepoint and watermark (ms) of the switch.

        The directory has Spark's checkpoint and the state of the switch.

        Raises:
            SavepointError: The savepoint or the file system has failed with it.
        """
        rows, uid, names = self.rows.task.rows, self.settings.uid, self.state_names
        switch = SwitchState.of(f"{directory}/switch", savepoint, uid, names, watermark)
        task = StreamTask(self.function, rows.key, rows.inputs, watermark, switch=switch)
        initial = initial_state(self.spark, savepoint, uid, names)
        return replace(self._query(task, directory), initial=initial)

    def _query(self, task: StreamTask, directory: str) -> StreamQuery:
        settings = self.settings
        return StreamQuery(
            task,
            self.inputs,
            settings.out_of_orderness_ms,
            settings.schema,
            directory,
            settings.max_parallelism,
        )

    def write_savepoint(self, keys: DataFrame, path: str) -> WrittenSavepoint:
        """Writes the state after a committed batch, given as ``StreamQuery.keys``, to a new or empty directory.

        Raises:
            SavepointExistsError: A savepoint lies there.
            SavepointError: The file system has failed with it.
        """
        state = StoredTransformation(keys, self.inputs[0].key, self.rows.states)
        settings = self.settings
        writer = Savepoint.create(
            self.spark,
            parallelism=settings.parallelism,
            max_parallelism=settings.max_parallelism,
        )
        return writer.with_operator(settings.uid, state).write(path)
