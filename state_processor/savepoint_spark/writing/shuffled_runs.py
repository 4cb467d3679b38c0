"""Runs on their way from the tasks that make them to the tasks that write files.

A savepoint on a local disk: each task leaves its runs in a file there, and Spark shuffles only
their places. Otherwise the runs would go from Python to Java, to files of the shuffle, and back.
Committing the savepoint deletes these files, like files of failed attempts. For any other file
system, the runs themselves are shuffled.

The rows are those of ``run_encoding.RUNS``, or of local state, with one more column:

| column    | type   | meaning                                                                  |
|-----------|--------|--------------------------------------------------------------------------|
| file      | STRING | the file of the row's ``run`` or ``keys``, which then have the place in  |
|           |        | it: position and size, in 8 bytes each, little endian; or null           |
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from savepoint_database.types import user_frames_first
from savepoint_formats.errors import SavepointError
from savepoint_spark.writing.run_encoding import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from savepoint_formats.new_snapshot import NewFile, NewSnapshot
    from savepoint_formats.pass_through import StoredSections

    MakeRuns = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FILE = "file"

PLACES = f"{FILE} STRING, places BINARY"
"""The places of runs in a file, as ``PlacedRuns.of`` takes them."""

_PLACE = struct.Struct("<qq")
_MOST_ASSEMBLED = 16 << 30
_MOST_OPEN = 256
"""Limit of open files: a task reads the files of all tasks that made runs, maybe thousands."""


@dataclass(frozen=True)
class RunSource:
    """Rows, and how a task makes runs of them.

    Without ``make`` the rows are runs already. ``sections`` gives the stored sections if all runs
    are whole sections. ``stored_size`` is in bytes, if all rows are of one savepoint: each key is
    there once, so its runs needn't meet in a task.
    """

    data: DataFrame
    make: MakeRuns | None
    columns: str = RUNS
    sections: Callable[[], StoredSections | None] = lambda: None
    stored_size: int | None = None

    def frame(self) -> DataFrame:
        """The runs themselves."""
        return self.data if self.make is None else self.data.mapInArrow(self.make, self.columns)

    def is_assembled_in(self, target: NewSnapshot) -> bool:
        """Whether the driver assembles the runs, as it copies sections.

        The driver is one machine, so large runs are assembled by tasks.
        """
        size = self.stored_size
        return target.is_local and size is not None and size <= _MOST_ASSEMBLED

    def placed(self, target: NewSnapshot) -> DataFrame:
        """The places of all runs in files of a local ``target``, as ``PLACES``."""
        assert self.make is not None  # tasks read the runs of a savepoint
        return self.data.mapInArrow(LeftRuns(self.make, target).places, PLACES)

    def handed_over(self, target: NewSnapshot) -> DataFrame:
        """The runs, or their places in files of ``target``, with the column ``file``."""
        if self.make is None or not target.is_local:
            return self.frame().withColumn(FILE, F.lit(None).cast("string"))
        return self.data.mapInArrow(
            LeftRuns(self.make, target).run, f"{self.columns}, {FILE} STRING"
        )


@dataclass(frozen=True, slots=True)
class LeftRuns:
    """Makes runs, and leaves them in a file of ``target``."""

    make: MakeRuns
    target: NewSnapshot

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The places of a partition's runs."""
        with self.target.create("runs", is_lasting=False) as file:
            for runs in self.make(batches):
                columns = {name: runs.column(name) for name in runs.schema.names}
                for name in ("run", "keys"):
                    columns[name] = _left(columns[name], file)
                columns[FILE] = pa.repeat(pa.scalar(file.path), len(runs))
                yield pa.RecordBatch.from_pydict(columns)

    @user_frames_first
    def places(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The places as rows of ``PLACES``, for runs without hashes of keys."""
        with self.target.create("runs", is_lasting=False) as file:
            for runs in self.make(batches):
                values, start = runs.column("run"), file.size
                offsets, data = _bytes_of(values)
                file.write(data)
                columns = (
                    np.asarray(runs.column("key_group")),
                    offsets[:-1] + start,
                    np.diff(offsets),
                )
                places = np.stack(columns, axis=1).astype(np.int64).tobytes()
                yield pa.RecordBatch.from_pydict({FILE: [file.path], "places": [places]})


def _left(values: pa.BinaryArray, file: NewFile) -> pa.BinaryArray:
    """Appends values to a file; returns the place of each, and null where there is none."""
    if values.null_count == len(values):
        return values
    offsets, data = _bytes_of(values)
    places = np.empty((len(values), 2), "<i8")
    places[:, 0] = offsets[:-1] + file.size
    places[:, 1] = np.diff(offsets)
    file.write(data)
    width = pa.binary(_PLACE.size)
    placed = pa.FixedSizeBinaryArray.from_buffers(width, len(values), [None, pa.py_buffer(places)])
    return pc.if_else(values.is_valid(), placed, None).cast(pa.binary())


def _bytes_of(values: pa.BinaryArray) -> tuple[NDArray[np.int64], pa.Buffer]:
    """The bytes of all values, and the offsets in between."""
    _, buffer, data = values.buffers()
    offsets = np.frombuffer(buffer, np.int32)[values.offset :][: len(values) + 1]
    first, end = int(offsets[0]), int(offsets[-1])
    # Offsets of Arrow have 32 bits, but a file of runs may have more than 2 GiB.
    return offsets.astype(np.int64) - first, data.slice(first, end - first)


class RunRow(NamedTuple):
    """A row of runs; local state also has the subtask."""

    key_group: int
    run: bytes | None
    keys: bytes | None
    subtask: int = 0


class ShuffledRuns:
    """The rows of a task with their runs: a context that keeps files open."""

    def __init__(self, target: NewSnapshot) -> None:
        self._target = target
        self._open: OrderedDict[str, pa.NativeFile] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[RunRow]:
        """The rows; each run is read when its row is, and a lost file is a ``SavepointError``."""
        for batch in batches:
            for row in batch.to_pylist():
                yield self._with_runs(**row)

    def _with_runs(
        self, file: str | None, run: bytes | None, keys: bytes | None, **of: Any
    ) -> RunRow:
        if file is not None:
            run = None if run is None else self._read(file, run)
            keys = None if keys is None else self._read(file, keys)
        return RunRow(run=run, keys=keys, **of)

    def _read(self, file: str, place: bytes) -> bytes:
        position, size = _PLACE.unpack(place)
        try:
            data: bytes = self._opened(file).read_at(size, position)
        except OSError as error:
            raise SavepointError(f"{file} in {self._target.uri} can't be read: {error}") from error
        if len(data) != size:
            raise SavepointError(
                f"{file} in {self._target.uri} has {len(data)} bytes at {position}, expected"
                f" {size}: something else writes there"
            )
        return data

    def _opened(self, file: str) -> pa.NativeFile:
        file_handle = self._open.pop(file, None)
        if file_handle is None:
            if len(self._open) == _MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            file_handle = self._target.open(file)
        self._open[file] = file_handle
        return file_handle
