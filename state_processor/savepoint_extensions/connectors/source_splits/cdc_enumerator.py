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
from typing import ClassVar, Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    CdcSchema,
    SnapshotSplit,
    read_split,
    schemas_of,
    split_bytes,
)
from savepoint_formats.bytes import (
    BOOL,
    BYTES,
    INT,
    LONG,
    UTF,
    Codec,
    DataInputView,
    DataOutputView,
    FormRecord,
    Record,
    enum_codec,
    list_codec,
    optional_codec,
    record_of,
    tuple_codec,
)
from savepoint_formats.errors import FormatError, UnsupportedVersionError

_SNAPSHOT, _STREAM, _BOTH = 1, 2, 3
_NEWEST_MYSQL, _NEWEST_BASE = 5, 8


class AssignerStatus(IntEnum):
    """Progress of the snapshots."""

    INITIAL_ASSIGNING = 0
    INITIAL_ASSIGNING_FINISHED = 1
    NEWLY_ADDED_ASSIGNING = 2
    NEWLY_ADDED_ASSIGNING_SNAPSHOT_FINISHED = 3
    NEWLY_ADDED_ASSIGNING_FINISHED = 4


_STATUS = enum_codec(AssignerStatus, "a status")
_WHETHER_FINISHED = Codec(
    lambda view: AssignerStatus(view.read_strict_bool()),
    lambda view, status: view.write_bool(status > 0),
)


def _split_codec(form: CdcForm) -> Codec:
    def read(view: DataInputView) -> SnapshotSplit:
        split = read_split(BYTES.read(view), form, view.path)
        if not isinstance(split, SnapshotSplit):
            raise view.error("a stream among the snapshots")
        return split

    return Codec(read, lambda view, split: BYTES.write(view, split_bytes(split, form)))


@dataclass(frozen=True, slots=True)
class CdcTable(FormRecord):
    """Name of a table; ``catalog`` says whether it begins with a catalog."""

    name: str
    catalog: bool = True

    @classmethod
    def fields(cls, form: bool) -> dict[str, Codec]:
        return ({"catalog": BOOL} if form else {}) | {"name": UTF}


@dataclass(frozen=True, slots=True)
class DividedTable(Record):
    """The table that is being divided into splits."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (UTF, UTF, INT)
    name: str
    next_start: str
    next_number: int


@dataclass(frozen=True, slots=True)
class CdcSnapshots(FormRecord):
    """Snapshots of tables.

    Attributes:
        processed: Tables that are divided into splits.
        remaining: Splits that wait for a reader.
        assigned: Splits that readers got, by their ids.
        finished: Watermarks of the splits that were read, by their ids.
        waiting: Tables that wait to be divided.
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

    @classmethod
    def fields(cls, form: tuple[int, CdcForm]) -> dict[str, Codec]:
        version, splits = form
        tables = list_codec(CdcTable.codec(splits.is_base and version >= 5), 2)
        split = _split_codec(splits)
        first_status, first_divided = (6, 8) if splits.is_base else (3, 5)
        fields = {
            "processed": tables,
            "remaining": list_codec(split, 4),
            "assigned": list_codec(tuple_codec(UTF, split), 6),
            "finished": list_codec(tuple_codec(UTF, splits.position), 3),
            "status": _STATUS if version >= first_status else _WHETHER_FINISHED,
        }
        added = (
            (3, "waiting", tables),
            (3, "is_case_sensitive", BOOL),
            (4, "schemas", schemas_of(splits)),
            (7, "checkpoints", list_codec(tuple_codec(UTF, LONG), 10)),
            (first_divided, "divided", optional_codec(record_of(DividedTable))),
        )
        return fields | {name: codec for first, name, codec in added if version >= first}


@dataclass(frozen=True, slots=True)
class CdcEnumerator:
    """State of an enumerator.

    Attributes:
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
        snapshots = None
        if kind != _STREAM:
            snapshots = CdcSnapshots.codec((versioned.version, form)).read(view)
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
            CdcSnapshots.codec((self.version, self.form)).write(view, self.snapshots)
        if self.is_streamed is not None:
            view.write_bool(self.is_streamed)
        return Versioned(self.version, view.to_bytes())
