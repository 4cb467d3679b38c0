"""Splits of change data capture: snapshots of tables, and the stream of their changes.

MySQL's connector has a form of its own. Postgres, MongoDB, Oracle, SQL Server and Db2 share the form of
``flink-cdc-base``; some fields are in that form only, from a version on.

| snapshot  | field     | MySQL 1 to 4 | base 1 to 6 | meaning                                    |
|-----------|-----------|--------------|-------------|--------------------------------------------|
| i32       | kind      | all          | all         | 1                                          |
| bool      | catalog   |              | 4           | whether the name begins with a catalog     |
| utf       | table     | all          | all         | name, with or without quotes               |
| utf       | split     | all          | all         | id: the table, a colon, a number           |
| utf       | key_type  | all          | all         | type of the split key, as SQL              |
| utf utf   | start end | all          | all         | serialized rows; they stay as they are     |
| …         | watermark | all          | all         | position at its end; none while it is read |
| …         | schemas   | all          | all         |                                            |

| stream    | field     | MySQL 1 to 4 | base 1 to 6 | meaning                                    |
|-----------|-----------|--------------|-------------|--------------------------------------------|
| i32       | kind      | all          | all         | 2                                          |
| utf       | split     | all          | all         | ``binlog-split``, ``stream-split``         |
| utf       | unused    | all          | all         | empty                                      |
| … …       | start end | all          | all         | positions                                  |
| i32, …    | finished  | all          | all         | snapshot splits: below                     |
| …         | schemas   | all          | all         |                                            |
| i32       | total     | 3            | 3           | number of finished splits                  |
| bool      | suspended | 4            | 5           | some releases of MySQL's 4 leave it out    |
| bool      | completed | never        | 6           | whether the snapshot is complete           |

| structure | bytes                                                                                |
|-----------|--------------------------------------------------------------------------------------|
| position  | bool present; version 1: utf file, i64 position; later: i32 size, JSON of texts      |
| finished  | utf table, split, start, end; base: utf factory; position; base 4: bool catalog      |
| schemas   | i32 n: base 4: bool catalog; utf table; version 1: utf JSON; later: i32 size, JSON   |

Connectors: ``MySqlSplitSerializer``, ``SourceSplitSerializer``, ``FinishedSnapshotSplitInfo``,
``SerializerUtils``, ``OffsetDeserializerSerializer``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, RefusedError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.kafka.versioned import Versioned

Item = TypeVar("Item")

SNAPSHOT, STREAM = 1, 2
_NEWEST_MYSQL, _NEWEST_BASE = 4, 6

_NAME = re.compile(r'`((?:[^`]|``)*)`|"((?:[^"]|"")*)"|([^.]+)')


def plain_table(table: str) -> str:
    """The name of a table without quotes, as users write it."""
    return ".".join("".join(parts) for parts in _NAME.findall(table))


@dataclass(frozen=True, slots=True)
class CdcForm:
    """Fields that splits have.

    Attributes:
        is_base: Whether the connector uses ``flink-cdc-base``.
        version: Version of its splits.
    """

    is_base: bool
    version: int

    def expect_known(self, view: DataInputView) -> Self:
        """Raises ``UnsupportedVersionError`` for a version that no release has written."""
        if not 1 <= self.version <= (_NEWEST_BASE if self.is_base else _NEWEST_MYSQL):
            raise view.error(f"a split of version {self.version}", UnsupportedVersionError)
        return self

    @property
    def has_catalog(self) -> bool:
        return self.is_base and self.version >= 4

    @property
    def has_suspended(self) -> bool:
        return self.version >= (5 if self.is_base else 4)

    def read_catalog(self, view: DataInputView) -> bool:
        return view.read_strict_bool() if self.has_catalog else True

    def write_catalog(self, view: DataOutputView, catalog: bool) -> None:
        if self.has_catalog:
            view.write_bool(catalog)

    def read_position(self, view: DataInputView) -> str | None:
        """JSON of a position; None where there is none."""
        if not view.read_strict_bool():
            return None
        if self.version == 1:
            return json.dumps({"file": view.read_utf(), "pos": str(view.read_long())})
        text = read_text(view)
        if (values := position_values(text)) is None:
            raise view.error("a position that is no JSON of texts")
        if values and not self.is_base and not {"file", "kind"} & set(values):
            raise view.error(f"a position {text}, which is another connector's")
        return text

    def write_position(self, view: DataOutputView, position: str | None) -> None:
        view.write_bool(position is not None)
        if position is None:
            return
        if self.version > 1:
            write_text(view, position)
            return
        values = position_values(position) or {}
        if set(values) != {"file", "pos"}:
            raise RefusedError(f"{position}: splits of version 1 hold nothing but file and pos")
        view.write_utf(values["file"] or "")
        view.write_long(int(values["pos"] or 0))


def position_values(text: str) -> dict[str, str | None] | None:
    """Names and texts of a position; None for any other JSON."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_position = isinstance(values, dict) and all(
        value is None or isinstance(value, str) for value in values.values()
    )
    return values if is_position else None


def read_text(view: DataInputView) -> str:
    """A text: i32 size, UTF-8."""
    try:
        return view.read_bytes(view.read_count()).decode()
    except UnicodeDecodeError as error:
        raise view.error(f"no UTF-8: {error.reason}") from error


def write_text(view: DataOutputView, text: str) -> None:
    """The mirror of ``read_text``."""
    data = text.encode()
    view.write_int(len(data))
    view.write_bytes(data)


@dataclass(frozen=True, slots=True)
class CdcSchema:
    """Schema of a table, as JSON."""

    table: str
    document: str
    catalog: bool = True

    @classmethod
    def read(cls, view: DataInputView, form: CdcForm) -> Self:
        catalog, table = form.read_catalog(view), view.read_utf()
        document = view.read_utf() if form.version == 1 else read_text(view)
        return cls(table, document, catalog)

    def write(self, view: DataOutputView, form: CdcForm) -> None:
        form.write_catalog(view, self.catalog)
        view.write_utf(self.table)
        if form.version == 1:
            view.write_utf(self.document)
        else:
            write_text(view, self.document)


def read_list(view: DataInputView, read: Callable[[], Item], size: int) -> tuple[Item, ...]:
    """An i32 count, then items of at least ``size`` bytes."""
    return tuple(read() for _ in range(view.read_count(size)))


def read_schemas(view: DataInputView, form: CdcForm) -> tuple[CdcSchema, ...]:
    """Schemas of several tables."""
    return read_list(view, lambda: CdcSchema.read(view, form), 4)


def write_all(
    view: DataOutputView, form: CdcForm, items: tuple[CdcSchema | FinishedSplit, ...]
) -> None:
    """An i32 count, then the items."""
    view.write_int(len(items))
    for item in items:
        item.write(view, form)


@dataclass(frozen=True, slots=True)
class FinishedSplit:
    """A snapshot split that was read, as the stream split remembers it."""

    table: str
    split: str
    start: str
    end: str
    factory: str
    watermark: str | None
    catalog: bool = True

    @classmethod
    def read(cls, view: DataInputView, form: CdcForm) -> Self:
        return cls(
            view.read_utf(),
            view.read_utf(),
            view.read_utf(),
            view.read_utf(),
            view.read_utf() if form.is_base else "",
            form.read_position(view),
            form.read_catalog(view),
        )

    def write(self, view: DataOutputView, form: CdcForm) -> None:
        for text in (self.table, self.split, self.start, self.end):
            view.write_utf(text)
        if form.is_base:
            view.write_utf(self.factory)
        form.write_position(view, self.watermark)
        form.write_catalog(view, self.catalog)


@dataclass(frozen=True, slots=True)
class SnapshotSplit:
    """A range of keys of a table, to be read once; it has a watermark as soon as it was read."""

    table: str
    split: str
    key_type: str
    start: str
    end: str
    watermark: str | None
    schemas: tuple[CdcSchema, ...] = ()
    catalog: bool = True

    @classmethod
    def read(cls, view: DataInputView, form: CdcForm) -> Self:
        catalog = form.read_catalog(view)
        return cls(
            view.read_utf(),
            view.read_utf(),
            view.read_utf(),
            view.read_utf(),
            view.read_utf(),
            form.read_position(view),
            read_schemas(view, form),
            catalog,
        )

    def write(self, view: DataOutputView, form: CdcForm) -> None:
        view.write_int(SNAPSHOT)
        form.write_catalog(view, self.catalog)
        for text in (self.table, self.split, self.key_type, self.start, self.end):
            view.write_utf(text)
        form.write_position(view, self.watermark)
        write_all(view, form, self.schemas)


@dataclass(frozen=True, slots=True)
class StreamSplit:
    """The changes of all tables, from a position on.

    Attributes:
        split: Its id.
        start: Position of the next change.
        end: Position of the last one; usually one that never comes.
        finished: Snapshot splits that were read; changes before their watermarks are in them.
        schemas: Schemas of the tables.
        total: Number of finished splits; readers may have got fewer so far.
        is_suspended: Whether the reader waits for snapshots of new tables; None where it is left out.
        is_completed: Whether the snapshot is complete.
        unused: A text that connectors write and ignore.
    """

    split: str
    start: str | None
    end: str | None
    finished: tuple[FinishedSplit, ...]
    schemas: tuple[CdcSchema, ...]
    total: int
    is_suspended: bool | None = False
    is_completed: bool = False
    unused: str = ""

    @classmethod
    def read(cls, view: DataInputView, form: CdcForm) -> Self:
        split, unused = view.read_utf(), view.read_utf()
        if split.startswith("binlog") is form.is_base:
            raise view.error(f"a split {split!r}, which is another connector's")
        start, end = form.read_position(view), form.read_position(view)
        finished = read_list(view, lambda: FinishedSplit.read(view, form), 9)
        schemas = read_schemas(view, form)
        total = view.read_int() if form.version >= 3 else len(finished)
        may_lack = not form.is_base and not view.remaining
        is_suspended = None if may_lack or not form.has_suspended else view.read_strict_bool()
        is_completed = form.version >= 6 and view.read_strict_bool()
        return cls(split, start, end, finished, schemas, total, is_suspended, is_completed, unused)

    def write(self, view: DataOutputView, form: CdcForm) -> None:
        view.write_int(STREAM)
        view.write_utf(self.split)
        view.write_utf(self.unused)
        form.write_position(view, self.start)
        form.write_position(view, self.end)
        write_all(view, form, self.finished)
        write_all(view, form, self.schemas)
        if form.version >= 3:
            view.write_int(self.total)
        if form.has_suspended and self.is_suspended is not None:
            view.write_bool(self.is_suspended)
        if form.version >= 6:
            view.write_bool(self.is_completed)


CdcSplit = SnapshotSplit | StreamSplit


def read_split(data: bytes, form: CdcForm, path: str) -> CdcSplit:
    """Raises ``FormatError`` if the bytes are no split of this form."""
    view = DataInputView(data, path)
    form.expect_known(view)
    kind = view.read_int()
    if kind not in (SNAPSHOT, STREAM):
        raise view.error(f"a split of kind {kind}, expected 1 or 2")
    split = (SnapshotSplit if kind == SNAPSHOT else StreamSplit).read(view, form)
    view.expect_end()
    return split


def split_bytes(split: CdcSplit, form: CdcForm) -> bytes:
    """Raises ``RefusedError`` if splits of this version can't hold it."""
    view = DataOutputView()
    split.write(view, form)
    return view.to_bytes()


def read_cdc_split(versioned: Versioned, path: str) -> tuple[CdcForm, CdcSplit]:
    """Reads a split of either form. Raises ``FormatError`` if the bytes are a split of neither."""
    mysql = CdcForm(is_base=False, version=versioned.version)
    base = CdcForm(is_base=True, version=versioned.version)
    view = DataInputView(versioned.data, path)
    for form in (mysql, base):
        try:
            return form, read_split(versioned.data, form, path)
        except FormatError:
            continue
    raise view.error("no split of change data capture")
