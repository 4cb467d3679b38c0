"""What becomes of an operator's states that Flink 1.x wrote and Flink 2.x is to restore.

Objects of Kryo are written as Kryo 5 has them, and collections that 2.x has serializers for are
written with these. All else passes through as the bytes that it is.

Of what the elements of such a collection are, ``collection_elements`` tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, TypeVar

from savepoint_formats.errors import (
    KeyTypeError,
    MigrationError,
    SchemaChangeError,
    UndecodableError,
    within,
)
from savepoint_formats.pass_through.recoded_entries import RecodedStates, entry_layouts
from savepoint_formats.snapshots.extracted import Extraction
from savepoint_formats.snapshots.flink_2 import of_flink_2
from savepoint_formats.snapshots.subclasses import kryo_in, with_subclasses
from savepoint_formats.state_files.header import VALUE_SERIALIZER
from savepoint_formats.state_files.state import keyed_state
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo_collections import collection_places
from savepoint_formats.values.recoding import Recoding, holds_kryo
from savepoint_spark.changing.collection_elements import (
    UnknownElementsError,
    described_elements,
    observed_elements,
)
from savepoint_spark.changing.migration_limits import refusals
from savepoint_spark.changing.stored_elements import (
    element_layout,
    operator_states,
    stored_elements,
)
from savepoint_spark.changing.stored_rows import stored_pieces
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_formats.values.kryo_collections import CollectionPlace
    from savepoint_spark.writing.operator_rows import NewOperatorState

    Values = Iterator[tuple[Layout, bytes]]

PartT = TypeVar("PartT")


@dataclass(frozen=True)
class Migration:
    """How an operator's states are written.

    Attributes:
        key: The serializer of keys as it is to be; None if there is no keyed state.
        infos: Name of a keyed state -> what its header is to say, if it is written anew.
        elements: Name of an operator state -> the state as it was, and as it is to be, likewise.
        reads: The Kryo that wrote the objects.
        writes: The Kryo that is to read them.
    """

    key: TypeSerializerSnapshot | None
    infos: Mapping[str, StateMetaInfo]
    elements: Mapping[str, tuple[NewOperatorState, NewOperatorState]]
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

    @property
    def snapshots(self) -> Iterator[TypeSerializerSnapshot]:
        """The serializers that are written."""
        if self.key is not None:
            yield self.key
        for info in self.infos.values():
            yield from (entry.snapshot for _, entry in info.serializers)
        for _, state in self.elements.values():
            yield from state.serializers

    def element_recoding(self, name: str) -> Recoding:
        """How the elements of an operator state are written, which is one of ``elements``."""
        old, new = map(element_layout, self.elements[name])
        return Recoding(old, new, self.reads, self.writes)


def migration_of(operator: Operator, removed: frozenset[str]) -> Migration | None:
    """How the states of an operator are written; None if none has anything in it that changes.

    Args:
        operator: The operator.
        removed: The names of states that are left out.

    Raises:
        MigrationError: Nobody tells what is in a collection, or it has no serializer that is known.
            The message names all such states.
        SavepointError: A file can't be read.
    """
    planning = _Planning.of(operator, removed)
    with within(f"operator {operator.name}"):
        planning.problems.extend(refusals(operator, removed))
        migration = planning.migration()
        if planning.problems:
            raise MigrationError("; ".join(planning.problems))
    return migration if migration.touched else None


def collections_to_describe(operator: Operator) -> dict[str, dict[str, None]]:
    """The collections of which nobody says what is in them, by the class around them.

    Returns:
        Class -> ``operator: state 'name': class.field``, in their order, as the keys of a dict.
        Collections that are no field of a POJO are not among them: no description could tell.

    Raises:
        SavepointError: A file can't be read.
    """
    try:
        planning = _Planning.of(operator, frozenset())
    except KeyTypeError:
        return {}  # a migration asks for the types of keys first
    with within(f"operator {operator.name}"):
        planning.migration()
    around: dict[str, dict[str, None]] = {}
    for what, place in planning.unknown:
        if place.pojo:
            around.setdefault(place.pojo, {})[f"{operator.name}: {what}: {place}"] = None
    return around


@dataclass(frozen=True)
class _Planning:
    """Makes of an operator's serializers those of Flink 2.x, and notes what can't be made.

    Attributes:
        operator: The operator.
        removed: The names of states that are left out.
        types: The serializers of its keyed state; None if it has none.
        elements: Its operator state.
        kryo: The Kryo that wrote the objects.
        written: What Flink 1.x has made of the user's classes.
        extraction: What Flink 2.x makes of them.
        problems: What is refused.
        unknown: The collections of which nobody says what is in them, each with its state.
    """

    operator: Operator
    removed: frozenset[str]
    types: StoredTypes | None
    elements: Mapping[str, NewOperatorState]
    kryo: KryoDialect
    written: Extraction
    extraction: Extraction
    problems: list[str] = field(default_factory=list)
    unknown: list[tuple[str, CollectionPlace]] = field(default_factory=list)

    @classmethod
    def of(cls, operator: Operator, removed: frozenset[str]) -> Self:
        """That of an operator."""
        kryo = operator.kryo
        assert kryo is not None  # as it is one of a savepoint
        types = StoredTypes.of(operator) if operator.has_keyed_state else None
        elements = operator_states(operator)
        serializers = [] if types is None else list(types.serializers)
        for state in elements.values():
            serializers += state.serializers
        extraction = Extraction(kryo.classes, kryo_in(*serializers))
        written = replace(extraction, is_of_flink_1=True)
        return cls(operator, removed, types, elements, kryo, written, extraction)

    def migration(self) -> Migration:
        """How all states are written, but for those that are refused."""
        infos, key = {}, None
        if self.types is not None:
            kept = [info for info in self.types.states if info.name not in self.removed]
            has_other_keys = self._changes(self.types.key)
            if kept:
                key = self._noted("keys", lambda key: self._migrated(key, None), self.types.key)
            for info in kept:
                if has_other_keys or any(
                    self._changes(entry.snapshot) for _, entry in info.serializers
                ):
                    infos[info.name] = self._noted(f"state {info.name!r}", self._info, info)
        elements = {}
        for name, state in self.elements.items():
            if name not in self.removed and any(map(self._changes, state.serializers)):
                states = self._noted(f"state {name!r}", self._element_states, (state, state))
                elements[name] = states
        writes = KryoDialect(KryoVersion.V5_6, self.kryo.classes)
        return Migration(key, infos, elements, self.kryo, writes)

    def _noted(self, what: str, make: Callable[[PartT], PartT], part: PartT) -> PartT:
        """What is made of a part; the part itself, and a problem, where it is refused."""
        try:
            return make(part)
        except (MigrationError, UndecodableError) as error:
            self.problems.append(f"{what}: {error}")
            if isinstance(error, UnknownElementsError):
                self.unknown.extend((what, place) for place in error.collections)
            return part

    def _changes(self, snapshot: TypeSerializerSnapshot) -> bool:
        """Whether values of a serializer lie in another way in Flink 2.x, or nobody can say."""
        try:
            known = self._known(snapshot)
        except MigrationError:
            return True
        return known != snapshot or holds_kryo(known.layout())

    def _known(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """A serializer as Flink 1.x would have it, had it met all subclasses."""
        try:
            return with_subclasses(snapshot, self.written)
        except SchemaChangeError as error:
            raise MigrationError(str(error)) from error

    def _info(self, info: StateMetaInfo) -> StateMetaInfo:
        """What a header says of a state in 2.x."""
        for role, entry in info.serializers:
            values = self._values(info.name) if role == VALUE_SERIALIZER else None
            info = info.with_serializer(role, self._migrated(entry.snapshot, values))
        return info

    def _element_states(
        self, states: tuple[NewOperatorState, NewOperatorState]
    ) -> tuple[NewOperatorState, NewOperatorState]:
        """An operator state as it was, and as it is to be."""
        state, _ = states
        key = None if state.key is None else self._known(state.key)
        known = replace(state, element=self._known(state.element), key=key)
        layout = known.element.layout()
        values = ((layout, value) for value in stored_elements(self.operator, state))
        element = self._migrated(state.element, values if key is None else None)
        new_key = None if state.key is None else self._migrated(state.key, None)
        return known, replace(state, element=element, key=new_key)

    def _values(self, name: str) -> Values:
        """The values of a keyed state, and how they lie."""
        for piece in stored_pieces(self.operator, name):
            _, layout = entry_layouts(piece.state)
            if layout is not None:
                for value in piece.entries.values:
                    yield layout, value.as_py()

    def _migrated(
        self, snapshot: TypeSerializerSnapshot, values: Values | None
    ) -> TypeSerializerSnapshot:
        """A serializer as Flink 2.x has it.

        Args:
            snapshot: The serializer.
            values: What to look into, if nobody has described what collections have in them: the
                last of the serializer's collections are those of these values.
        """
        snapshot = self._known(snapshot)
        places = collection_places(snapshot.layout())
        known = described_elements(places, self.kryo)
        if len(known) < len(places) and values is not None:
            known |= observed_elements(places, known, values, self.kryo)
        unknown = tuple(place for number, place in enumerate(places) if number not in known)
        if unknown:
            raise UnknownElementsError(
                f"no value says what is in {', '.join(map(str, unknown))}: describe the class"
                " around it, with the types of its fields, as kryo_class(…) or by --classes;"
                " savepoint classes prints it",
                unknown,
            )
        elements = [known[number] for number in range(len(places))]
        try:
            return of_flink_2(snapshot, elements, self.extraction)
        except SchemaChangeError as error:
            raise MigrationError(str(error)) from error
