"""State of the enumerator of change data capture: splits that no reader has, and tables.

The versions are those of the enumerator, not of its splits:

| bytes      | field       | MySQL 1 to 5 | base 1 to 8 | meaning                                      |
|------------|-------------|--------------|-------------|----------------------------------------------|
| i32        | version     | all          | all         | of the splits and positions below            |
| i32        | kind        | all          | all         | 1 snapshot, 2 stream, 3 both                 |
| i32, …     | processed   | all          | all         | tables that are divided into splits; not in 2 |
| i32, …     | remaining   | all          | all         | snapshot splits: i32 size, bytes; not in 2   |
| i32, …     | assigned    | all          | all         | utf id, split likewise; not in 2             |
| i32, …     | finished    | all          | all         | utf id, position; not in 2                   |
| i32        | status      | 3            | 6           | a bool before: whether all are assigned      |
| i32, …     | waiting     | 3            | 3           | tables that wait to be divided; not in 2     |
| bool       | sensitive   | 3            | 3           | whether names are case sensitive; not in 2   |
| i32, …     | schemas     | 4            | 4           | of all tables; not in 2                      |
| i32, …     | checkpoints | never        | 7           | utf id, i64 checkpoint; not in 2             |
| bool, …    | divided     | 5            | 8           | utf table, utf row, i32 number; not in 2     |
| bool       | is_streamed | all          | all         | whether a reader has the stream; not in 1    |

A table is a utf; from version 5 of base on a bool in front says whether it begins with a catalog.

Connectors: ``PendingSplitsStateSerializer``, one of MySQL, one of ``flink-cdc-base``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Self

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, UnsupportedVersionError
from savepoint_formats.kafka.versioned import Versioned
from savepoint_formats.source_splits.cdc_splits import (
    CdcForm,
    CdcSchema,
    SnapshotSplit,
    read_list,
    read_schemas,
    read_split,
    split_bytes,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_SNAPSHOT, _STREAM, _BOTH = 1, 2, 3
_NEWEST_MYSQL, _NEWEST_BASE = 5, 8


class AssignerStatus(IntEnum):
    """Progress of the snapshots."""

    INITIAL_ASSIGNING = 0
    INITIAL_ASSIGNING_FINISHED = 1
    NEWLY_ADDED_ASSIGNING = 2
    NEWLY_ADDED_ASSIGNING_SNAPSHOT_FINISHED = 3
    NEWLY_ADDED_ASSIGNING_FINISHED = 4


@dataclass(frozen=True, slots=True)
class CdcTable:
    """Name of a table; ``catalog`` says whether it begins with a catalog."""

    name: str
    catalog: bool = True


@dataclass(frozen=True, slots=True)
class DividedTable:
    """The table that is being divided into splits."""

    name: str
    next_start: str
    next_number: int


@dataclass(frozen=True, slots=True)
class CdcSnapshots:
    """Snapshots of tables.

    Attributes:
        processed: Tables that are divided into splits.
        remaining: Splits that wait for a reader.
        assigned: Splits that readers got, by their ids.
        finished: Watermarks of the splits that were read, by their ids.
        status: Progress.
        waiting: Tables that wait to be divided.
        is_case_sensitive: Whether names of tables are.
        schemas: Schemas of the tables.
        checkpoints: Checkpoints in which splits were finished, by their ids.
        divided: The table that is being divided.
    """

    processed: tuple[CdcTable, ...]
    remaining: tuple[SnapshotSplit, ...]
    assigned: tuple[tuple[str, SnapshotSplit], ...]
    finished: tuple[tuple[str, str | None], ...]
    status: AssignerStatus
    waiting: tuple[CdcTable, ...] = ()
    is_case_sensitive: bool = False
    schemas: tuple[CdcSchema, ...] = ()
    checkpoints: tuple[tuple[str, int], ...] = ()
    divided: DividedTable | None = None


@dataclass(frozen=True, slots=True)
class CdcEnumerator:
    """State of an enumerator.

    Attributes:
        version: Its version.
        form: Fields of its splits.
        snapshots: Snapshots; None if the source reads only the stream.
        is_streamed: Whether a reader has the stream; None if the source reads only snapshots.
    """

    version: int
    form: CdcForm
    snapshots: CdcSnapshots | None
    is_streamed: bool | None

    @classmethod
    def of(cls, versioned: Versioned, path: str, *, is_base: bool) -> Self:
        """Raises ``FormatError`` if the bytes are no state of such an enumerator."""
        view = DataInputView(versioned.data, path)
        if not 1 <= versioned.version <= (_NEWEST_BASE if is_base else _NEWEST_MYSQL):
            message = f"an enumerator of version {versioned.version}"
            raise view.error(message, UnsupportedVersionError)
        form = CdcForm(is_base, view.read_int()).expect_known(view)
        kind = view.read_int()
        if kind not in (_SNAPSHOT, _STREAM, _BOTH):
            raise view.error(f"an enumerator of kind {kind}, expected 1 to 3")
        layout = _Layout(versioned.version, form)
        snapshots = None if kind == _STREAM else layout.read(view)
        is_streamed = None if kind == _SNAPSHOT else view.read_strict_bool()
        view.expect_end()
        return cls(versioned.version, form, snapshots, is_streamed)

    @classmethod
    def of_either(cls, versioned: Versioned, path: str) -> Self:
        """Reads the state of either form; raises ``FormatError`` if it is neither."""
        try:
            return cls.of(versioned, path, is_base=False)
        except FormatError:
            return cls.of(versioned, path, is_base=True)

    def to_versioned(self) -> Versioned:
        """The state in the versions that were read."""
        view = DataOutputView()
        view.write_int(self.form.version)
        if self.snapshots is None:
            view.write_int(_STREAM)
        else:
            view.write_int(_SNAPSHOT if self.is_streamed is None else _BOTH)
            _Layout(self.version, self.form).write(view, self.snapshots)
        if self.is_streamed is not None:
            view.write_bool(self.is_streamed)
        return Versioned(self.version, view.to_bytes())


@dataclass(frozen=True, slots=True)
class _Layout:
    """Reads and writes snapshots of a version."""

    version: int
    form: CdcForm

    @property
    def _first_status(self) -> int:
        return 6 if self.form.is_base else 3

    @property
    def _first_divided(self) -> int:
        return 8 if self.form.is_base else 5

    @property
    def _has_checkpoints(self) -> bool:
        return self.version >= 7

    @property
    def _has_catalog(self) -> bool:
        return self.form.is_base and self.version >= 5

    def read(self, view: DataInputView) -> CdcSnapshots:
        form = self.form
        processed = self._tables(view)
        remaining = read_list(view, lambda: self._split(view), 4)
        assigned = read_list(view, lambda: (view.read_utf(), self._split(view)), 6)
        finished = read_list(view, lambda: (view.read_utf(), form.read_position(view)), 3)
        if self.version < self._first_status:
            status = AssignerStatus(view.read_strict_bool())
        elif (code := view.read_int()) in tuple(AssignerStatus):
            status = AssignerStatus(code)
        else:
            raise view.error(f"a status {code}, expected 0 to 4")
        if self.version < 3:
            return CdcSnapshots(processed, remaining, assigned, finished, status)
        waiting, is_case_sensitive = self._tables(view), view.read_strict_bool()
        schemas = read_schemas(view, form) if self.version >= 4 else ()
        checkpoints: tuple[tuple[str, int], ...] = ()
        if self._has_checkpoints:
            checkpoints = read_list(view, lambda: (view.read_utf(), view.read_long()), 10)
        divided = None
        if self.version >= self._first_divided and view.read_strict_bool():
            divided = DividedTable(view.read_utf(), view.read_utf(), view.read_int())
        return CdcSnapshots(
            *(processed, remaining, assigned, finished, status, waiting, is_case_sensitive),
            *(schemas, checkpoints, divided),
        )

    def write(self, view: DataOutputView, snapshots: CdcSnapshots) -> None:
        self._write_tables(view, snapshots.processed)
        view.write_int(len(snapshots.remaining))
        for split in snapshots.remaining:
            self._write_split(view, split)
        view.write_int(len(snapshots.assigned))
        for name, split in snapshots.assigned:
            view.write_utf(name)
            self._write_split(view, split)
        view.write_int(len(snapshots.finished))
        for name, watermark in snapshots.finished:
            view.write_utf(name)
            self.form.write_position(view, watermark)
        if self.version < self._first_status:
            view.write_bool(snapshots.status > 0)
        else:
            view.write_int(snapshots.status)
        if self.version >= 3:
            self._write_rest(view, snapshots)

    def _write_rest(self, view: DataOutputView, snapshots: CdcSnapshots) -> None:
        self._write_tables(view, snapshots.waiting)
        view.write_bool(snapshots.is_case_sensitive)
        if self.version >= 4:
            write_all(view, self.form, snapshots.schemas)
        if self._has_checkpoints:
            view.write_int(len(snapshots.checkpoints))
            for name, checkpoint in snapshots.checkpoints:
                view.write_utf(name)
                view.write_long(checkpoint)
        if self.version >= self._first_divided:
            divided = snapshots.divided
            view.write_bool(divided is not None)
            if divided is not None:
                view.write_utf(divided.name)
                view.write_utf(divided.next_start)
                view.write_int(divided.next_number)

    def _tables(self, view: DataInputView) -> tuple[CdcTable, ...]:
        def read() -> CdcTable:
            catalog = view.read_strict_bool() if self._has_catalog else True
            return CdcTable(view.read_utf(), catalog)

        return read_list(view, read, 2)

    def _write_tables(self, view: DataOutputView, tables: Iterable[CdcTable]) -> None:
        listed = tuple(tables)
        view.write_int(len(listed))
        for table in listed:
            if self._has_catalog:
                view.write_bool(table.catalog)
            view.write_utf(table.name)

    def _split(self, view: DataInputView) -> SnapshotSplit:
        split = read_split(view.read_bytes(view.read_count()), self.form, view.path)
        if not isinstance(split, SnapshotSplit):
            raise view.error("a stream among the snapshots")
        return split

    def _write_split(self, view: DataOutputView, split: SnapshotSplit) -> None:
        data = split_bytes(split, self.form)
        view.write_int(len(data))
        view.write_bytes(data)
