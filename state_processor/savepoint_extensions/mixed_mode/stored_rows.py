"""The state of a stream for a savepoint: read from Spark's state store after a committed batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from savepoint_extensions.mixed_mode.keyed_processor import STATE
from savepoint_extensions.mixed_mode.spark_paths import readable
from savepoint_extensions.mixed_mode.stored_backend import (
    TIMERS,
    decoded,
    entry_layout,
    state_columns,
)
from savepoint_formats.layout import Long
from savepoint_formats.tables import visible_elements
from savepoint_spark.writing import (
    KEY,
    NAMESPACE,
    TIMESTAMPS,
    KeyedPlan,
    OperatorPlan,
    PlannedTransformation,
    RunEncoding,
    RunRows,
    RunSource,
    gathered,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_functions.functions import FunctionState
    from savepoint_spark.writing import Key


def stored_keys(spark: SparkSession, checkpoint: str, batch_id: int) -> DataFrame:
    """The rows of all keys after a batch: column ``key``, then the columns of ``stored_backend``."""
    reader = spark.read.format("statestore").option("stateVarName", STATE)
    stored = reader.option("batchId", batch_id).load(readable(spark, checkpoint))
    return stored.select(F.col("key").getField(KEY).alias(KEY), "value.*")


def with_untouched(stored: DataFrame, initial: DataFrame) -> DataFrame:
    """The rows of the store, and for keys that are not in the store, the rows of the switch."""
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
class StoredTransformation(PlannedTransformation, RunRows):
    """Rows of ``stored_keys`` as the keyed state of an operator.

    ``initial`` is the operator at the switch, whose other states are copied.
    """

    rows: DataFrame
    key: Key
    states: tuple[FunctionState, ...]
    initial: Operator | None = None

    def plan(self) -> OperatorPlan:
        infos = tuple(state.new.info for state in self.states)
        return OperatorPlan(KeyedPlan(self.key.snapshot, infos, (self,)))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        plain = tuple(state for state in self.states if state.namespace is None)
        others = [(state,) for state in self.states if state.namespace is not None]
        tables = []
        for states in filter(None, (plain, *others)):
            namespace = states[0].namespace
            encoding = RunEncoding(
                self.key.snapshot.layout(),
                None if namespace is None else namespace.layout(),
                max_parallelism,
                tuple(state.column(ids[state.new.name]) for state in states),
                self.key.hash_code,
                is_keyed_once=namespace is None,
            )
            tables.append(StateRows(states, encoding))
        names = [state.new.name for state in self.states if is_stored(state)]
        columns = TIMERS | state_columns(names)
        selected = (F.col(column).alias(name) for name, column in columns.items())
        rows = self.rows.select(KEY, *selected)
        return RunSource(rows, partial(_runs, tuple(tables)))


def is_stored(state: FunctionState) -> bool:
    """Whether a state has a column of its own in a row; only timers without namespaces don't."""
    return not state.is_timers or state.namespace is not None


@dataclass(frozen=True)
class StateRows:
    """States of one table: all without namespaces, or one with namespaces."""

    states: tuple[FunctionState, ...]
    encoding: RunEncoding

    def columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The table of some rows of ``stored_keys``."""
        keys = decoded(self.encoding.key, batch.column(KEY))
        if self.encoding.namespace is not None:
            return self._of_namespaces(keys, batch)
        columns = {KEY: keys}
        for state in self.states:
            column = batch.column(state.new.name)
            columns[state.new.name] = (
                column.cast(TIMESTAMPS) if state.is_timers else decoded(state.new.stored, column)
            )
        return pa.RecordBatch.from_pydict(columns)

    def _of_namespaces(self, keys: pa.Array, batch: pa.RecordBatch) -> pa.RecordBatch:
        (state,), namespace = self.states, self.encoding.namespace
        assert namespace is not None  # the caller checks
        lists = batch.column(state.new.name)
        layout = entry_layout(namespace, Long() if state.is_timers else state.new.stored)
        entries = decoded(layout, pc.list_flatten(lists))
        contents = entries.field("contents")
        if state.is_timers:
            contents = pa.ListArray.from_arrays(np.arange(len(contents) + 1, dtype="i4"), contents)
        else:
            contents = visible_elements(contents, state.new.stored)
        columns = {
            KEY: keys.take(pc.list_parent_indices(lists)),
            NAMESPACE: entries.field("namespace"),
            state.new.name: contents,
        }
        return pa.RecordBatch.from_pydict(columns)


def _runs(
    tables: tuple[StateRows, ...], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for rows in gathered(batches):
        for table in tables:
            yield from table.encoding.run([table.columns(rows)])
