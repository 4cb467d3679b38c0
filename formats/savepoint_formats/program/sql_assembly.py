"""Instructions for SQL's binary rows, arrays and maps.

Their values do not lie in order: slots say where. The walk takes slot after slot; a nested row or
array is a section, from which it returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import BinaryArray, BinaryMap, BinaryRow, LogicalType, Opaque
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage
from savepoint_formats.values.arrow_types import ROW_KIND
from savepoint_formats.values.binary_rows import element_size
from savepoint_formats.values.kinds.precise_times import is_precise
from savepoint_formats.values.sizes import least_entry_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.program.listing import Draft, Listing

_NUMBERS: dict[str, Op] = {
    "TINYINT": Op.SLOT_BYTE,
    "SMALLINT": Op.SLOT_SHORT,
    "INTEGER": Op.SLOT_INT,
    "BIGINT": Op.SLOT_LONG,
    "FLOAT": Op.SLOT_INT,
    "DOUBLE": Op.SLOT_LONG,
    "DATE": Op.SLOT_INT,
    "TIME_WITHOUT_TIME_ZONE": Op.SLOT_TIME,
    "INTERVAL_YEAR_MONTH": Op.SLOT_INT,
    "INTERVAL_DAY_TIME": Op.SLOT_LONG,
}
_WITH_PRECISION: dict[str, Op] = {
    "DECIMAL": Op.SLOT_DECIMAL,
    "TIMESTAMP_WITHOUT_TIME_ZONE": Op.SLOT_TIMESTAMP,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": Op.SLOT_TIMESTAMP,
}
_BYTES: dict[str, Op] = {
    "CHAR": Op.SLOT_TEXT,
    "VARCHAR": Op.SLOT_TEXT,
    "BINARY": Op.SLOT_BYTES,
    "VARBINARY": Op.SLOT_BYTES,
}
_COUNTS = LogicalType("INTEGER", is_nullable=False)


def assemble_section(
    layout: BinaryRow | BinaryArray | BinaryMap, draft: Draft, listing: Listing
) -> None:
    """Emits a value that is a section."""
    slot = listing.slot()
    listing.emit(Op.SECTION, slot)
    match layout:
        case BinaryRow(names, types):
            *fields, kind = listing.fields(draft, [*names, ROW_KIND])
            kind.storage = Storage.ROW_KINDS
            listing.emit(Op.ROW, 0, len(types))
            listing.emit(Op.ROW_KIND, kind.number)
            _fields(types, fields, listing)
        case BinaryArray(element):
            _array(element, draft, listing)
        case BinaryMap(key, value):
            _map(key, value, draft, listing)
    listing.emit(Op.LEAVE, slot)


def _fields(types: Sequence[LogicalType], drafts: Sequence[Draft], listing: Listing) -> None:
    for sql, draft in zip(types, drafts, strict=True):
        _field(sql, draft, listing)


def _field(sql: LogicalType, draft: Draft, listing: Listing) -> None:
    flag = listing.emit(Op.FIELD, draft.number)
    _slot(sql, draft, listing)
    listing.after_null(flag, draft)
    draft.forbids_null = not sql.is_nullable


def _slot(sql: LogicalType, draft: Draft, listing: Listing) -> None:
    root, children = sql.root, sql.children
    draft.storage = Storage.NUMBERS
    if root == "BOOLEAN":
        draft.storage = Storage.BITS
        listing.emit(Op.SLOT_BOOLEAN, draft.number)
    elif root in _NUMBERS:
        listing.emit(_NUMBERS[root], draft.number)
    elif is_precise(draft.type):
        seconds = listing.precise(draft)
        listing.emit(Op.SLOT_TIMESTAMP, seconds.number, sql.precision)
    elif root in _WITH_PRECISION:
        listing.emit(_WITH_PRECISION[root], draft.number, sql.precision)
    elif root in _BYTES:
        draft.storage, draft.density = Storage.BYTES, 1
        draft.length = sql.length
        listing.emit(_BYTES[root], draft.number)
    elif root == "DISTINCT_TYPE":
        _slot(children[0], draft, listing)
    elif root in ("ROW", "STRUCTURED_TYPE", "ARRAY", "MAP", "MULTISET"):
        _nested(sql, draft, listing)
    elif isinstance(sql.embedded, Opaque):
        content, reason = listing.fields(draft, ("bytes", "reason"))
        content.storage, content.density = Storage.BYTES, 1
        reason.storage, reason.names = Storage.NAMES, (sql.embedded.note,)
        listing.emit(Op.SLOT_RAW, content.number)
        listing.emit(Op.CONSTANT, reason.number)
    elif sql.embedded is not None:
        draft.storage, draft.layout = Storage.RANGES, sql.embedded
        listing.emit(Op.SLOT_RANGE, draft.number)
    else:  # NULL, which is always null
        draft.storage = Storage.NOTHING
        listing.emit(Op.REFUSE)


def _nested(sql: LogicalType, draft: Draft, listing: Listing) -> None:
    slot = listing.slot()
    listing.emit(Op.NESTED_SECTION, slot)
    match sql.root, sql.children:
        case "ARRAY", (element,):
            _array(element, draft, listing)
        case "MAP", (key, value):
            _map(key, value, draft, listing)
        case "MULTISET", (element,):
            _map(element, _COUNTS, draft, listing)
        case _, types:
            listing.emit(Op.ROW, 0, len(types))
            listing.emit(Op.INSERT_KIND)
            _fields(types, listing.fields(draft, sql.names), listing)
    listing.emit(Op.LEAVE, slot)


def _array(element: LogicalType, draft: Draft, listing: Listing) -> None:
    size = element_size(element)
    column = listing.elements(draft, 1 / size)
    with listing.repeated(Op.ARRAY, draft, size):
        _field(element, column, listing)


def _map(key: LogicalType, value: LogicalType, draft: Draft, listing: Listing) -> None:
    entry = listing.elements(draft, 1 / least_entry_size(key, value))
    keys, values = listing.fields(entry, ("key", "value"))
    slot = listing.slot()
    listing.emit(Op.KEYS, slot)
    _keys(key, keys, draft, listing)
    listing.emit(Op.VALUES, slot)
    with listing.repeated(Op.PAIRED_ARRAY, draft, element_size(value)):
        _field(value, values, listing)
    listing.emit(Op.LEAVE, slot)


def _keys(key: LogicalType, keys: Draft, draft: Draft, listing: Listing) -> None:
    with listing.repeated(Op.ARRAY, draft, element_size(key)):
        flag = listing.emit(Op.FIELD, keys.number)
        _slot(key, keys, listing)
        keys.is_nullable = True
        goto = listing.emit(Op.GOTO)
        flag[2] = listing.here()
        listing.emit(Op.REFUSE)
        goto[2] = listing.here()
