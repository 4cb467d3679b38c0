"""Values with alternatives: a tag or an index in front tells which one follows.

The value is a dict with a key per alternative; all but one are null. Avro's null branch has no key,
because then the whole value is null. With a single other branch, the value is that of the branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.arrow_types import value_branches

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import IndexedUnion, Layout, Tagged
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
