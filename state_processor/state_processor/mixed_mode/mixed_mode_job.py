"""A function over a backlog, and then over the stream that goes on from it, with the same state.

| phase   | rows                             | savepoints                                           |
|---------|----------------------------------|------------------------------------------------------|
| backlog | sorted by key, as a batch        | none before its end                                  |
| switch  |                                  | one, which the stream begins with                    |
| stream  | as they come, in micro-batches   | at the interval, and whenever they are asked for     |

With ``execution.checkpointing.interval-during-backlog`` greater than 0 the backlog runs as a stream
as well, with savepoints at that interval. What is below the directory of a job:

| path                  | is                                                                     |
|-----------------------|------------------------------------------------------------------------|
| ``backlog-<…>``       | what the backlog has left, and in it the savepoint of the switch       |
| ``backlog-as-stream`` | the same, where the backlog runs as a stream                           |
| ``stream``            | Spark's checkpoint of the stream                                       |
| ``savepoints``        | the last savepoint of the interval                                     |

Flink: FLIP-327.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.file_io import Location
from state_processor.jobs.function_rows import FunctionRows
from state_processor.jobs.per_key import row_types
from state_processor.keyed_transformation import KeyedStateTransformation
from state_processor.mixed_mode.backlog import Backlog
from state_processor.mixed_mode.backlog_result import BacklogResult
from state_processor.mixed_mode.backlog_stream import BacklogStream
from state_processor.mixed_mode.initial_state import initial_state
from state_processor.mixed_mode.outputs import BACKLOG_BATCH, no_output
from state_processor.mixed_mode.progress import STREAM, BatchProgress
from state_processor.mixed_mode.running_stream import RunningStream
from state_processor.mixed_mode.stream_function import OperatorSettings, StreamFunction
from state_processor.process_functions import KeyedProcessFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from state_processor.execution_options import ExecutionOptions
    from state_processor.jobs.sorted_inputs import KeyedInput
    from state_processor.mixed_mode.stream_query import Output
    from state_processor.process_transformation import KeyedRowsTransformation
    from state_processor.spark_savepoint import SparkSavepoint

_ESCAPED = re.compile(r"[\s\"#%<>?\\^`{|}]")


@dataclass(frozen=True)
class MixedModeJob:
    """A function, its backlog and its stream; nothing runs before ``start``.

    Attributes:
        function: The function.
        backlog: The rows of the backlog.
        stream: Those of the stream.
        settings: What their operator is.
        directory: Where the job keeps what it needs to go on after a failure.
        options: How the function is run.
    """

    function: KeyedProcessFunction
    backlog: KeyedInput
    stream: KeyedInput
    settings: OperatorSettings
    directory: str
    options: ExecutionOptions

    @classmethod
    def of(
        cls,
        backlog: KeyedStateTransformation | KeyedRowsTransformation,
        stream: KeyedStateTransformation | KeyedRowsTransformation,
        function: KeyedProcessFunction,
        settings: OperatorSettings,
        directory: str,
    ) -> Self:
        """A job.

        Args:
            backlog: Rows of a bounded DataFrame, with keys and timestamps. Options of
                ``with_options`` apply to the whole job.
            stream: Rows of a streaming DataFrame, with the same columns and keys.
            function: Runs over both, and is not changed by that.
            settings: The uid of the operator, and the columns of the rows that it gives.
            directory: A directory of the job alone: a local path, or a URI that Spark and pyarrow
                both know.

        Raises:
            TypeError: The function is of another kind.
            ValueError: The backlog is a stream, or the stream is none; one lacks timestamps, or has
                several inputs, or given key groups; columns differ; the schema has no columns;
                a state of the function has namespaces; or a directory's name has a space, or another
                character that a URI escapes.
            UnstableKeyError: Equal keys may have different bytes.
            ColumnTypeError: The keys of backlog and stream are of different types.

        Example:
            >>> history = OperatorTransformation.bootstrap_with(past).assign_timestamps("at")
            >>> live = OperatorTransformation.bootstrap_with(topic).assign_timestamps("at")
            >>> job = MixedModeJob.of(
            ...     history.key_by("account"),
            ...     live.key_by("account"),
            ...     Totals(),
            ...     OperatorSettings("totals", "account BIGINT, total DOUBLE"),
            ...     "/jobs/totals",
            ... )
        """
        rows, streamed = (
            one.rows if isinstance(one, KeyedStateTransformation) else one
            for one in (backlog, stream)
        )
        if not isinstance(function, KeyedProcessFunction):
            raise TypeError(f"{type(function).__name__} is no KeyedProcessFunction")
        _expect_alike(rows, streamed)
        row_types(settings.schema, function)
        (past,), (live,) = rows.inputs, streamed.inputs
        StreamFunction(function, live, settings).check()
        _expect_plain(directory)
        return cls(function, past, live, settings, directory.rstrip("/"), rows.options)

    def start(
        self,
        output: Output = no_output,
        on_progress: Callable[[BatchProgress], object] | None = None,
    ) -> RunningStream:
        """Runs the backlog, unless that is done already, and starts the stream, or goes on with it.

        It returns when the backlog is over. A backlog in batch mode that fails, or is killed, begins
        anew the next time; a stream goes on after the last batch that was committed.

        Args:
            output: Takes the rows of a batch and its number, as ``outputs`` says; by default they
                are dropped.
            on_progress: Is told of each batch, from another thread; e.g. ``print_progress``.

        Returns:
            The stream, which runs until it is stopped.

        Raises:
            SavepointError: What the backlog finds wrong.
            StreamingQueryException: What a backlog in stream mode finds wrong.

        Example:
            >>> running = job.start(ParquetOutput("/jobs/totals/rows"), print_progress)
            >>> running.take_savepoint("/jobs/totals/cut-over")
        """
        savepoint, watermark = self._switch(output, on_progress)
        function = StreamFunction(self.function, self.stream, self.settings)
        initial = initial_state(savepoint.spark, savepoint, self.settings.uid, function.state_names)
        query = function.query(f"{self.directory}/stream", initial, watermark, is_backlog=False)
        return RunningStream.start(
            function,
            query,
            output,
            STREAM,
            savepoints=f"{self.directory}/savepoints",
            interval_ms=self.options.checkpoint_interval_ms,
            tell=on_progress,
        )

    def _switch(
        self, output: Output, on_progress: Callable[[BatchProgress], object] | None
    ) -> tuple[SparkSavepoint, int]:
        """The savepoint of the switch, and the watermark at it, in ms."""
        if self.options.is_mixed:
            return self._backlog(output)
        function = StreamFunction(self.function, self.backlog, self.settings)
        directory = f"{self.directory}/backlog-as-stream"
        backlog = BacklogStream(function, directory, self.options.backlog_interval_ms)
        return backlog.run(output, on_progress)

    def _backlog(self, output: Output) -> tuple[SparkSavepoint, int]:
        settings, spark = self.settings, self.backlog.data.sparkSession
        result = BacklogResult.find(spark, self.directory, settings.uid)
        if result is None:
            rows = FunctionRows.of((self.backlog,), self.function, self.options, keeps_state=True)
            backlog = Backlog(rows, settings.schema, settings.out_of_orderness_ms)
            result = backlog.run(
                self.directory,
                settings.uid,
                parallelism=settings.parallelism,
                max_parallelism=settings.max_parallelism,
            )
        if not self._has_begun():
            output(result.output, BACKLOG_BATCH)
        return result.savepoint, result.watermark

    def _has_begun(self) -> bool:
        """Whether the stream has had a batch, so that the rows of the backlog were given away."""
        first = f"{self.directory}/stream/checkpoint/offsets/0"
        return Location.of(first).file_size() is not None


def _expect_alike(backlog: KeyedRowsTransformation, stream: KeyedRowsTransformation) -> None:
    """Raises ``ValueError`` if a stream cannot go on from a backlog."""
    if len(backlog.inputs) > 1 or len(stream.inputs) > 1:
        raise ValueError("a job of backlog and stream has one input: make a union of several first")
    (one,), (other,) = backlog.inputs, stream.inputs
    if one.data.isStreaming or not other.data.isStreaming:
        raise ValueError("the backlog is to be a bounded DataFrame, the stream a streaming one")
    if one.timestamps is None or other.timestamps is None:
        raise ValueError("backlog and stream need timestamps: add assign_timestamps('at')")
    types = [
        [(field.name, field.dataType.simpleString()) for field in found.data.schema]
        for found in (one, other)
    ]
    if types[0] != types[1]:
        raise ValueError(
            f"the backlog has columns {_columns(types[0])}, the stream {_columns(types[1])}:"
            " select the same ones, in the same order"
        )
    one.check()
    other.check()
    if one.key.key_groups is not None or other.key.key_groups is not None:
        raise ValueError("a stream computes the key groups: give key_by hash_code instead")
    if one.key.snapshot != other.key.snapshot:
        raise ValueError("the keys of backlog and stream are of different types: give key_type")


def _expect_plain(directory: str) -> None:
    """Raises ``ValueError`` if Spark cannot read its state store there."""
    # Its source escapes the path as that of a URI, and then finds nothing.
    if found := _ESCAPED.search(directory):
        raise ValueError(
            f"directory {directory!r} has {found[0]!r} in its name, which Spark's state store cannot"
            " be read with: name another one"
        )


def _columns(types: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {found}" for name, found in types)
