"""States of Avro with another schema: values are written as Avro's schema resolution reads them.

A job with another schema of ``GenericRecord`` can't read the values that it has, since Flink reads them
by the schema of the job. Of generated classes Flink migrates values itself, if Avro can.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_extensions.upgrade.avro_columns import resolved, there
from savepoint_extensions.upgrade.compatibility.avro_resolution import AvroSchema, unread_parts
from savepoint_formats.entries import StoredEntries
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.layout import Nullable, Opaque, Repeated, Ttl
from savepoint_formats.pass_through import NewKeyGroups, decoded
from savepoint_formats.program.encode import Encoder
from savepoint_formats.state_files import VALUE_SERIALIZER, StateKind, entry_layouts, keyed_state
from savepoint_formats.values import Collections, Delimited, NullableRest, arrow_type
from savepoint_spark.changing import EntryRecoding, operator_states
from savepoint_spark.writing import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import KeyGroups
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import State, StateChunk, Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.changing import ChangedOperator
    from savepoint_spark.writing import NewOperatorState

_AVRO = "AvroSerializerSnapshot"
_TIMED = "TtlSerializerSnapshot"
_LISTS = (StateKind.OPERATOR_LIST, StateKind.UNION_LIST)


def with_avro_schema(changed: ChangedOperator, name: str, schema: str) -> ChangedOperator:
    """The operator whose state has values of another schema of Avro.

    Raises:
        StateNotFoundError: There is no such state.
        SchemaChangeError: Its values are not Avro's as a whole, or the schema doesn't read them.
    """
    state, operator, kryo = changed.state(name), changed.operator, changed.operator.kryo
    assert kryo is not None  # operators of a savepoint have one
    if state.scope.is_local:
        raise SchemaChangeError(f"state {name!r} is local: write it with merge_local first")
    if state.kind in _LISTS:
        stored = operator_states(operator)[state.name]
        element, (writer, reader) = _with_schema(stored.element, name, schema)
        new = replace(stored, element=element)
        values = ResolvedValues(state.name, None, None, writer, reader, kryo)
        by_elements = {state.name: (stored, new)}
        return changed.with_change(
            AvroResolution(None, {}, by_elements, kryo, kryo, change=None, values=values)
        )
    if not state.kind.is_keyed or state.kind is StateKind.TIMERS:
        raise SchemaChangeError(f"state {name!r} is {state.kind.value} state, which stays as it is")
    types = StoredTypes.of(operator)
    (info,) = (info for info in types.states if info.name == state.name)
    serializer = info.serializer(VALUE_SERIALIZER)
    if serializer is None:
        raise SchemaChangeError(f"state {name!r} has no serializer of values")
    *keys, values_of = (
        serializer.nested if state.kind in (StateKind.LIST, StateKind.MAP) else [serializer]
    )
    changed_values, (writer, reader) = _with_schema(values_of, name, schema)
    if state.kind in (StateKind.LIST, StateKind.MAP):
        changed_values = serializer.with_fields(nested=(*keys, changed_values))
    info = info.with_serializer(VALUE_SERIALIZER, changed_values)
    new_state = keyed_state(info, types.key.layout())
    values = ResolvedValues(state.name, state, new_state, writer, reader, kryo)
    return changed.with_change(
        AvroResolution(types.key, {state.name: info}, {}, kryo, kryo, change=values, values=values)
    )


def _with_schema(
    snapshot: TypeSerializerSnapshot, name: str, schema: str
) -> tuple[TypeSerializerSnapshot, tuple[str, str]]:
    """The serializer with another schema, behind times of access; and the old and the new one."""
    if snapshot.class_name.endswith(_TIMED):
        *times, value = snapshot.nested
        changed, schemas = _with_schema(value, name, schema)
        return snapshot.with_fields(nested=(*times, changed)), schemas
    if not snapshot.class_name.endswith(_AVRO):
        raise SchemaChangeError(
            f"the values of state {name!r} are written by {snapshot.class_name.rpartition('.')[2]}: only"
            " states whose values, elements or map values are Avro's as a whole get another schema"
        )
    changed = snapshot.with_fields(schema=schema)
    layouts = snapshot.layout(), changed.layout()
    for layout, which in zip(layouts, ("schema of the values", "schema"), strict=True):
        if isinstance(layout, Opaque):
            raise SchemaChangeError(f"the {which} can't be used: {layout.reason}")
    unread = unread_parts(schema, snapshot["schema"])
    if unread is None:
        raise SchemaChangeError("one of the schemas can't be understood")
    if unread:
        raise SchemaChangeError(f"the schema does not read the values: {'; '.join(unread)}")
    if schema == snapshot["schema"]:
        raise SchemaChangeError(f"state {name!r} has this schema already")
    # A default that is no value of its type is refused now, and not by the first task.
    old, new = map(arrow_type, layouts)
    _resolved(pa.array([], old), snapshot["schema"], schema, new)
    return changed, (snapshot["schema"], schema)


def _resolved(column: pa.Array, writer: str, reader: str, target: pa.DataType) -> pa.Array:
    """The column by another schema, both as JSON."""
    old, new = (AvroSchema.of(json.loads(schema)) for schema in (writer, reader))
    return resolved(column, old, new, target)


@dataclass(frozen=True)
class AvroResolution(EntryRecoding):
    """The state with another schema; ``values`` resolves elements of operators, too."""

    values: ResolvedValues | None = None

    def new_elements(self, state: NewOperatorState) -> tuple[tuple[Step, ...], NewOperatorState]:
        """See ``Change``."""
        if state.name not in self.elements or self.values is None:
            return (), state
        old, new = self.elements[state.name]
        step = ResolvedElements(self.values, old.element.layout(), new.element.layout())
        return (step,), new


@dataclass(frozen=True)
class ResolvedValues:
    """Values of one state by another schema; keys stay, and so do all other states."""

    name: str
    old: State | None
    new: State | None
    writer: str
    reader: str
    kryo: KryoDialect
    moves_keys: bool = False

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        """The entries with other values; ``SchemaChangeError`` for a value that the schema can't have."""
        if state_chunk.state.name != self.name or self.new is None:
            return state_chunk.entries
        old, new = entry_layouts(state_chunk.state)[1], entry_layouts(self.new)[1]
        assert old is not None  # a state with values
        assert new is not None
        with within(f"state {self.name!r}"):
            values = self.recoded(state_chunk.entries.values, old, new)
        return StoredEntries(state_chunk.entries.keys, values)

    def key_groups(self, state_chunk: StateChunk, new: StoredEntries, count: int) -> KeyGroups:
        """The key groups of the old entries."""
        groups = NewKeyGroups(count, count, self.kryo, None)
        return groups.of(replace(state_chunk, entries=new), is_checked=False)

    def recoded(self, data: pa.LargeBinaryArray, old: Layout, new: Layout) -> pa.LargeBinaryArray:
        """Stored values, as the new schema has them."""
        target = arrow_type(_innermost(new))

        def change(column: pa.Array) -> pa.Array:
            return _resolved(column, self.writer, self.reader, target)

        return Encoder(new).encode(_inside(decoded(data, old, self.kryo), old, change))


@dataclass(frozen=True)
class ResolvedElements:
    """The step that gives elements of an operator another schema."""

    values: ResolvedValues
    old: Layout
    new: Layout

    def __call__(self, data: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        """The elements by the new schema."""
        return self.values.recoded(data, self.old, self.new)


def _innermost(layout: Layout) -> Layout:
    """The layout of Avro's values in that of an entry."""
    match layout:
        case Repeated(element) | Delimited(element):
            return _innermost(element)
        case NullableRest(inner) | Nullable(inner) | Ttl(inner):
            return _innermost(inner)
    return layout


def _inside(column: pa.Array, layout: Layout, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The column whose innermost values are changed: in lists, behind nulls and times of access."""
    match layout:
        case Repeated(element) | Delimited(element):
            lists = Collections(column)
            return lists.with_elements(_inside(lists.elements, element, change))
        case NullableRest(inner) | Nullable(inner):
            return there(column, lambda it: _inside(it, inner, change))
        case Ttl(inner):
            values = _inside(column.field("value"), inner, change)
            names = ["timestamp", "value"]
            return pa.StructArray.from_arrays([column.field("timestamp"), values], names=names)
    return change(column)
