"""Reads manifests, which list the tables of a RocksDB.

A manifest is a log: blocks of 32 KiB, full of records that never cross a border:

| bytes  | field    | meaning                                                              |
|--------|----------|----------------------------------------------------------------------|
| u32 LE | checksum | masked CRC-32C of what follows the size                              |
| u16 LE | size     | of the data                                                          |
| u8     | type     | whole, first, middle or last of an edit; from 5 on a u32 log number  |
|        |          | follows                                                              |
| …      | data     | a version edit, or some of its bytes                                 |

If no head fits into the remaining bytes of a block, they are zeros.

A version edit is a list of fields: a varint tag, and the values of the tag. It removes and adds
tables of one column family. The number of a table is the name of its file. Its least and its
greatest key say which reads need it.

RocksDB: ``log_format.h``, ``log_reader.cc``, ``version_edit.h``, ``version_edit.cc``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.state_files.rocksdb.checksums import masked_crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.locations.state_file import StateFile

_BLOCK_SIZE = 32 << 10
_RECORD_HEAD = 7
_TYPE = 6
_LOG_NUMBER_SIZE = 4
_FIRST_RECYCLED, _END_OF_TYPES = 5, 9
_WHOLE, _FIRST, _LAST = 1, 2, 4

_COMPACTION_CURSOR = 5
_DELETED_FILE, _COLUMN_FAMILY, _COLUMN_FAMILY_ADD, _COLUMN_FAMILY_DROP = 6, 200, 201, 202
_NEW_FILES = (7, 100, 102, 103)

# n: a varint; b: bytes behind their size; t: tags with bytes behind their size, up to the tag 1.
_NUMBER, _BYTES = "nb"

# Tag -> its values. Tables begin with their level and number.
_FIELDS = {
    1: "b",  # comparator
    2: "n",  # log number
    3: "n",  # next file number
    4: "n",  # last sequence number
    _COMPACTION_CURSOR: "nb",  # where a compaction goes on
    _DELETED_FILE: "nn",
    7: "nnnbb",  # table: size, smallest and largest key
    9: "n",  # log number before
    10: "n",  # first log to keep
    100: "nnnbbnn",  # table, with smallest and largest sequence number
    102: "nnnnbbnn",  # table, with its path
    103: "nnnbbnnt",  # table, with more
    _COLUMN_FAMILY: "n",
    _COLUMN_FAMILY_ADD: "b",  # name of a new column family
    _COLUMN_FAMILY_DROP: "",
    203: "n",  # largest column family
    300: "n",  # number of further edits of the same group
}
_FORMER = (_COMPACTION_CURSOR, _DELETED_FILE, _COLUMN_FAMILY_DROP)
_END_OF_TAGGED = 1
# Keys end with a sequence number and the type of the entry.
_KEY_TRAILER = 8
# Trailer of a key that is not in the table, because a range deletion ends before it.
_END_OF_DELETION = b"\x0f" + bytes([0xFF] * 7)
_MORE = 0x80

# Bit of tags that a RocksDB may ignore if it doesn't know them.
_IGNORABLE = 1 << 13


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table in a manifest: its column family, its least key, and a key behind all of its own."""

    state: str
    smallest: bytes
    end: bytes

    def may_have(self, lower: bytes, upper: bytes) -> bool:
        """Whether it may have keys from ``lower`` to before ``upper``."""
        return self.smallest < upper and lower < self.end


def live_tables(file: StateFile) -> dict[int, ListedTable] | None:
    """Tables of all column families, by number; None if an edit has an unknown field."""
    names = {0: "default"}
    tables: dict[int, dict[int, tuple[bytes, bytes]]] = {}
    is_known = True
    for edit in version_edits(file):
        fields = _fields(edit, file.path)
        if fields is None:
            is_known = False
            continue
        family = next((field.numbers[0] for field in fields if field.tag == _COLUMN_FAMILY), 0)
        live = tables.setdefault(family, {})
        for field in fields:
            # A table that moves to another level is removed and added.
            if field.tag == _DELETED_FILE:
                live.pop(field.numbers[1], None)
        for field in fields:
            if field.tag in _NEW_FILES:
                live[field.numbers[1]] = field.texts[0], field.texts[1]
            elif field.tag == _COLUMN_FAMILY_ADD:
                names[family] = field.texts[0].decode("utf-8", "surrogateescape")
        if any(field.tag == _COLUMN_FAMILY_DROP for field in fields):
            live.clear()
    if not is_known:
        return None
    return {
        number: ListedTable(names.get(family, ""), smallest[:-_KEY_TRAILER], _end(largest))
        for family, live in tables.items()
        for number, (smallest, largest) in live.items()
    }


def _end(largest: bytes) -> bytes:
    """A key that is greater than all keys of a table with this greatest key and trailer."""
    key, trailer = largest[:-_KEY_TRAILER], largest[-_KEY_TRAILER:]
    return key if trailer == _END_OF_DELETION else key + b"\0"


def has_former_keys(file: StateFile) -> bool:
    """Whether a manifest may have keys that are in none of its tables any more.

    A manifest keeps the least and the greatest key of each table that was ever removed, and the key
    where a compaction goes on.
    """
    for edit in version_edits(file):
        fields = _fields(edit, file.path)
        if fields is None or any(field.tag in _FORMER for field in fields):
            return True
    return False


def version_edits(file: StateFile) -> Iterator[bytes]:
    """Version edits of a manifest."""
    data = np.frombuffer(file.read(), np.uint8)
    position = 0
    parts: list[bytes] = []
    while position < len(data):
        left = _BLOCK_SIZE - position % _BLOCK_SIZE
        if left < _RECORD_HEAD:
            position += left
            continue
        start, end, kind = log_record(data, position, file.path)
        if kind in (_WHOLE, _FIRST):
            parts.clear()
        parts.append(data[start:end].tobytes())
        if kind in (_WHOLE, _LAST):
            yield b"".join(parts)
        position = end


def log_record(data: NDArray[np.uint8], position: int, path: str) -> tuple[int, int, int]:
    """Begin and end of a record's data, and its type as if it had no log number."""
    head = data[position : position + _RECORD_HEAD].tobytes()
    if len(head) < _RECORD_HEAD:
        raise TruncatedError("a record that is cut", path, position)
    size, kind = int.from_bytes(head[4:6], "little"), head[_TYPE]
    start = position + _RECORD_HEAD + (_LOG_NUMBER_SIZE if kind >= _FIRST_RECYCLED else 0)
    end = start + size
    if not 0 < kind < _END_OF_TYPES or end > len(data):
        raise FormatError(f"a record of type {kind} and {size} bytes", path, position)
    checksum = masked_crc32c(data[position + _TYPE : end].data)
    if checksum.to_bytes(4, "little") != head[:4]:
        raise FormatError("a record whose checksum is wrong", path, position)
    return start, end, kind - (_LAST if kind >= _FIRST_RECYCLED else 0)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a version edit: its tag, and the numbers and texts that belong to it."""

    tag: int
    numbers: list[int]
    texts: list[bytes]


def _fields(edit: bytes, path: str) -> list[_Field] | None:
    """Fields of an edit; None if one has an unknown tag that matters."""
    fields, view = [], DataInputView(edit, path)
    while view.remaining:
        tag = _read_number(view)
        if tag in _FIELDS:
            fields.append(_read_field(tag, view))
        elif tag & _IGNORABLE:
            _read_text(view)
        else:
            return None
    return fields


def _read_field(tag: int, view: DataInputView) -> _Field:
    field = _Field(tag, [], [])
    for kind in _FIELDS[tag]:
        if kind == _NUMBER:
            field.numbers.append(_read_number(view))
        elif kind == _BYTES:
            field.texts.append(_read_text(view))
        else:
            while _read_number(view) != _END_OF_TAGGED:
                _read_text(view)
    return field


def _read_number(view: DataInputView) -> int:
    """A varint of up to 64 bits."""
    value = shift = 0
    while (byte := view.read_unsigned_byte()) >= _MORE:
        value |= (byte & 0x7F) << shift
        shift += 7
    return value | byte << shift


def _read_text(view: DataInputView) -> bytes:
    return view.read_bytes(_read_number(view))
