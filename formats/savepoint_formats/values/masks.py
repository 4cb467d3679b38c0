"""Rows and lists with a bit mask in front: first bit = highest of the first byte, 1 is null.

With a row kind, two bits precede those of the fields: its low bit, then its high bit.

Flink: ``MaskUtils``, ``RowSerializer``, ``LinkedListSerializer``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.layout import Layout, MaskedStruct
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.value_writer import ValueWriter
    from savepoint_formats.values.values import ValueReader

_HIGHEST = 0x80


def read_mask(count: int, view: DataInputView) -> list[bool]:
    """``count`` bits, in whole bytes."""
    data = view.read_bytes((count + 7) // 8)
    return [data[index >> 3] & _HIGHEST >> (index & 7) != 0 for index in range(count)]


def write_mask(bits: Sequence[bool], view: DataOutputView) -> None:
    """The mirror of ``read_mask``."""
    data = bytearray((len(bits) + 7) // 8)
    for index, bit in enumerate(bits):
        if bit:
            data[index >> 3] |= _HIGHEST >> (index & 7)
    view.write_bytes(bytes(data))


def read_masked_struct(layout: MaskedStruct, reader: ValueReader) -> dict[str, Value]:
    """The next row."""
    kind_bits = 2 if layout.has_kind else 0
    mask = read_mask(kind_bits + len(layout.fields), reader.view)
    nulls = mask[kind_bits:]
    values: dict[str, Value] = dict.fromkeys(layout.names)
    for name, field, is_null in zip(layout.names, layout.fields, nulls, strict=True):
        if is_null:
            continue
        if reader.is_lost:
            reader.take_along(repr(name))
        else:
            values[name] = reader.read(field)
    if layout.has_kind:
        values[ROW_KIND] = ROW_KINDS[mask[0] + 2 * mask[1]]
    return values


def write_masked_struct(layout: MaskedStruct, value: dict[str, Value], writer: ValueWriter) -> None:
    """The mirror of ``read_masked_struct``."""
    kind: list[bool] = []
    if layout.has_kind:
        number = ROW_KINDS.index(value.get(ROW_KIND) or ROW_KINDS[0])
        kind = [number & 1 != 0, number & 2 != 0]
    values = [value[name] for name in layout.names]
    write_mask(kind + [value is None for value in values], writer.view)
    for field, item in zip(layout.fields, values, strict=True):
        writer.expect_all("fields behind a mask")
        if item is not None:
            writer.write(field, item)


def read_masked_list(element: Layout, reader: ValueReader) -> list[Value]:
    """The next list."""
    count = reader.view.read_int()
    if count < 0:
        reader.view.position -= 4
        raise reader.view.error(f"a count of {count} elements")
    nulls = read_mask(count, reader.view)
    if borders := reader.known_borders():
        sizes = (end - start for start, end in pairwise(borders))
        return [None if is_null else reader.bounded(element, next(sizes)) for is_null in nulls]
    values: list[Value] = []
    for is_null in nulls:
        if reader.is_lost:
            reader.take_along(f"{count - len(values)} more elements", are_elements=True)
            break
        values.append(None if is_null else reader.read(element))
    return values


def write_masked_list(element: Layout, values: Sequence[Value], writer: ValueWriter) -> None:
    """The mirror of ``read_masked_list``."""
    writer.view.write_int(len(values))
    write_mask([value is None for value in values], writer.view)
    for item in values:
        if item is not None:
            writer.write(element, item)
            writer.expect_all("elements")
