"""Rows and lists with a bit mask in front: first bit = highest of the first byte, 1 is null.

With a row kind, two bits precede the fields' bits: its low bit, then its high bit.

Flink: ``MaskUtils``, ``RowSerializer``, ``LinkedListSerializer``.

A value with alternatives, where a tag or an index in front selects one, is a dict with a key per
alternative; all but one are null. Avro's null branch has no key, because then the whole value is
null. With a single other branch, the value is that of the branch.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS, value_branches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.layout import IndexedUnion, Layout, MaskedStruct, Tagged
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.value_writer import ValueWriter
    from savepoint_formats.values.values import ValueReader


def read_tagged(layout: Tagged, reader: ValueReader) -> dict[str, Value]:
    """The next value with a tag."""
    tag = reader.view.read_unsigned_byte()
    if tag not in layout.tags:
        reader.view.position -= 1
        expected = ", ".join(map(str, layout.tags))
        raise reader.view.error(f"a tag of {tag}, expected one of {expected}")
    index = layout.tags.index(tag)
    value = reader.read(layout.fields[index])
    return dict.fromkeys(layout.names) | {layout.names[index]: value}


def write_tagged(
    layout: Tagged, value: dict[str, Value], writer: ValueWriter, has_null: Callable[[Layout], bool]
) -> None:
    """The mirror of ``read_tagged``."""
    given = [index for index, name in enumerate(layout.names) if value[name] is not None]
    # Only nulls: the first alternative that can be null, usually the only one.
    given = given or [index for index, branch in enumerate(layout.fields) if has_null(branch)][:1]
    index = _only(given, layout.names)
    writer.view.write_byte(layout.tags[index])
    writer.write(layout.fields[index], value[layout.names[index]])


def read_union(layout: IndexedUnion, reader: ValueReader) -> Value:
    """The next value of Avro's union."""
    index = reader.view.read_int()
    if not 0 <= index < len(layout.branches):
        reader.view.position -= 4
        raise reader.view.error(f"branch {index} of {len(layout.branches)}")
    value = reader.read(layout.branches[index])
    branches = value_branches(layout)
    if index not in branches or len(branches) == 1:
        return value
    return {layout.names[branch]: value if branch == index else None for branch in branches}


def write_union(layout: IndexedUnion, value: Value, writer: ValueWriter) -> None:
    """The mirror of ``read_union``."""
    branches = value_branches(layout)
    if value is None:
        given = [branch for branch in range(len(layout.branches)) if branch not in branches][:1]
    elif len(branches) == 1:
        given = list(branches)
    else:
        given = [branch for branch in branches if value[layout.names[branch]] is not None]
    index = _only(given, layout.names)
    writer.view.write_int(index)
    is_plain = value is None or len(branches) == 1
    writer.write(layout.branches[index], value if is_plain else value[layout.names[index]])


def _only(given: list[int], names: tuple[str, ...]) -> int:
    if len(given) != 1:
        raise ValueError(f"{len(given)} values for {', '.join(names)}, expected 1")
    return given[0]


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
