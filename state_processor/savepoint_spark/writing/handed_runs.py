"""Runs on their way from the tasks that make them to those that write the files.

Where a savepoint is written to a directory of the machine, each task that makes runs leaves them in
a file there, and Spark shuffles where they lie: the runs themselves would go from Python to Java, to
the shuffle's files, and all the way back. Every task must see that directory anyway, for the files
of the savepoint are written to it by tasks. Files of runs go when the savepoint is committed, as
those of failed attempts do. On their way to any other file system, runs are shuffled as they are.

The rows are those of ``run_encoding.RUNS``, or of local state, with one more column:

| column    | type   | meaning                                                                  |
|-----------|--------|--------------------------------------------------------------------------|
| file      | STRING | the file that the row's ``run`` or ``keys`` lies in, which is then where |
|           |        | in it: position and size, in 8 bytes each, little endian; or null        |
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

from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.errors import SavepointError
from savepoint_spark.writing.run_encoding import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from savepoint_formats.new_snapshot.directory import NewSnapshot
    from savepoint_formats.new_snapshot.new_file import NewFile
    from savepoint_formats.pass_through.copied_sections import StoredSections

    MakeRuns = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FILE = "file"

PLACES = f"{FILE} STRING, places BINARY"
"""Where runs of a file lie, in the form of ``PlacedRuns.of``."""

_PLACE = struct.Struct("<qq")
_MOST_ASSEMBLED = 16 << 30
_MOST_OPEN = 256
"""A task reads from the files of all tasks that made runs, of which there may be thousands."""


@dataclass(frozen=True)
class RunSource:
    """Rows, and how a task makes runs of them.

    Attributes:
        data: The rows.
        make: Gives the runs of a partition; None if the rows are runs already.
        columns: The columns of the runs.
        sections: Gives the sections that all of the runs lie in as they are, if they do.
        stored_size: The bytes of the savepoint that all rows are of. It has each key once, so that no
            runs need to meet in a task; None if they are of anything else.
    """

    data: DataFrame
    make: MakeRuns | None
    columns: str = RUNS
    sections: Callable[[], StoredSections | None] = lambda: None
    stored_size: int | None = None

    def frame(self) -> DataFrame:
        """The runs as they are."""
        return self.data if self.make is None else self.data.mapInArrow(self.make, self.columns)

    def is_assembled_in(self, target: NewSnapshot) -> bool:
        """Whether the driver puts the runs together, as it does with sections that it copies.

        It is one machine, which tasks of a cluster are not: so what is large they put together.
        """
        size = self.stored_size
        return target.is_local and size is not None and size <= _MOST_ASSEMBLED

    def placed(self, target: NewSnapshot) -> DataFrame:
        """Where all runs of a savepoint are, once they are left in files: ``PLACES``.

        Args:
            target: The savepoint that they are for, in a directory of the machine.
        """
        assert self.make is not None  # what is of a savepoint is read by tasks
        return self.data.mapInArrow(LeftRuns(self.make, target).places, PLACES)

    def handed_over(self, target: NewSnapshot) -> DataFrame:
        """The runs, or where they are, with the column ``file``.

        Args:
            target: The savepoint that they are for.
        """
        if self.make is None or not target.is_local:
            return self.frame().withColumn(FILE, F.lit(None).cast("string"))
        return self.data.mapInArrow(
            LeftRuns(self.make, target).run, f"{self.columns}, {FILE} STRING"
        )


@dataclass(frozen=True, slots=True)
class LeftRuns:
    """Makes runs, and leaves them in a file.

    Attributes:
        make: Makes them.
        target: The directory that takes the file.
    """

    make: MakeRuns
    target: NewSnapshot

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Where the runs of a partition are."""
        with self.target.create("runs", is_lasting=False) as file:
            for runs in self.make(batches):
                columns = {name: runs.column(name) for name in runs.schema.names}
                for name in ("run", "keys"):
                    columns[name] = _left(columns[name], file)
                columns[FILE] = pa.repeat(pa.scalar(file.path), len(runs))
                yield pa.RecordBatch.from_pydict(columns)

    @user_frames_first
    def places(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same as rows of ``PLACES``, of runs that come without hashes of keys."""
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
    """The bytes of all values, and where in them each begins and the last one ends."""
    _, buffer, data = values.buffers()
    offsets = np.frombuffer(buffer, np.int32)[values.offset :][: len(values) + 1]
    first, end = int(offsets[0]), int(offsets[-1])
    # Offsets of Arrow have 32 bits, and a file of runs may have more than 2 GiB.
    return offsets.astype(np.int64) - first, data.slice(first, end - first)


class Piece(NamedTuple):
    """A row of runs; of local state with the subtask that it is of."""

    key_group: int
    run: bytes | None
    keys: bytes | None
    subtask: int = 0


class HandedRuns:
    """The rows that come to a task, with their runs: a context that keeps files open."""

    def __init__(self, target: NewSnapshot) -> None:
        self._target = target
        self._open: OrderedDict[str, pa.NativeFile] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        """The rows; each run is read as the row is asked for.

        Raises:
            SavepointError: A file is gone, or not what was written to it.
        """
        for batch in batches:
            for row in batch.to_pylist():
                yield self._piece(**row)

    def _piece(self, file: str | None, run: bytes | None, keys: bytes | None, **of: Any) -> Piece:
        if file is not None:
            run = None if run is None else self._read(file, run)
            keys = None if keys is None else self._read(file, keys)
        return Piece(run=run, keys=keys, **of)

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
