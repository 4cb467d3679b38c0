"""The state with which a stream begins, as rows: that of the savepoint at the end of the backlog.

Tasks read splits of the savepoint and encode its columns, so that each key gets the row that
``stored_backend`` describes. Spark's own types are avoided, because they can't hold all values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from savepoint_formats.scan.splits import KeyedSplit
from savepoint_formats.tables.tables import KEYED_STATE
from savepoint_formats.tables.tables import TIMERS as TIMERS_TABLE
from savepoint_functions.functions.backends.timers import EVENT_TIME, PROCESSING_TIME
from savepoint_functions.functions.sorted_inputs import KEY
from savepoint_functions.mixed_mode.stored_backend import (
    EVENT_TIMERS,
    PROCESSING_TIMERS,
    encoded,
    encoded_keys,
    row_type,
    state_columns,
)
from savepoint_spark.columns.spark_types import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split
    from savepoint_spark.savepoint.savepoint import Savepoint

_TIMERS = {EVENT_TIME: EVENT_TIMERS, PROCESSING_TIME: PROCESSING_TIMERS}


def key_rows_type(states: Iterable[str]) -> StructType:
    """The type of the rows of ``initial_state``: a key and its state."""
    return StructType([StructField(KEY, BinaryType()), *row_type(states).fields])


def initial_state(
    spark: SparkSession, savepoint: Savepoint, uid: str, states: Sequence[str]
) -> DataFrame:
    """A row for each key of an operator, with the states that a function registers.

    Raises:
        OperatorNotFoundError: The savepoint has no such operator.
    """
    schema = key_rows_type(states)
    rows = spark.createDataFrame([], schema)
    for reading in KeyRowsReading.all_of(savepoint, uid, states):
        count = len(reading.splits)
        numbers = spark.range(0, count, 1, max(count, 1))
        rows = rows.unionAll(numbers.mapInArrow(reading.run, schema))
    merged = [_merged(name).alias(name) for name in schema.names[1:]]
    return rows.groupBy(KEY).agg(*merged)


def _merged(name: str) -> Column:
    """Merges a column of the rows of a key, one of which has its state, and each other one timer."""
    if name in _TIMERS.values():
        return F.flatten(F.collect_list(name))
    return F.first(name, ignorenulls=True)


@dataclass(frozen=True, slots=True)
class KeyRowsReading:
    """Reads the rows of keys from a table: that of keyed state, or that of timers.

    A task gets the numbers of its splits. ``columns`` maps states to columns. A key has a row for its state,
    and one for each timer.
    """

    scan: TableScan
    splits: tuple[KeyedSplit, ...]
    columns: dict[str, str]
    schema: pa.Schema

    @classmethod
    def all_of(cls, savepoint: Savepoint, uid: str, states: Sequence[str]) -> list[Self]:
        """Reads both tables of an operator, if it has them; arguments are those of ``initial_state``."""
        schema = arrow_schema(key_rows_type(states))
        names = [table.name for table in savepoint.operator(uid).tables]
        scans = [
            savepoint.scan(f"{uid}.{name}", with_times=True)
            for name in (KEYED_STATE, TIMERS_TABLE)
            if name in names
        ]
        return [
            cls(scan, tuple(_keyed(scan.splits())), state_columns(states), schema) for scan in scans
        ]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the splits of these numbers."""
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                yield from self.rows(number)

    def rows(self, number: int) -> Iterator[pa.RecordBatch]:
        columns = self._timers if self.scan.table.name == TIMERS_TABLE else self._states
        for batch in self.scan.read(self.splits[number]):
            yield self._rows(batch.num_rows, columns(batch))

    def _rows(self, count: int, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        arrays = [
            columns[field.name].cast(field.type)
            if field.name in columns
            else pa.nulls(count, field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _states(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        first = len(self.scan.table.columns) - len(self.scan.table.states)
        states = {KEY: self._keys(batch)}
        for index, state in enumerate(self.scan.table.states, start=first):
            states[self.columns[state.name]] = encoded(state.timed_value, batch.column(index))
        return states

    def _timers(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        domains = batch.column("time_domain")
        timestamps = batch.column("timestamp").cast(pa.int64())
        offsets = pa.array(range(batch.num_rows + 1), pa.int32())
        alone = pa.ListArray.from_arrays(offsets, timestamps)
        timers = {KEY: self._keys(batch)}
        for domain, name in _TIMERS.items():
            timers[name] = pa.compute.if_else(
                pa.compute.equal(domains, domain), alone, pa.scalar(None, alone.type)
            )
        return timers

    def _keys(self, batch: pa.RecordBatch) -> pa.Array:
        layout = self.scan.table.states[0].key
        assert layout is not None  # keyed state has one
        return encoded_keys(layout, batch.column(KEY))


def _keyed(splits: Iterable[Split]) -> Iterator[KeyedSplit]:
    for split in splits:
        assert isinstance(split, KeyedSplit)  # both tables are of keyed state
        yield split
