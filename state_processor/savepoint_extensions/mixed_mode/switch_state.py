"""The state of the switch, read from its savepoint: as rows, and as files to look up keys.

Tasks read splits of the savepoint and encode its columns: each key gets the row that
``stored_backend`` describes. Spark's own types are avoided, because they can't hold all values.

Spark takes initial state key by key, through Python, at a tenth of a millisecond each. So the
stream begins with an empty state store, and a key enters it with its first visit. Keys without a
visit stay in the files and cost nothing. A key in the store is never looked up again, and its row
says if it has nothing left.

| path                  | content                                                                  |
|-----------------------|--------------------------------------------------------------------------|
| ``<hex>-keys.arrow``  | rows of ``initial_state`` of some key groups by key; a key may have more |
| ``<hex>-times.arrow`` | watermarks at which keys of these key groups wake up, and these keys     |
| ``switch.json``       | names of the files; it is written last                                   |
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, StructField, StructType

from savepoint_extensions.mixed_mode.sorted_file import sorted_file, write_sorted
from savepoint_extensions.mixed_mode.stored_backend import (
    EVENT_TIMERS,
    PROCESSING_TIMERS,
    TIMERS,
    KeyRow,
    StoredState,
    encoded,
    encoded_keys,
    entry_layout,
    first_alarm,
    row_type,
    state_columns,
)
from savepoint_formats.layout import Long
from savepoint_formats.locations import Location
from savepoint_formats.new_snapshot import whole_file
from savepoint_formats.scan import KeyedSplit
from savepoint_formats.state_files import StateKind
from savepoint_formats.tables import NAMESPACE, stream_elements
from savepoint_formats.values import arrow_type
from savepoint_functions.functions import EVENT_TIME, KEY, PROCESSING_TIME, timer_states
from savepoint_spark.columns import arrow_schema, spark_schema
from savepoint_spark.session import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from savepoint_extensions.mixed_mode.watermarks import InputWatermarks
    from savepoint_formats.layout import Layout
    from savepoint_formats.scan import Split, TableScan
    from state_processor import Savepoint, SparkSavepoint

_TIMERS = {EVENT_TIME: EVENT_TIMERS, PROCESSING_TIME: PROCESSING_TIMERS}


def key_rows_type(states: Iterable[StoredState]) -> StructType:
    """The type of the rows of ``initial_state``: a key and its state."""
    return StructType([StructField(KEY, BinaryType()), *row_type(states).fields])


def initial_state(
    spark: SparkSession, savepoint: Savepoint, uid: str, states: Sequence[StoredState]
) -> DataFrame:
    """A row for each key of an operator, with the states that a function registers.

    Raises:
        OperatorNotFoundError: The savepoint has no such operator.
    """
    schema = key_rows_type(states)
    rows = spark.createDataFrame([], schema)
    for reading in SwitchReading.all_of(savepoint, uid, states):
        count = len(reading.splits)
        numbers = spark.range(0, count, 1, max(count, 1))
        rows = rows.unionAll(numbers.mapInArrow(reading.run, schema))
    merged = [_merged(field).alias(field.name) for field in schema.fields[1:]]
    return rows.groupBy(KEY).agg(*merged)


def _merged(field: StructField) -> Column:
    """Merges a column of the rows of a key, see ``KeyRow.merged``."""
    if isinstance(field.dataType, ArrayType):
        return F.flatten(F.collect_list(field.name))
    return F.first(field.name, ignorenulls=True)


@dataclass(frozen=True, slots=True)
class SwitchReading:
    """Reads the rows of keys from a table: of keyed state, of windows, or of timers.

    A task gets the numbers of its splits. ``columns`` maps the states to read to columns. A key has
    a row for its state, one for each namespace, and one for each timer.
    """

    scan: TableScan
    splits: tuple[KeyedSplit, ...]
    columns: dict[str, str]
    schema: pa.Schema

    @classmethod
    def all_of(cls, savepoint: Savepoint, uid: str, states: Sequence[StoredState]) -> list[Self]:
        """Reads the tables of an operator that have these states; see ``initial_state``."""
        schema = arrow_schema(key_rows_type(states))
        columns = state_columns(state.name for state in states)
        wanted = columns.keys() | TIMERS.keys()
        scans = [
            savepoint.scan(f"{uid}.{table.name}", with_times=True)
            for table in savepoint.operator(uid).tables
            if any(state.kind.is_keyed and state.name in wanted for state in table.states)
        ]
        return [cls(scan, tuple(_keyed(scan.splits())), columns, schema) for scan in scans]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the splits of these numbers."""
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                yield from self.rows(number)

    def rows(self, number: int) -> Iterator[pa.RecordBatch]:
        is_timers = self.scan.table.states[0].kind is StateKind.TIMERS
        columns = self._timers if is_timers else self._states
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
            if state.name not in self.columns:
                continue
            values = stream_elements(batch.column(index), state.stored)
            states[self.columns[state.name]] = (
                encoded(state.stored, values)
                if state.namespace is None
                else _entries(state.namespace, state.stored, batch, values)
            )
        return states

    def _timers(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        namespace = self.scan.table.states[0].namespace
        timestamps = batch.column("timestamp").cast(pa.int64())
        timers = {KEY: self._keys(batch)}
        for service in pc.unique(batch.column("service")).to_pylist():
            of_service = pc.equal(batch.column("service"), service)
            for domain, name in timer_states(service).items():
                if name not in (self.columns if namespace is not None else TIMERS):
                    continue
                is_there = pc.and_(of_service, pc.equal(batch.column("time_domain"), domain))
                times = pc.if_else(is_there, timestamps, pa.scalar(None, pa.int64()))
                timers[_TIMERS[domain]] = _alone(times)
                if namespace is not None:
                    timers[self.columns[name]] = _entries(namespace, Long(), batch, times)
        return timers

    def _keys(self, batch: pa.RecordBatch) -> pa.Array:
        layout = self.scan.table.states[0].key
        assert layout is not None  # keyed state has one
        return encoded_keys(layout, batch.column(KEY))


def _alone(values: pa.Array) -> pa.ListArray:
    """Each value as a list of its own; null for null."""
    lists = pa.ListArray.from_arrays(np.arange(len(values) + 1, dtype="i4"), values)
    return pc.if_else(values.is_valid(), lists, pa.scalar(None, lists.type))


def _entries(
    namespace: Layout, contents: Layout, batch: pa.RecordBatch, values: pa.Array
) -> pa.ListArray:
    """The entry of each row, see ``entry_layout``; null without a value."""
    layout = entry_layout(namespace, contents)
    pairs = [batch.column(NAMESPACE), values]
    entries = pa.StructArray.from_arrays(
        [column.cast(field.type) for column, field in zip(pairs, arrow_type(layout), strict=True)],
        fields=list(arrow_type(layout)),
        mask=values.is_null(),
    )
    return _alone(encoded(layout, entries))


def _keyed(splits: Iterable[Split]) -> Iterator[KeyedSplit]:
    for split in splits:
        assert isinstance(split, KeyedSplit)  # both tables are of keyed state
        yield split


_MANIFEST = "switch.json"
_WRITTEN = pa.schema(
    [("name", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("has_times", pa.bool_())]
)


@dataclass(frozen=True, slots=True)
class SwitchFile:
    """The state of some key groups of a table, in files whose names begin with ``name``."""

    name: str
    start: int
    end: int
    has_times: bool


@dataclass(frozen=True, slots=True)
class SwitchState:
    """The state of keys at the switch, in files of a directory."""

    directory: str
    files: tuple[SwitchFile, ...]

    @classmethod
    def of(
        cls,
        directory: str,
        savepoint: SparkSavepoint,
        uid: str,
        states: Sequence[StoredState],
        watermark: int,
    ) -> Self:
        """The state of an operator; its files are written unless they are there already.

        Raises:
            OperatorNotFoundError: The savepoint has no such operator.
            SavepointError: A task or the file system failed with this error.
        """
        manifest = Location.of(f"{directory}/{_MANIFEST}")
        if manifest.file_size() is None:
            _clear(directory)
            tables = SwitchReading.all_of(savepoint, uid, states)
            written = [
                asdict(file)
                for table in tables
                for file in SwitchWriting(directory, table, watermark).files(savepoint)
            ]
            with whole_file(f"{directory}/{_MANIFEST}", is_overwritten=True) as file:
                file.write(json.dumps(written).encode())
        with manifest.filesystem.open_input_stream(manifest.path) as stream:
            files = json.loads(stream.read())
        return cls(directory, tuple(SwitchFile(**fields) for fields in files))

    def row(self, key_group: int, key: bytes) -> KeyRow | None:
        """The state of a key; None for nothing."""
        rows = [
            KeyRow.of(row[1:])
            for file in self.files
            if file.start <= key_group <= file.end
            for row in sorted_file(_keys(self.directory, file.name)).rows_of(key)
        ]
        return KeyRow.merged(rows) if rows else None

    def keys_due(self, since: int, until: int) -> Iterator[pa.Array]:
        """The keys that wake up at a watermark above ``since``, and up to ``until``."""
        for path in self._times:
            for batch in sorted_file(path).between(since, until):
                yield batch.column(1)

    def next_alarm(self, since: int) -> int | None:
        """The first watermark above ``since`` at which a key wakes up; None if none does."""
        alarms = (sorted_file(path).first_above(since) for path in self._times)
        return min((alarm for alarm in alarms if alarm is not None), default=None)

    @property
    def _times(self) -> list[str]:
        return [_times(self.directory, file.name) for file in self.files if file.has_times]


def _clear(directory: str) -> None:
    location = Location.of(directory)
    location.filesystem.create_dir(location.path)
    location.filesystem.delete_dir_contents(location.path)


def _keys(directory: str, name: str) -> str:
    return f"{directory}/{name}-keys.arrow"


def _times(directory: str, name: str) -> str:
    return f"{directory}/{name}-times.arrow"


@dataclass(frozen=True, slots=True)
class SwitchWriting:
    """Writes the files of a table, in tasks."""

    directory: str
    table: SwitchReading
    watermark: int

    def files(self, savepoint: SparkSavepoint) -> list[SwitchFile]:
        count = len(self.table.splits)
        if not count:
            return []
        with typed_errors():
            numbers = savepoint.spark.range(0, count, 1, count)
            written = numbers.mapInArrow(self.run, spark_schema(_WRITTEN)).collect()
        return [SwitchFile(*row) for row in written]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            files = [asdict(self._file(number)) for number in numbers.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(files, _WRITTEN)

    def _file(self, number: int) -> SwitchFile:
        rows = pa.Table.from_batches(self.table.rows(number), self.table.schema)
        times = self._times(rows)
        name, key_groups = uuid4().hex, self.table.splits[number].key_groups
        write_sorted(_keys(self.directory, name), rows)
        if times.num_rows:
            write_sorted(_times(self.directory, name), times)
        return SwitchFile(name, key_groups.start, key_groups.end, bool(times.num_rows))

    def _times(self, rows: pa.Table) -> pa.Table:
        """The first alarm of each key with event-time timers, and the key."""
        timers = rows.column(EVENT_TIMERS)
        timed = pa.table(
            {
                KEY: rows.column(KEY).take(pc.list_parent_indices(timers)),
                "first": pc.list_flatten(timers),
            }
        )
        firsts = timed.group_by(KEY).aggregate([("first", "min")])
        alarms = pc.max_element_wise(firsts.column("first_min"), first_alarm(self.watermark))
        return pa.table({"alarm": alarms, KEY: firsts.column(KEY)})


_SCHEMA = pa.schema([(KEY, pa.large_binary())])


class SwitchAlarms:
    """Wakes up keys of the switch when the watermark reaches their first timer.

    Spark has no timer of a key that is not in its state store. So at the end of each micro-batch,
    the driver determines how far its rows bring the watermark. It writes the keys that become due
    to ``wake_ups``, where the next batch reads them. That batch is the first with this watermark. A
    key that wakes too early, or twice, fires nothing: it is in the store from then on, with a timer
    of Spark.
    """

    def __init__(
        self, switch: SwitchState, wake_ups: str, watermarks: InputWatermarks, since: int
    ) -> None:
        self._switch = switch
        self._wake_ups = wake_ups
        self._watermarks = watermarks
        self._since = since
        self._next = switch.next_alarm(since)

    def ring(self) -> None:
        """Wakes up the keys that the current batch makes due, before the batch is committed."""
        until = self._watermarks.greatest
        if self._next is None or until < self._next:
            return
        folder = f"{self._wake_ups}/{uuid4().hex}"
        location = Location.of(folder)
        location.filesystem.create_dir(location.path)
        with (
            whole_file(f"{folder}/keys.parquet", is_overwritten=False) as file,
            pq.ParquetWriter(file, _SCHEMA) as writer,
        ):
            for keys in self._switch.keys_due(self._since, until):
                writer.write_batch(pa.RecordBatch.from_arrays([keys], schema=_SCHEMA))
        self._since, self._next = until, self._switch.next_alarm(until)
