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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.bytes import (
    BOOL,
    INT,
    TEXT,
    UTF,
    Codec,
    DataInputView,
    DataOutputView,
    FormRecord,
    constant,
    list_codec,
    optional_codec,
)
from savepoint_formats.errors import FormatError, RefusedError, UnsupportedVersionError

if TYPE_CHECKING:
    from savepoint_extensions.connectors.kafka.versioned import Versioned

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
    """

    is_base: bool
    version: int

    def expect_known(self, view: DataInputView) -> Self:
        """Raises ``UnsupportedVersionError`` for a version that no release has written."""
        if not 1 <= self.version <= (_NEWEST_BASE if self.is_base else _NEWEST_MYSQL):
            raise view.error(f"a split of version {self.version}", UnsupportedVersionError)
        return self

    @property
    def catalog(self) -> dict[str, Codec]:
        """Whether a name begins with a catalog, where that is stored."""
        return {"catalog": BOOL} if self.is_base and self.version >= 4 else {}

    @property
    def has_suspended(self) -> bool:
        return self.version >= (5 if self.is_base else 4)

    @property
    def position(self) -> Codec:
        """JSON of a position; None where there is none."""
        return optional_codec(Codec(self._read_position, self._write_position))

    def _read_position(self, view: DataInputView) -> str:
        if self.version == 1:
            return json.dumps({"file": view.read_utf(), "pos": str(view.read_long())})
        text: str = TEXT.read(view)
        if (values := position_values(text)) is None:
            raise view.error("a position that is no JSON of texts")
        if values and not self.is_base and not {"file", "kind"} & set(values):
            raise view.error(f"a position {text}, which is another connector's")
        return text

    def _write_position(self, view: DataOutputView, position: str) -> None:
        if self.version > 1:
            TEXT.write(view, position)
            return
        values = position_values(position) or {}
        if set(values) != {"file", "pos"}:
            raise RefusedError(f"{position}: splits of version 1 hold nothing but file and pos")
        view.write_utf(values["file"] or "")
        view.write_long(int(values["pos"] or 0))

    def read_stream_id(self, view: DataInputView) -> str:
        split = view.read_utf()
        if split.startswith("binlog") is self.is_base:
            raise view.error(f"a split {split!r}, which is another connector's")
        return split

    def read_suspended(self, view: DataInputView) -> bool | None:
        """Whether a stream is suspended; None where MySQL's connector left it out at the end."""
        return view.read_strict_bool() if self.is_base or view.remaining else None


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


@dataclass(frozen=True, slots=True)
class CdcSchema(FormRecord):
    """Schema of a table, as JSON."""

    table: str
    document: str
    catalog: bool = True

    @classmethod
    def fields(cls, form: CdcForm) -> dict[str, Codec]:
        return form.catalog | {"table": UTF, "document": UTF if form.version == 1 else TEXT}


def schemas_of(form: CdcForm) -> Codec:
    """Schemas of several tables."""
    return list_codec(CdcSchema.codec(form), 4)


@dataclass(frozen=True, slots=True)
class FinishedSplit(FormRecord):
    """A snapshot split that was read, as the stream split remembers it."""

    table: str
    split: str
    start: str
    end: str
    factory: str
    watermark: str | None
    catalog: bool = True

    @classmethod
    def fields(cls, form: CdcForm) -> dict[str, Codec]:
        names = dict.fromkeys(("table", "split", "start", "end"), UTF)
        factory = UTF if form.is_base else constant("")
        return names | {"factory": factory, "watermark": form.position} | form.catalog


@dataclass(frozen=True, slots=True)
class SnapshotSplit(FormRecord):
    """A range of keys of a table, to be read once; after that it has a watermark."""

    table: str
    split: str
    key_type: str
    start: str
    end: str
    watermark: str | None
    schemas: tuple[CdcSchema, ...] = ()
    catalog: bool = True

    @classmethod
    def fields(cls, form: CdcForm) -> dict[str, Codec]:
        names = dict.fromkeys(("table", "split", "key_type", "start", "end"), UTF)
        return form.catalog | names | {"watermark": form.position, "schemas": schemas_of(form)}


@dataclass(frozen=True, slots=True)
class StreamSplit(FormRecord):
    """The changes of all tables, from a position on.

    Attributes:
        start: Position of the next change.
        end: Position of the last one; usually one that never comes.
        finished: Snapshot splits that were read; changes before their watermarks are in them.
        total: Number of finished splits; readers may have got fewer so far.
        is_suspended: Whether the reader waits for snapshots of new tables; None where it is left out.
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
    def fields(cls, form: CdcForm) -> dict[str, Codec]:
        def write_suspended(view: DataOutputView, is_suspended: bool | None) -> None:
            if is_suspended is not None:
                view.write_bool(is_suspended)

        suspended = Codec(form.read_suspended, write_suspended)
        return {
            "split": Codec(form.read_stream_id, DataOutputView.write_utf),
            "unused": UTF,
            "start": form.position,
            "end": form.position,
            "finished": list_codec(FinishedSplit.codec(form), 9),
            "schemas": schemas_of(form),
            "total": INT if form.version >= 3 else constant(0),
            "is_suspended": suspended if form.has_suspended else constant(None),
            "is_completed": BOOL if form.version >= 6 else constant(False),
        }


CdcSplit = SnapshotSplit | StreamSplit
_KINDS: dict[int, type[CdcSplit]] = {1: SnapshotSplit, 2: StreamSplit}


def read_split(data: bytes, form: CdcForm, path: str) -> CdcSplit:
    """Raises ``FormatError`` if the bytes are no split of this form."""
    view = DataInputView(data, path)
    form.expect_known(view)
    kind = view.read_int()
    if kind not in _KINDS:
        raise view.error(f"a split of kind {kind}, expected 1 or 2")
    split: CdcSplit = _KINDS[kind].codec(form).read(view)
    view.expect_end()
    if isinstance(split, StreamSplit) and form.version < 3:
        return replace(split, total=len(split.finished))
    return split


def split_bytes(split: CdcSplit, form: CdcForm) -> bytes:
    """Raises ``RefusedError`` if splits of this version can't hold it."""
    view = DataOutputView()
    view.write_int(next(kind for kind, known in _KINDS.items() if isinstance(split, known)))
    split.codec(form).write(view, split)
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
