"""The state of the switch: files in which a stream looks up the state of a key that it first meets.

Spark takes initial state key by key, through Python, at a tenth of a millisecond each. So the stream begins
with an empty state store, and a key enters it with its first visit. Keys without a visit stay in the files
and cost nothing. A key in the store is never looked up again, and its row says if it has nothing left.

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

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.whole_file import whole_file
from savepoint_functions.functions.sorted_inputs import KEY
from savepoint_functions.mixed_mode.initial_state import KeyRowsReading
from savepoint_functions.mixed_mode.sorted_file import sorted_file, write_sorted
from savepoint_functions.mixed_mode.stored_backend import EVENT_TIMERS, KeyRow, first_alarm
from savepoint_spark.session.task_errors import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_functions.mixed_mode.watermarks import InputWatermarks
    from savepoint_spark.savepoint.spark_savepoint import SparkSavepoint

_MANIFEST = "switch.json"
_WRITTEN = "name STRING, start INT, end INT, has_times BOOLEAN"
_ARROW_WRITTEN = pa.schema(
    [
        ("name", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("has_times", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class SwitchFile:
    """The state of some key groups, of one table of the savepoint, in files whose names begin with ``name``."""

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
        states: Sequence[str],
        watermark: int,
    ) -> Self:
        """The state of an operator; its files are written unless they are there already.

        Raises:
            OperatorNotFoundError: The savepoint has no such operator.
            SavepointError: A task or the file system has failed with it.
        """
        manifest = Location.of(f"{directory}/{_MANIFEST}")
        if manifest.file_size() is None:
            _clear(directory)
            tables = KeyRowsReading.all_of(savepoint, uid, states)
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
    """Makes the directory empty, without files of a killed run."""
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
    table: KeyRowsReading
    watermark: int

    def files(self, savepoint: SparkSavepoint) -> list[SwitchFile]:
        count = len(self.table.splits)
        if not count:
            return []
        with typed_errors():
            numbers = savepoint.spark.range(0, count, 1, count)
            written = numbers.mapInArrow(self.run, _WRITTEN).collect()
        return [SwitchFile(*row) for row in written]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            files = [asdict(self._file(number)) for number in numbers.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(files, _ARROW_WRITTEN)

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

    Spark has no timer of a key that is not in its state store. So at the end of each micro-batch, the driver
    looks how far its rows bring the watermark, and writes the keys that become due to ``wake_ups``, where the next
    batch reads them. That batch is the first with this watermark. A key that wakes too early, or twice, fires
    nothing: it is in the store from then on, with a timer of Spark.
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
