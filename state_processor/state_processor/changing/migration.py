"""What becomes of an operator's states that Flink 1.x wrote and Flink 2.x is to restore.

Objects of Kryo are written as Kryo 5 has them, and collections that 2.x has serializers for are
written with these. All else passes through as the bytes that it is.

Of what the elements of such a collection are, the user's description of the POJO around it tells, or
else the first element that the savepoint has: all others have to be of the same class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import MigrationError, SchemaChangeError, within
from savepoint_formats.pass_through.recoded_entries import RecodedStates, entry_layouts
from savepoint_formats.snapshots.flink_2 import has_own_serializer, of_flink_2
from savepoint_formats.state_files.header import VALUE_SERIALIZER
from savepoint_formats.state_files.state import keyed_state
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo_collections import collection_places
from savepoint_formats.values.recoding import Recoding, element_classes, holds_kryo
from state_processor.changing.header_changes import RenamedElements
from state_processor.changing.stored_elements import (
    StoredElements,
    element_layout,
    stored_elements,
)
from state_processor.changing.stored_rows import stored_pieces
from state_processor.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.layout import KryoField, Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_formats.values.kryo_collections import CollectionPlace
    from state_processor.snapshot.operator import Operator
    from state_processor.writing.operator_rows import ElementRows, NewOperatorState

    Values = Iterator[tuple[Layout, bytes]]
    Elements = tuple[str, ...] | None


@dataclass(frozen=True)
class Migration:
    """How an operator's states are written.

    Attributes:
        key: The serializer of keys as it is to be; None if there is no keyed state.
        infos: Name of a keyed state -> what its header is to say, if it is written anew.
        elements: Name of an operator state -> the state as it is to be, likewise.
        reads: The Kryo that wrote the objects.
        writes: The Kryo that is to read them.
    """

    key: TypeSerializerSnapshot | None
    infos: Mapping[str, StateMetaInfo]
    elements: Mapping[str, NewOperatorState]
    reads: KryoDialect
    writes: KryoDialect

    @property
    def recoded(self) -> RecodedStates | None:
        """How the entries of keyed state are written; None if they stay."""
        if self.key is None or not self.infos:
            return None
        key = self.key.layout()
        states = {name: keyed_state(info, key) for name, info in self.infos.items()}
        return RecodedStates(states, self.reads, self.writes)

    @property
    def touched(self) -> frozenset[str]:
        """The names of the states that are written anew."""
        return frozenset((*self.infos, *self.elements))

    def rows(self, rows: StoredElements) -> ElementRows:
        """The elements of an operator state anew, or as they are."""
        old, new = rows.state, self.elements.get(rows.state.name)
        if new is None:
            return rows
        recoding = Recoding(element_layout(old), element_layout(new), self.reads, self.writes)
        return RenamedElements(replace(rows, recoding=recoding), new)


def migration_of(operator: Operator, removed: frozenset[str]) -> Migration | None:
    """How the states of an operator are written; None if none has anything of Kryo in it.

    Args:
        operator: The operator.
        removed: The names of states that are left out.

    Raises:
        MigrationError: Nobody tells what is in a collection, or it has no serializer that is known.
        SavepointError: A file can't be read.
    """
    kryo = _kryo_of(operator)
    with within(f"operator {operator.name}"):
        key, infos = _keyed(operator, removed)
        elements = dict(_operator_states(operator, removed))
    if not infos and not elements:
        return None
    writes = KryoDialect(KryoVersion.V5_6, kryo.classes)
    return Migration(key, infos, elements, kryo, writes)


def _kryo_of(operator: Operator) -> KryoDialect:
    """The Kryo of the Flink that wrote the operator's state."""
    assert operator.kryo is not None  # as it is one of a savepoint
    return operator.kryo


def _keyed(
    operator: Operator, removed: frozenset[str]
) -> tuple[TypeSerializerSnapshot | None, dict[str, StateMetaInfo]]:
    """The serializer of keys, and the states whose bytes change."""
    if not any(state.kind.is_keyed for state in operator.catalog.states):
        return None, {}
    types = StoredTypes.of(operator)
    kept = [info for info in types.states if info.name not in removed]
    has_other_keys = holds_kryo(types.key.layout())
    infos = {}
    for info in kept:
        holds = any(holds_kryo(entry.snapshot.layout()) for _, entry in info.serializers)
        if holds or has_other_keys:
            with within(f"state {info.name!r}"):
                infos[info.name] = _info(operator, info)
    return _migrated(operator, types.key, None), infos


def _info(operator: Operator, info: StateMetaInfo) -> StateMetaInfo:
    """What a header says of a state in 2.x."""
    for role, entry in info.serializers:
        values = _values(operator, info.name) if role == VALUE_SERIALIZER else None
        info = info.with_serializer(role, _migrated(operator, entry.snapshot, values))
    return info


def _operator_states(
    operator: Operator, removed: frozenset[str]
) -> Iterator[tuple[str, NewOperatorState]]:
    for name, state in StoredElements.states_of(operator).items():
        if name in removed or not holds_kryo(element_layout(state)):
            continue
        with within(f"state {name!r}"):
            values = ((state.element.layout(), value) for value in stored_elements(operator, state))
            is_list = state.key is None
            element = _migrated(operator, state.element, values if is_list else None)
            key = None if state.key is None else _migrated(operator, state.key, None)
            yield name, replace(state, element=element, key=key)


def _values(operator: Operator, name: str) -> Values:
    """The values of a keyed state, and how they lie."""
    for piece in stored_pieces(operator, name):
        _, layout = entry_layouts(piece.state)
        if layout is not None:
            for value in piece.entries.values:
                yield layout, value.as_py()


def _migrated(
    operator: Operator, snapshot: TypeSerializerSnapshot, values: Values | None
) -> TypeSerializerSnapshot:
    """A serializer as Flink 2.x has it.

    Args:
        operator: The operator.
        snapshot: The serializer.
        values: What to look into, if nobody has described what collections have in them: the last
            of the serializer's collections are those of these values.
    """
    places = collection_places(snapshot.layout())
    if not places:
        return snapshot
    known = _described(operator, places)
    if len(known) < len(places) and values is not None:
        known = _observed(operator, places, values) | known
    unknown = [str(place) for number, place in enumerate(places) if number not in known]
    if unknown:
        raise MigrationError(
            f"no value says what is in {', '.join(unknown)}: describe the class around it, with the"
            " types of its fields, as kryo_class(…) or by --classes"
        )
    for number, elements in known.items():
        _expect_serializers(places[number], elements)
    try:
        return of_flink_2(snapshot, [known[number] for number in range(len(places))])
    except SchemaChangeError as error:
        raise MigrationError(str(error)) from error


def _described(operator: Operator, places: tuple[CollectionPlace, ...]) -> dict[int, Elements]:
    """What the user says of collections, by their numbers; of no type they stay with Kryo."""
    fields = {
        (description.class_name, field.name): field
        for description in _kryo_of(operator).classes
        for field in description.fields
    }
    known: dict[int, Elements] = {}
    for number, place in enumerate(places):
        field = fields.get((place.pojo, place.field))
        if field is None:
            continue
        if field.type != place.class_name:
            raise MigrationError(
                f"{place} is described as {field.type}, but is a {place.class_name}"
            )
        known[number] = _elements(field)
    return known


def _elements(field: KryoField) -> Elements:
    """The types of elements; Flink leaves it to Kryo where one has arguments of its own."""
    if any(argument.arguments or argument.wildcard for argument in field.arguments):
        return None
    return tuple(argument.type for argument in field.arguments) or None


def _observed(
    operator: Operator, places: tuple[CollectionPlace, ...], values: Values
) -> dict[int, Elements]:
    """What is in collections, by their numbers, as far as the savepoint says."""
    by_number: dict[int, list[str | None]] = {}
    for layout, value in values:
        first = len(places) - len(collection_places(layout))
        for number, classes in element_classes(layout, value, _kryo_of(operator)):
            seen = by_number.setdefault(first + number, [None] * len(classes))
            seen[:] = [class_name or other for class_name, other in zip(seen, classes, strict=True)]
        if len(by_number) == len(places) and all(None not in seen for seen in by_number.values()):
            break
    return {
        number: tuple(class_name for class_name in seen if class_name is not None)
        for number, seen in by_number.items()
        if None not in seen
    }


def _expect_serializers(place: CollectionPlace, elements: Elements) -> None:
    for class_name in elements or ():
        if not has_own_serializer(class_name):
            raise MigrationError(
                f"{place} has elements of {class_name}: only those of single values of the JDK can"
                " be written for Flink 2.x; leave the state out, or restore and save it with 1.x in"
                " another form"
            )
