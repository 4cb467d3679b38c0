"""The state of a stream for a savepoint: read from Spark's state store after a committed batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from savepoint_functions.mixed_mode.keyed_processor import STATE
from savepoint_functions.mixed_mode.spark_paths import readable
from savepoint_functions.mixed_mode.stored_backend import TIMERS, decoded, state_columns
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.run_encoding import KEY, TIMESTAMPS, RunEncoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row, SparkSession

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorState
    from savepoint_functions.functions.state_encoding import FunctionState
    from savepoint_spark.writing.keyed_rows import Key
    from savepoint_spark.writing.write_context import WriteContext


def stored_keys(spark: SparkSession, checkpoint: str, batch_id: int) -> DataFrame:
    """The rows of all keys after a batch: column ``key``, then those of ``stored_backend``."""
    reader = spark.read.format("statestore").option("stateVarName", STATE)
    stored = reader.option("batchId", batch_id).load(readable(spark, checkpoint))
    return stored.select(F.col("key").getField(KEY).alias(KEY), "value.*")


def with_untouched(stored: DataFrame, initial: DataFrame) -> DataFrame:
    """The rows of the store, and those of the switch for keys that are not in the store."""
    ours, theirs = stored.alias("stored"), initial.alias("initial")
    joined = ours.join(theirs, F.col(f"stored.{KEY}") == F.col(f"initial.{KEY}"), "full_outer")
    is_stored = F.col(f"stored.{KEY}").isNotNull()
    return joined.select(
        *(
            F.when(is_stored, F.col(f"stored.{name}"))
            .otherwise(F.col(f"initial.{name}"))
            .alias(name)
            for name in stored.columns
        )
    )


@dataclass(frozen=True)
class StoredTransformation:
    """Rows of ``stored_keys`` as the keyed state of an operator.

    ``initial`` is the operator at the switch, whose other states are copied.
    """

    rows: DataFrame
    key: Key
    states: tuple[FunctionState, ...]
    initial: Operator | None = None

    def write(self, context: WriteContext) -> OperatorState:
        return self.plan().write(context)

    def plan(self) -> OperatorPlan:
        infos = tuple(state.new.info for state in self.states)
        return OperatorPlan(KeyedPlan(self.key.snapshot, infos, (self,)))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        encoding = RunEncoding(
            self.key.snapshot.layout(),
            None,
            max_parallelism,
            tuple(state.column(ids[state.new.name]) for state in self.states),
            self.key.hash_code,
        )
        stored = tuple(
            (state.new.name, None if state.is_timers else state.new.stored) for state in self.states
        )
        columns = TIMERS | state_columns(name for name, layout in stored if layout is not None)
        rows = self.rows.select(KEY, *(columns[name] for name, _ in stored))
        return RunSource(rows, partial(_runs, stored, encoding))

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        return []


def _runs(
    states: tuple[tuple[str, Layout | None], ...],
    encoding: RunEncoding,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The runs of rows; the layout of a state is None for timers."""

    def columns(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = {KEY: decoded(encoding.key, batch.column(0))}
        for (name, layout), column in zip(states, batch.columns[1:], strict=True):
            columns[name] = column.cast(TIMESTAMPS) if layout is None else decoded(layout, column)
        return pa.RecordBatch.from_pydict(columns)

    return encoding.run(columns(batch) for batch in batches if batch.num_rows)
