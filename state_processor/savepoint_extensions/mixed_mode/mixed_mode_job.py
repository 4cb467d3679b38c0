"""A function over a backlog, then over the stream that continues from it, with the same state.

| phase   | rows                             | savepoints                                           |
|---------|----------------------------------|------------------------------------------------------|
| backlog | sorted by key, as a batch        | none before its end                                  |
| switch  |                                  | one, which the stream begins with                    |
| stream  | as they come, in micro-batches   | at the interval, and whenever they are asked for     |

The directory of a job has:

| path                  | content                                                                |
|-----------------------|------------------------------------------------------------------------|
| ``backlog-<…>``       | results of the backlog, with the savepoint of the switch               |
| ``stream``            | Spark's checkpoint of the stream, and the state of the switch          |
| ``savepoints``        | the last savepoint of the interval                                     |
| ``streamed-backlog``  | with ``execution.checkpointing.interval-during-backlog``: a job whose  |
|                       | stream is the backlog, its ``rows``, and its last ``savepoint``        |

An output takes the rows and the number of a batch. A batch that was not committed before a failure
comes again, with the same number and the same rows. So each row counts once if an output replaces
the rows of a batch number. The rows of a backlog have the number -1, and batches of the stream
begin with 0. Batches of a backlog that is streamed begin with -2**62.

Flink: FLIP-327.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from savepoint_extensions.mixed_mode.backlog import Backlog
from savepoint_extensions.mixed_mode.backlog_result import BacklogResult
from savepoint_extensions.mixed_mode.committed_batch import CommittedBatch
from savepoint_extensions.mixed_mode.input_checks import expect_alike, streamed_rows
from savepoint_extensions.mixed_mode.progress import no_progress
from savepoint_extensions.mixed_mode.running_stream import RunningStream
from savepoint_extensions.mixed_mode.spark_paths import expect_path, readable
from savepoint_extensions.mixed_mode.stream_function import (
    OperatorSettings,
    StreamFunction,
    stream_plan,
)
from savepoint_formats.errors import JobError, SavepointNotFoundError
from savepoint_formats.locations import Location, absolute
from savepoint_functions.functions import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    ExecutionOptions,
    FunctionPlan,
    Outputs,
    milliseconds,
)
from savepoint_functions.transformations.function_result import FunctionResult
from savepoint_spark.session import is_remote, remote_error, typed_errors
from state_processor import Savepoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.mixed_mode.keyed_processor import ProcessFunction
    from savepoint_extensions.mixed_mode.progress import Tell
    from savepoint_extensions.mixed_mode.stream_function import Output
    from savepoint_functions.functions import KeyedInput
    from savepoint_functions.transformations.process_transformation import KeyedFunctionVerbs
    from state_processor import SparkSavepoint, WrittenSavepoint


BACKLOG_BATCH = -1
"""The number of the batch that has the rows of a backlog."""

FIRST_BACKLOG_BATCH = -(2**62)
"""The number of the first batch of a backlog that is streamed."""

_ROWS_PER_FILE = 100_000

# Spark starts a Python process for each stream with state, and gives it ten seconds, however busy the machine is.
_RESTARTS = 2


@dataclass(frozen=True, slots=True)
class ParquetOutput:
    """A directory of Parquet files, with a directory ``batch=<number>`` for each batch.

    Attributes:
        path: The directory.

    Example:
        >>> output = ParquetOutput("/jobs/totals/rows")
        >>> spark.read.parquet("/jobs/totals/rows").where("batch >= 0").show()
    """

    path: str

    def __post_init__(self) -> None:
        # Spark may have another working directory than this process.
        object.__setattr__(self, "path", absolute(self.path))

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes the rows of a batch, and replaces earlier rows of the same number."""
        rows.write.mode("overwrite").parquet(f"{self.path}/batch={batch_id}")


def no_output(rows: DataFrame, batch_id: int) -> None:
    """Drops the rows."""


@dataclass(frozen=True)
class MixedModeJob:
    """A function over a backlog and a stream; nothing runs before ``start``.

    Attributes:
        backlog: The function over the backlog, of one input or of two.
        stream: The function over the stream, of as many inputs.
        settings: Uid, schema and numbers of the operator.
        directory: Where the job keeps all that it needs to continue after a failure.
    """

    backlog: Backlog
    stream: FunctionPlan
    settings: OperatorSettings
    directory: str

    @classmethod
    def of(
        cls,
        backlog: KeyedFunctionVerbs,
        stream: KeyedFunctionVerbs,
        function: ProcessFunction,
        settings: OperatorSettings,
        directory: str,
        *,
        initial: Operator | None = None,
    ) -> Self:
        """A job.

        Args:
            backlog: Rows of a bounded DataFrame, with keys and timestamps; or of two that are
                connected. Options of ``with_options`` apply to the whole job.
            stream: Rows of a streaming DataFrame, with the same columns and keys; or of two, in the
                same order. If one of two inputs has no timestamps, there is no watermark.
            function: Runs over both; for two inputs a ``KeyedCoProcessFunction``.
            settings: The uid of the operator, and the columns of the rows that it gives.
            directory: A directory for only this job: a local path, or a URI that Spark and pyarrow
                both know.
            initial: The operator of a savepoint with whose state the backlog begins, as for
                ``Backlog.of``. States that the function does not register are copied into each
                savepoint.

        Raises:
            TypeError: The function is of another kind.
            ValueError: An input of the backlog is a stream, or the stream is not one; backlog and
                stream differ in their inputs or columns; timestamps are missing; key groups are
                given; the schema has no columns; the function has timers in namespaces that only
                Flink fires, or windows with another watermark than the job; the directory is a URI
                with a character that URIs escape; or the session is one of Spark Connect.
            UnstableKeyError: Equal keys may have different bytes.
            ColumnTypeError: The keys of two inputs are of different types.

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
        rows, live = streamed_rows(backlog), streamed_rows(stream).inputs
        if is_remote(rows.inputs[0].data.sparkSession):
            raise remote_error("a backlog, then a stream")
        expect_alike(rows.inputs, live)
        past = Backlog.of(
            rows,
            function,
            settings.schema,
            out_of_orderness_ms=settings.out_of_orderness_ms,
            initial=initial,
        )
        if past.rows.initial is not None:
            past.rows.initial.expect(settings.max_parallelism)
        # Spark may have another working directory than this process.
        place = absolute(directory).rstrip("/")
        expect_path(place)
        return cls(past, stream_plan(function, live, settings), settings, place)

    def start(self, output: Output = no_output, on_progress: Tell | None = None) -> RunningStream:
        """Runs the backlog, unless that is done already, and starts the stream, or continues it.

        It returns when the backlog is over. A backlog that fails or is killed begins anew the next
        time. A stream continues after its last committed batch.

        Args:
            output: Takes the rows of a batch and its number, see ``outputs``; by default rows are
                dropped.
            on_progress: Called with a ``BacklogProgress`` every few seconds, and with a
                ``BatchProgress`` after each batch of a stream, mostly from another thread; e.g.
                ``print_progress``.

        Returns:
            The stream, which runs until it is stopped.

        Raises:
            SavepointError: The backlog failed with this error.

        Example:
            >>> running = job.start(ParquetOutput("/jobs/totals/rows"), print_progress)
            >>> running.take_savepoint("/jobs/totals/cut-over")
        """
        return self._started(*self._backlog(output, on_progress), output, on_progress)

    def finish(
        self,
        path: str,
        output: Output = no_output,
        on_progress: Tell | None = None,
        *,
        beside: SparkSavepoint | None = None,
    ) -> WrittenSavepoint:
        """Runs the job to its end: the current rows of the stream are its last ones.

        Then event time is at its end, 2**63 - 1. All timers of event time fire, and their rows are
        the last batch. Timers of processing time go into the savepoint. Flink does the same when it
        stops a job with a savepoint and ``--drain``.

        Args:
            path: An empty or new directory for the savepoint of the end.
            output: As for ``start``.
            on_progress: As for ``start``.
            beside: The savepoint of the end of another job, such as the one whose rows this one
                gets. Its operators are in this savepoint, too.

        Raises:
            SavepointExistsError: A savepoint is there already.
            StreamingQueryException: The stream has failed.
            EndlessTimersError: Timers register each other without end.
            SavepointError: The backlog, a task or the file system failed with this error.

        Example:
            >>> job.finish("/jobs/totals/last", ParquetOutput("/jobs/totals/rows"))
        """
        path, uid = path.rstrip("/"), self.settings.uid
        last, watermark = self._backlog(output, on_progress)
        with self._started(last, watermark, output, on_progress, until_end=True) as running:
            running.await_termination()
            batch = running.last_batch
            if batch is not None:
                place = f"{self.directory}/end/{uuid4().hex}"
                running.take_savepoint(place)
                last = Savepoint.load(last.spark, place, uids=[uid])
        ended = self._ended(last)
        output(ended.output, 0 if batch is None else batch.batch_id + 1)
        written = (beside or last).with_operator(uid, ended.state).write(path)
        if batch is not None:
            batch.write_beside(path)
        return written

    def _started(
        self,
        savepoint: SparkSavepoint,
        watermark: int,
        output: Output,
        on_progress: Tell | None,
        *,
        until_end: bool = False,
    ) -> RunningStream:
        function = StreamFunction.of(
            self.stream,
            self.settings,
            f"{self.directory}/stream",
            savepoint,
            watermark,
            None if self.backlog.rows.initial is None else savepoint.operator(self.settings.uid),
        )
        return RunningStream(
            function,
            output,
            savepoints=f"{self.directory}/savepoints",
            interval_ms=self.backlog.rows.task.options.checkpoint_interval_ms,
            tell=on_progress,
            until_end=until_end,
        )

    def _ended(self, last: SparkSavepoint) -> FunctionResult:
        """A run without rows, whose event time is at its end."""
        nothing = tuple(replace(rows, data=rows.data.limit(0)) for rows in self.backlog.rows.inputs)
        function = self.backlog.rows.task.function
        initial = last.operator(self.settings.uid)
        rows = FunctionPlan.of(
            nothing, function, ExecutionOptions(), keeps_state=True, initial=initial
        )
        outputs = Outputs.of(self.settings.schema, function)
        return FunctionResult.of(rows, outputs, MAX_WATERMARK, self.settings.max_parallelism)

    def _backlog(self, output: Output, on_progress: Tell | None) -> tuple[SparkSavepoint, int]:
        """The savepoint of the switch, and the watermark at it, in ms."""
        settings, spark = self.settings, self.backlog.rows.inputs[0].data.sparkSession
        if self.backlog.rows.task.options.backlog_interval_ms:
            return self._streamed_backlog(output, on_progress)
        result = BacklogResult.find(spark, self.directory, settings.uid)
        if result is None:
            result = self.backlog.run(
                self.directory,
                settings.uid,
                parallelism=settings.parallelism,
                max_parallelism=settings.max_parallelism,
                on_progress=on_progress or no_progress,
            )
        if not self._has_begun():
            output(result.output, BACKLOG_BATCH)
        return result.savepoint, result.watermark

    def _streamed_backlog(
        self, output: Output, on_progress: Tell | None
    ) -> tuple[SparkSavepoint, int]:
        """The savepoint and the watermark after a job whose stream is the backlog."""
        job = self._of_backlog(f"{self.directory}/streamed-backlog")
        path, spark = f"{job.directory}/savepoint", self.stream.inputs[0].data.sparkSession
        try:
            batch = CommittedBatch.beside(path)
        except SavepointNotFoundError:

            def give(rows: DataFrame, batch_id: int) -> None:
                output(rows, FIRST_BACKLOG_BATCH + batch_id)

            batch = job._drained(path, give, on_progress)
        # Spark's watermark is 0 if there were no timestamps.
        watermark = batch.watermark or MIN_WATERMARK
        return Savepoint.load(spark, path, uids=[self.settings.uid]), watermark

    def _drained(self, path: str, output: Output, on_progress: Tell | None) -> CommittedBatch:
        """Runs the stream to its last row and writes a savepoint there; timers stay.

        A stream whose processes have died goes on behind its last committed batch.
        """
        for _ in range(_RESTARTS):
            with suppress(JobError):
                return self._drained_at_once(path, output, on_progress)
        return self._drained_at_once(path, output, on_progress)

    def _drained_at_once(
        self, path: str, output: Output, on_progress: Tell | None
    ) -> CommittedBatch:
        begun = self._backlog(output, on_progress)
        with self._started(*begun, output, on_progress, until_end=True) as running:
            running.await_termination()
            batch = running.last_batch
            assert batch is not None  # a stream of files has a batch, if only of no rows
            _remove(path)
            running.take_savepoint(path)
        return batch

    def _of_backlog(self, directory: str) -> MixedModeJob:
        """A job without a backlog, whose stream has the rows of this one's backlog."""
        plan = self.backlog.rows
        nothing = tuple(replace(rows, data=rows.data.limit(0)) for rows in plan.inputs)
        options = plan.task.options
        of_stream = replace(
            options, checkpoint_interval_ms=options.backlog_interval_ms, backlog_interval_ms=0
        )
        rows = replace(plan, inputs=nothing, task=replace(plan.task, options=of_stream))
        inputs = tuple(
            _streamed(rows, f"{directory}/rows/{number}") for number, rows in enumerate(plan.inputs)
        )
        stream = replace(self.stream, inputs=inputs)
        return MixedModeJob(replace(self.backlog, rows=rows), stream, self.settings, directory)

    def _has_begun(self) -> bool:
        """Whether the stream has had a batch, and the output therefore has the backlog's rows."""
        first = f"{self.directory}/stream/checkpoint/offsets/0"
        return Location.of(first).file_size() is not None


def _streamed(source: KeyedInput, path: str) -> KeyedInput:
    """The rows of a bounded input as a stream, in the order of their timestamps.

    One task writes them, because Spark streams files in the order in which they were written.
    """
    spark = source.data.sparkSession
    if Location.of(f"{path}/_SUCCESS").file_size() is None:
        rows = source.data.repartition(1)
        if source.timestamps is not None and source.is_sorted:
            rows = rows.sortWithinPartitions(milliseconds(rows, source.timestamps))
        writer = rows.write.option("maxRecordsPerFile", _ROWS_PER_FILE).mode("overwrite")
        with typed_errors():
            writer.parquet(path)
    files = spark.readStream.schema(source.data.schema).option("maxFilesPerTrigger", 1)
    return replace(source, data=files.parquet(readable(spark, path)))


def _remove(path: str) -> None:
    """Removes what a killed run has left of a savepoint."""
    location = Location.of(path)
    if location.infos():
        location.filesystem.delete_dir(location.path)
