"""All values of a row, or all state of a key, line by line; and cells of a table.

Arrow values are walked without conversion. The shown lines are bounded, so a list of millions of
elements costs no more than its visible elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_cli.terminal.cells import person_cell, person_field, shortened
from savepoint_database.types import PRINTABLE, for_people
from savepoint_formats.printable import fields_of, is_of_records, printable
from savepoint_formats.scan import REASON
from savepoint_formats.values import UNDECODED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from savepoint_database.audit.key_state import KeyRows, KeyState

MOST_ITEMS = 500
MOST_LETTERS = 4000
MOST_LINES = 5000
_CELL_ITEMS = 10
_CELL_LETTERS = 48
_HEX_WIDTH = 16

_MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with its indentation and its name."""

    depth: int
    name: str
    text: str = ""


def bounded(lines: Iterator[Line]) -> Iterator[Line]:
    """The first lines, and a note if there are more."""
    yield from islice(lines, MOST_LINES)
    if next(lines, None) is not None:
        yield Line(0, "", "… there is more, which is not shown")


def row_lines(row: pa.RecordBatch, depth: int = 0) -> Iterator[Line]:
    """All columns of a batch of one row."""
    for field, column in zip(row.schema, row.columns, strict=True):
        yield from value_lines(printable(field.name), column[0], depth)
        reason = (field.metadata or {}).get(REASON.encode())
        if reason:
            yield Line(depth + 1, "note", printable(reason.decode()))


def value_lines(name: str, value: pa.Scalar, depth: int) -> Iterator[Line]:
    """A value, and its elements below it."""
    if not value.is_valid:
        yield Line(depth, name, "null")
        return
    if pa.types.is_struct(value.type):
        yield Line(depth, name)
        for field, part in _fields(value):
            yield from value_lines(printable(field), part, depth + 1)
    elif pa.types.is_map(value.type):
        entries = value.values
        yield Line(depth, name, f"{len(entries):,} entries")
        for entry in entries[:MOST_ITEMS]:
            yield from value_lines(cell_text(entry["key"]), entry["value"], depth + 1)
        yield from _more(len(entries), depth + 1)
    elif _is_list(value.type):
        yield Line(depth, name, f"{len(value.values):,} elements")
        for index, element in enumerate(value.values[:MOST_ITEMS]):
            yield from value_lines(f"[{index}]", element, depth + 1)
        yield from _more(len(value.values), depth + 1)
    elif _is_bytes(value.type):
        data = value.as_py()
        yield Line(depth, name, f"{len(data):,} bytes")
        for line in hex_lines(data):
            yield Line(depth + 1, "", line)
    else:
        yield Line(depth, name, cut(person_cell(value.as_py()), MOST_LETTERS))


def _more(count: int, depth: int) -> Iterator[Line]:
    if count > MOST_ITEMS:
        yield Line(depth, "", f"… {count - MOST_ITEMS:,} more")


def cell_text(value: pa.Scalar, most: int = _CELL_LETTERS) -> str:
    """A value on one short line."""
    return cut(person_cell(_first_of(value)), min(most, _CELL_LETTERS))


def cut(text: str, most: int = _CELL_LETTERS) -> str:
    """Shortens a text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _first_of(value: pa.Scalar) -> Any:
    """The value with only its first elements, and a note with the number of the rest."""
    if not value.is_valid:
        return None
    if pa.types.is_struct(value.type):
        return {field: _first_of(part) for field, part in _fields(value)}
    if pa.types.is_map(value.type):
        pairs = [
            (_first_of(entry["key"]), _first_of(entry["value"]))
            for entry in value.values[:_CELL_ITEMS]
        ]
        left = len(value.values) - len(pairs)
        return [*pairs, ("…", f"{left:,} more")] if left else pairs or {}
    if _is_list(value.type):
        elements = [_first_of(item) for item in value.values[:_CELL_ITEMS]]
        left = len(value.values) - len(elements)
        return [*elements, f"… {left:,} more"] if left else elements
    return value.as_py()


def _fields(value: pa.StructScalar) -> Iterator[tuple[str, pa.Scalar]]:
    """The fields by name, without the one for undecoded bytes if there are none."""
    for index, field in enumerate(value.type):
        if field.name != UNDECODED or value[index].is_valid:
            yield field.name, value[index]


def hex_lines(data: bytes, most: int = 4096) -> Iterator[str]:
    """A line per 16 bytes: offset, hexadecimal digits, letters; then the number of bytes beyond ``most``.

    >>> next(hex_lines(b"total"))
    '00000000  74 6f 74 61 6c                                    |total|'
    """
    shown = data[:most]
    for start in range(0, len(shown), _HEX_WIDTH):
        row = shown[start : start + _HEX_WIDTH]
        halves = f"{row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}"
        letters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{start:08x}  {halves}  |{letters}|"
    if len(data) > most:
        yield f"… {len(data) - most:,} bytes more"


def _is_list(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_list(data_type) or pa.types.is_large_list(data_type))


def _is_bytes(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type))


def record_lines(record: Any, depth: int = 0) -> Iterator[Line]:
    """All fields of the description of an operator or a state."""
    for name, value in fields_of(record).items():
        if text := person_field(value, name):
            yield Line(depth, name.replace("_", " "), text)
        if is_of_records(value):
            for inner in value:
                yield from record_lines(inner, depth + 1)
                yield Line(0, "")


def key_lines(key_state: KeyState) -> Iterator[Line]:
    """All state of a key."""
    for key_rows in key_state.tables:
        name = f"{key_rows.operator}.{key_rows.table}"
        count = f"{len(key_rows.rows):,} row" + ("s" if len(key_rows.rows) != 1 else "")
        yield Line(0, printable(name), f"{count}, key group {key_rows.key_group}")
        for row in _shown_rows(key_rows):
            yield from row_lines(row, depth=1)
            yield Line(0, "")
        if len(key_rows.rows) > _MOST_ROWS:
            yield Line(1, "", f"… {len(key_rows.rows) - _MOST_ROWS:,} rows more")
    if key_state.other_operators:
        yield Line(0, "keys of another type", printable(", ".join(key_state.other_operators)))


def _shown_rows(key_rows: KeyRows) -> Iterator[pa.RecordBatch]:
    for batch in key_rows.rows.slice(0, _MOST_ROWS).to_batches():
        shown = PRINTABLE.batch(for_people(batch, key_rows.dated))
        for index in range(shown.num_rows):
            yield shown.slice(index, 1)


def record_cells(
    records: Sequence[Any], short_ids: Mapping[str, str]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Names of columns and a row of cells per record, without columns that are empty in all records."""
    rows = list(map(fields_of, records))
    cells = {
        name.replace("_", " "): [
            cut(shortened(person_field(row[name], name), short_ids)) for row in rows
        ]
        for name in (rows[0] if rows else ())
    }
    filled = {name: texts for name, texts in cells.items() if any(texts)}
    return list(filled), list(zip(*filled.values(), strict=True))
