"""A function over the rows of one stream, or of two: its query of Spark, and a savepoint of its state.

State is in Spark's RocksDB state store, with a version for each micro-batch. A repeated batch
begins with the state of the batch before it, so no row counts twice. Keys without a visit still
have their state of the switch.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F

from savepoint_database.types import OutputRows, Place
from savepoint_extensions.mixed_mode.committed_batch import CommittedBatch
from savepoint_extensions.mixed_mode.keyed_processor import VISITS, KeyedProcessor, StreamTask
from savepoint_extensions.mixed_mode.spark_paths import readable
from savepoint_extensions.mixed_mode.stored_backend import StoredState
from savepoint_extensions.mixed_mode.stored_rows import (
    StoredTransformation,
    is_stored,
    stored_keys,
    with_untouched,
)
from savepoint_extensions.mixed_mode.stream_rows import packed_rows, woken_keys
from savepoint_extensions.mixed_mode.switch_state import SwitchAlarms, SwitchState, initial_state
from savepoint_extensions.mixed_mode.watermarks import InputWatermarks
from savepoint_formats.key_groups import expect_parallelism
from savepoint_functions.functions import KEY, ExecutionOptions, FunctionPlan, expect_one_output
from savepoint_spark.reading import row_types
from savepoint_spark.session import expect_release
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.mixed_mode.keyed_processor import ProcessFunction
    from savepoint_functions.functions import KeyedInput
    from state_processor import SparkSavepoint, WrittenSavepoint

    Output = Callable[[DataFrame, int], object]

METRICS = "visits"
"""The name of the metrics of a batch, whose columns are the counts in ``VISITS``."""

_COUNTS = ("rows", "timers", "reads", "writes")

_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # The cost of a batch then depends on its changes, not on the size of the state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Timers that the last rows make due fire at once, not with the next rows.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # The watermark is that of the input that is behind, as in Flink.
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
}


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Settings of an operator, besides its function and its rows.

    Attributes:
        uid: Its uid in savepoints.
        schema: The columns of the rows that it gives.
        out_of_orderness_ms: How much later than others a row may come, in ms. The watermark is that
            much, and 1 ms, behind the greatest timestamp.
        parallelism: The number of its subtasks in savepoints.
        max_parallelism: The number of its key groups.

    Raises:
        ValueError: The out-of-orderness is negative; or not 1 <= parallelism <= max parallelism <=
            32768.

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


def stream_plan(
    function: ProcessFunction, inputs: tuple[KeyedInput, ...], settings: OperatorSettings
) -> FunctionPlan:
    """A function over the rows of a stream, after ``open`` of a copy has registered its states.

    Raises ``ValueError`` if a stream can't run it; the message says why.
    """
    expect_release("4.1", "mixed mode needs")
    expect_one_output(function)
    plan = FunctionPlan.of(inputs, function, ExecutionOptions(), keeps_state=True)
    plan.expect_no_internal_timers()
    function._expect_watermark(settings.out_of_orderness_ms)
    return plan


def stored_states(plan: FunctionPlan) -> tuple[StoredState, ...]:
    """The states that a function registers, as the rows of keys have them."""
    return tuple(
        StoredState(state.new.name, state.namespace is not None)
        for state in plan.states
        if is_stored(state)
    )


@dataclass(frozen=True)
class StreamFunction:
    """A function over the rows of one stream, or of two, that continues from the state of a switch.

    ``directory`` has Spark's checkpoint, the state of the switch, and the keys to wake up.
    ``untouched`` has the rows of the keys of the switch, see ``initial_state``. ``initial`` is the
    operator at the switch; savepoints have its states that the function does not register, as they
    were.
    """

    task: StreamTask
    plan: FunctionPlan
    settings: OperatorSettings
    directory: str
    untouched: DataFrame
    initial: Operator | None

    @classmethod
    def of(
        cls,
        plan: FunctionPlan,
        settings: OperatorSettings,
        directory: str,
        savepoint: SparkSavepoint,
        watermark: int,
        initial: Operator | None,
    ) -> Self:
        """The function that continues from a savepoint and a watermark (ms).

        Raises:
            SavepointError: The savepoint or the file system failed with this error.
        """
        uid, states, rows = settings.uid, stored_states(plan), plan.task.rows
        switch = SwitchState.of(f"{directory}/switch", savepoint, uid, states, watermark)
        function = plan.task.function._in_stream()
        task = StreamTask(function, rows.key, rows.inputs, watermark, switch)
        untouched = initial_state(savepoint.spark, savepoint, uid, states)
        return cls(task, plan, settings, directory, untouched, initial)

    @property
    def inputs(self) -> tuple[KeyedInput, ...]:
        return self.plan.inputs

    @property
    def spark(self) -> SparkSession:
        return self.inputs[0].data.sparkSession

    @property
    def checkpoint(self) -> str:
        return f"{self.directory}/checkpoint"

    @property
    def wake_ups(self) -> str:
        """The directory for files of keys to wake up."""
        return f"{self.directory}/wake-ups"

    def start(self, output: Output, *, until_end: bool = False) -> StreamingQuery:
        """Starts the query, or continues after its last committed batch.

        ``output`` takes the rows and the number of each batch; twice if the batch is repeated. With
        ``until_end``, the query ends with the current rows.
        """
        watermarks = InputWatermarks.of(
            self.spark, self.directory, len(self.inputs), has_ticks=self._has_ticks
        )
        giving = _giving(output, watermarks, self._alarms(watermarks))
        with _settings(self.spark):
            writer = self._rows(watermarks).writeStream.outputMode("update").foreachBatch(giving)
            # Readers of the store expect the paths that the query writes into its checkpoint.
            place = readable(self.spark, self.checkpoint)
            writer = writer.option("checkpointLocation", place)
            if until_end:
                writer = writer.trigger(availableNow=True)
            return writer.start()

    def keys(self, batch_id: int) -> DataFrame:
        """The rows of all keys after a committed batch: column ``key``, then those of their rows."""
        return with_untouched(stored_keys(self.spark, self.checkpoint, batch_id), self.untouched)

    def last_batch(self) -> CommittedBatch | None:
        """The last committed batch, with the offsets of the inputs' sources; None if there is none."""
        batch = CommittedBatch.last_of(self.checkpoint)
        if batch is None or not self._has_ticks:
            return batch
        offsets = list(batch.offsets)
        place = 0
        for rows in self.inputs:
            # The source of an input's ticks follows the sources of the input.
            place += _source_count(rows.data)
            del offsets[place]
        return replace(batch, offsets=tuple(offsets))

    def write_savepoint(self, batch: CommittedBatch, path: str) -> WrittenSavepoint:
        """Writes the state after a committed batch to a new or empty directory, and its offsets next to it.

        Raises:
            SavepointExistsError: A savepoint is there already.
            SavepointError: The file system failed with this error.
        """
        keys, settings = self.keys(batch.batch_id), self.settings
        state = StoredTransformation(keys, self.inputs[0].key, self.plan.states, self.initial)
        writer = Savepoint.create(
            self.spark, parallelism=settings.parallelism, max_parallelism=settings.max_parallelism
        )
        written = writer.with_operator(settings.uid, state).write(path)
        batch.write_beside(path)
        return written

    @property
    def _has_ticks(self) -> bool:
        """Whether the watermark is the least of several; an input without timestamps gives none."""
        is_timed = all(rows.timestamps is not None for rows in self.inputs)
        return is_timed and len(self.inputs) > 1

    def _alarms(self, watermarks: InputWatermarks) -> SwitchAlarms:
        batch = CommittedBatch.last_of(self.checkpoint)
        since = self.task.watermark if batch is None else max(self.task.watermark, batch.watermark)
        return SwitchAlarms(self.task.switch, self.wake_ups, watermarks, since)

    def _rows(self, watermarks: InputWatermarks) -> DataFrame:
        schema, arrow_schema = row_types(self.settings.schema, self.task.function)
        unpacked = partial(_unpacked, arrow_schema, type(self.task.function).__name__)
        given = self._visits(watermarks).where("output IS NOT NULL").select("output")
        return given.mapInArrow(unpacked, schema)

    def _visits(self, watermarks: InputWatermarks) -> DataFrame:
        settings = self.settings
        packed = packed_rows(
            self.inputs, settings.out_of_orderness_ms, settings.max_parallelism, watermarks
        )
        woken = woken_keys(
            self.spark,
            self.wake_ups,
            self.task.key,
            self.inputs[0].key.hash_code,
            settings.max_parallelism,
        )
        visits = (
            packed.unionAll(woken)
            .groupBy(KEY)
            .transformWithState(KeyedProcessor(self.task), VISITS, "update", "eventTime")
        )
        sums = [F.sum(name).alias(name) for name in _COUNTS]
        return visits.observe(
            METRICS, F.count("*").alias("visits"), *sums, F.min("due").alias("due")
        )


def _unpacked(
    schema: pa.Schema, function: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows that a function gave, of visits that have them pickled."""
    visits = (pickle.loads(output) for batch in batches for output in batch.column(0).to_pylist())
    rows = ((Place(key), row) for key, given in visits for row in given)
    return OutputRows(schema, function).batches(rows)


def _source_count(data: DataFrame) -> int:
    leaves = data._jdf.queryExecution().analyzed().collectLeaves()
    return sum(leaves.apply(index).isStreaming() for index in range(leaves.size()))


def _giving(
    output: Output, watermarks: InputWatermarks, alarms: SwitchAlarms
) -> Callable[[DataFrame, int], None]:
    """Gives the rows of a batch to the output, and wakes up keys that are due with the next batch."""

    def give(rows: DataFrame, batch_id: int) -> None:
        # The batch must run exactly once, however often the output uses the rows.
        kept = rows.persist()
        try:
            kept.count()
            watermarks.keep()
            alarms.ring()
            output(kept, batch_id)
        finally:
            kept.unpersist()

    return give


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    """Sets the settings that a query copies when it starts, and restores the session's settings."""
    before = {name: spark.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)
