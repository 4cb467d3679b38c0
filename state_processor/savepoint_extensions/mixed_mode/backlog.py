"""The backlog phase: a function over bounded rows, whose state a stream continues.

Rows are sorted by key, as in a bounded run. Because later rows follow, only timers up to the
greatest watermark of the backlog fire, and the others stay timers. They fire at the end of their
key, or between its rows if the backlog begins with the state of a savepoint.

The option ``execution.sorted-inputs.memory`` is the greatest size of a batch of sorted rows on its
way to the function. Spark sorts in the memory that it has, and spills. A session can limit that
memory when it starts, with ``spark.shuffle.spill.maxSizeInBytesForSpillThreshold``.

Flink: FLIP-327.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F

from savepoint_extensions.mixed_mode.backlog_result import BacklogFiles, BacklogResult, BacklogTable
from savepoint_extensions.mixed_mode.input_checks import expect_bounded, streamed_rows
from savepoint_extensions.mixed_mode.progress import BacklogTally, BacklogWatch, no_progress
from savepoint_extensions.mixed_mode.spark_paths import readable
from savepoint_functions.functions import (
    BACKLOG_INTERVAL,
    MIN_WATERMARK,
    FunctionPlan,
    KeyedProcessFunction,
    Outputs,
    ResultState,
    expect_one_output,
    milliseconds,
    processing_time,
    state_ids,
)
from savepoint_functions.transformations.function_result import FunctionStateTransformation
from savepoint_spark.reading import row_types
from savepoint_spark.session import typed_errors
from savepoint_spark.writing import in_arrow_batches_of
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.mixed_mode.progress import BacklogProgress
    from savepoint_functions.functions import KeyedFunction, KeyedInput
    from savepoint_functions.transformations.process_transformation import KeyedFunctionVerbs


@dataclass(frozen=True)
class Backlog:
    """A function over the rows of a backlog; nothing runs before ``run``.

    Attributes:
        rows: The function, and its rows.
        schema: The columns of the rows that it gives.
        out_of_orderness_ms: How much later than others a row may come, in ms.
    """

    rows: FunctionPlan
    schema: StructType | str
    out_of_orderness_ms: int = 0

    @classmethod
    def of(
        cls,
        keyed: KeyedFunctionVerbs,
        function: KeyedFunction,
        schema: StructType | str,
        *,
        out_of_orderness_ms: int = 0,
        initial: Operator | None = None,
    ) -> Self:
        """A function over keyed rows.

        Args:
            keyed: The rows, with their keys and timestamps; options of ``with_options`` apply.
            function: A ``KeyedProcessFunction``; for two inputs a ``KeyedCoProcessFunction``.
            schema: The columns of the rows that it gives, as for ``process``.
            out_of_orderness_ms: How much later than others a row may come, in ms. The watermark is
                that much, and 1 ms, behind the greatest timestamp.
            initial: The operator of a savepoint with whose state the function begins, as for
                ``transform``. Timers up to the watermark fire, also those of keys without rows.
                They fire between the rows of their key, see ``process``.

        Raises:
            TypeError: The function is of another kind.
            ValueError: An input is a stream, or of broadcast rows; the schema has no columns; the
                function has side outputs, which a stream doesn't have; windows have another
                watermark; or the out-of-orderness is negative.
            UnstableKeyError: Equal keys may have different bytes, so rows can't be sorted by them.
            ColumnTypeError: The keys of two inputs are of different types.

        Example:
            >>> keyed = OperatorTransformation.bootstrap_with(history).assign_timestamps("at")
            >>> backlog = Backlog.of(keyed.key_by("account"), Totals(), "account BIGINT")
        """
        keyed = streamed_rows(keyed)
        keyed.expect(function, KeyedProcessFunction)
        expect_bounded(keyed.inputs)
        expect_one_output(function)
        function._expect_watermark(out_of_orderness_ms)
        row_types(schema, function)
        rows = FunctionPlan.of(
            keyed.inputs,
            function,
            keyed.options,
            keeps_state=True,
            initial=initial,
            out_of_orderness_ms=out_of_orderness_ms,
        )
        rows.expect_no_internal_timers()
        return cls(rows, schema, out_of_orderness_ms)

    def watermark(self) -> int:
        """The greatest watermark of the backlog, in ms; runs a job over the timestamps.

        With two inputs it is the lesser of both watermarks. It is -2**63, no watermark, if an
        input has no timestamps or no rows.
        """
        return min(map(self._watermark_of, self.rows.inputs))

    def run(
        self,
        directory: str,
        uid: str,
        *,
        parallelism: int = 1,
        max_parallelism: int | None = None,
        on_progress: Callable[[BacklogProgress], object] = no_progress,
    ) -> BacklogResult:
        """Runs the backlog, and takes the savepoint of the switch.

        Spark repeats a failed task from its first row. If the run fails or is killed, it leaves no
        result, and the next run begins anew.

        Args:
            directory: Where to write: a local path, or a URI that Spark and pyarrow both know.
            uid: The uid that the operator has in the savepoint.
            parallelism: The number of its subtasks there.
            max_parallelism: The number of its key groups; by default that of ``initial``, or 128.
            on_progress: Called when the backlog begins, every few seconds, and at its end; e.g.
                ``print_progress``.

        Raises:
            SavepointExistsError: The directory has a finished backlog already; see
                ``BacklogResult.find``.
            SavepointError: A task or the file system failed with this error.
            ValueError: Not 1 <= parallelism <= max parallelism <= 32768; or the options ask for
                savepoints during the backlog, which only a ``MixedModeJob`` has.

        Example:
            >>> result = backlog.run("/jobs/totals", "totals")
            >>> result.output.show()
        """
        if self.rows.task.options.backlog_interval_ms:
            raise ValueError(
                "a backlog alone is a batch, without savepoints: run it in a MixedModeJob, or leave"
                f" out {BACKLOG_INTERVAL}"
            )
        spark = self.rows.inputs[0].data.sparkSession
        files = BacklogFiles.new(directory)
        max_parallelism = self.rows.max_parallelism(max_parallelism)
        writer = Savepoint.create(spark, parallelism=parallelism, max_parallelism=max_parallelism)
        tally = BacklogTally.of(spark)
        watch = BacklogWatch(spark, tally, on_progress)
        with watch.watching():
            self._write_rows(files.rows, max_parallelism, tally)
            state = ResultState(
                self.rows, spark.read.parquet(readable(spark, files.rows)), max_parallelism
            )
            writer.with_operator(uid, FunctionStateTransformation(state)).write(files.savepoint)
        files.remove_others()
        result = BacklogResult(spark, files, uid)
        watch.tell_end(result.counts)
        return result

    def _write_rows(self, path: str, max_parallelism: int, tally: BacklogTally) -> None:
        made = self._made(max_parallelism, tally)
        size = self.rows.task.options.sort_memory
        rows = in_arrow_batches_of(size, made) if size else made
        with typed_errors():
            rows.write.parquet(path)

    def _made(self, max_parallelism: int, tally: BacklogTally) -> DataFrame:
        watermark = self.watermark()
        table, rows = self.rows.table(
            Outputs.of(self.schema, self.rows.task.function),
            state_ids(self.rows.states),
            max_parallelism,
            watermark=watermark,
            reached=self.rows.reached(watermark, processing_time()),
            kind=partial(BacklogTable, tally=tally),
        )
        return rows.mapInArrow(table.run, table.spark_schema)

    def _watermark_of(self, rows: KeyedInput) -> int:
        if rows.timestamps is None:
            return MIN_WATERMARK
        with typed_errors():
            collected = rows.data.agg(F.max(milliseconds(rows.data, rows.timestamps))).collect()
        greatest: int | None = collected[0][0]
        if greatest is None:
            return MIN_WATERMARK
        # Flink: ``BoundedOutOfOrdernessWatermarks``.
        return max(greatest - self.out_of_orderness_ms - 1, MIN_WATERMARK)
