"""Constants of enums that go: whether values have them, and states without them.

Enum serializers name constants in headers, and values have only their places. Kryo writes the place
of a constant in its class, without any name, so only the class file knows what goes. Java's
serialization writes the name into the value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.layout import Enum, holds_kryo, rebuilt
from savepoint_formats.pass_through import decoded
from savepoint_formats.snapshots import KRYO, ClassRename, all_snapshots, is_named_in
from savepoint_formats.state_files import entry_layouts
from savepoint_formats.values import Collections, with_new_names
from savepoint_spark.changing import (
    StateRecoding,
    element_arrays,
    element_layout,
    operator_states,
    snapshots_of,
    stored_chunks,
)
from savepoint_spark.writing import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.enums.constant_change import ConstantChange
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo
    from savepoint_spark.writing import NewOperatorState

LayoutT = TypeVar("LayoutT", bound="Layout")

# Java has no name with this character.
_MARK = "\0"
_TEXT = 0x74  # of Java's serialization


def present_snapshots(
    operator: Operator, removed: frozenset[str]
) -> Iterator[TypeSerializerSnapshot]:
    """The serializers of all states but ``removed``."""
    if operator.has_keyed_state:
        types = StoredTypes.of(operator)
        yield types.key
        for info in types.states:
            if info.name not in removed:
                yield from (snapshot for _, snapshot in info.serializers)
    for name, state in operator_states(operator).items():
        if name not in removed:
            yield from state.serializers


def constant_uses(
    operator: Operator, change: ConstantChange, removed: frozenset[str]
) -> Counter[str]:
    """How often each state has a constant: in keys, values, elements and timers; reads all of them.

    ``removed`` has the states that don't count.

    Raises ``SavepointError`` if values can't be decoded.
    """
    uses: Counter[str] = Counter()

    def has_it(layout: Layout) -> bool:
        return _marked(layout, change) != layout

    with within(f"operator {operator.name}"):
        for name, layout, data in _parts(operator, has_it, removed):
            with within(f"state {name!r}"):
                uses[name] += _count(decoded(data, _marked(layout, change), operator.kryo))
    return +uses


def without_constant(operator: Operator, change: ConstantChange) -> StateRecoding:
    """States whose serializers lack a constant."""
    kryo, key = operator.kryo, None
    assert kryo is not None  # operators of a savepoint have one
    infos: dict[str, StateMetaInfo] = {}
    if operator.has_keyed_state:
        types = StoredTypes.of(operator)
        key = change.of(types.key)
        news = {info.name: _without(info, change) for info in types.states}
        has_other_key = key != types.key
        infos = {
            it.name: news[it.name] for it in types.states if has_other_key or news[it.name] != it
        }
    pairs = {
        name: (state, _elements_without(state, change))
        for name, state in operator_states(operator).items()
    }
    elements = {name: (old, new) for name, (old, new) in pairs.items() if old != new}
    return StateRecoding(key, infos, elements, kryo, kryo)


def expect_no_places(operator: Operator, change: ConstantChange) -> None:
    """Raises ``SchemaChangeError`` if objects of Kryo may have constants of the enum as places."""
    kryo, rename = operator.kryo, ClassRename(change.enum_class, _MARK)
    assert kryo is not None  # operators of a savepoint have one
    nested = (part for snapshot in snapshots_of(operator) for part in all_snapshots(snapshot))
    serializers = [part for part in nested if part.class_name == KRYO]
    is_known = bool(serializers) and with_new_names(kryo.classes, rename.name) != kryo.classes
    is_named = any(rename.of(serializer) != serializer for serializer in serializers)
    if is_known or is_named or any(_names_of_kryo(operator, change)):
        raise SchemaChangeError(
            f"constant {change.old!r} of {change.enum_class} can't be dropped: objects that Kryo wrote"
            f" in operator {operator.name} have constants of it as numbers, and those behind it would"
            " get another meaning. Keep the constant in the class; or let a job copy the values into a"
            " state whose type has an enum serializer, and drop it then"
        )


def expect_no_java_names(operator: Operator, change: ConstantChange) -> None:
    """Raises ``SchemaChangeError`` if Java's serialization has written the name of the constant."""
    name = change.old.encode()
    written = bytes([_TEXT]) + len(name).to_bytes(2, "big") + name
    if any(written in value for value in _names_of_kryo(operator, change)):
        raise SchemaChangeError(
            f"constant {change.old!r} of {change.enum_class} can't be renamed: Java's serialization"
            f" has written its name into values of operator {operator.name}. Keep the constant in"
            " the class until a job has rewritten these values"
        )


def _names_of_kryo(operator: Operator, change: ConstantChange) -> Iterator[bytes]:
    """Values with objects of Kryo that name the class of the enum."""
    # Kryo changes the last letter.
    beginning = change.enum_class[:-1]
    for _, _, data in _parts(operator, holds_kryo):
        likely = pc.fill_null(pc.match_substring(data, beginning), fill_value=False)
        values = (value.as_py() for value in data.filter(likely))
        yield from (value for value in values if is_named_in(value, change.enum_class))


def _parts(
    operator: Operator, is_wanted: Callable[[Layout], bool], removed: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Layout, pa.LargeBinaryArray]]:
    """Stored data of the wanted layouts, in batches, with its state and layout."""
    for state in operator.catalog.states:
        if not state.kind.is_keyed or state.kind.is_raw or state.name in removed:
            continue
        if not any(layout and is_wanted(layout) for layout in entry_layouts(state)):
            continue
        for chunk in stored_chunks(operator, state.name):
            entries = chunk.entries.keys, chunk.entries.values
            for layout, data in zip(entry_layouts(chunk.state), entries, strict=True):
                if layout is not None and is_wanted(layout):
                    yield state.name, layout, data
    for elements in operator_states(operator).values():
        layout = element_layout(elements)
        if elements.name not in removed and is_wanted(layout):
            for data in element_arrays(operator, elements):
                yield elements.name, layout, data


def _marked(layout: LayoutT, change: ConstantChange) -> LayoutT:
    """The layout, whose values show the constant as a text that nothing else is."""

    def marked(node: Layout) -> Layout:
        if not isinstance(node, Enum) or node.class_name != change.enum_class:
            return node
        names = (_MARK if name == change.old else name for name in node.constants)
        return replace(node, constants=tuple(names))

    return rebuilt(layout, marked)


def _count(values: pa.Array) -> int:
    """The number of marks in a column."""
    kind = values.type
    if pa.types.is_struct(kind):
        return sum(map(_count, values.flatten()))
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        return _count(Collections(values).elements)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.sum(pc.equal(values, _MARK)).as_py() or 0
    return 0


def _without(info: StateMetaInfo, change: ConstantChange) -> StateMetaInfo:
    serializers = ((role, change.of(entry)) for role, entry in info.serializers)
    return replace(info, serializers=tuple(serializers))


def _elements_without(state: NewOperatorState, change: ConstantChange) -> NewOperatorState:
    key = None if state.key is None else change.of(state.key)
    return replace(state, element=change.of(state.element), key=key)
