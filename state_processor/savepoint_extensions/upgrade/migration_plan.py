"""The states of an operator that Flink 1.x wrote, for Flink 2.x.

Objects of Kryo are written for Kryo 5. Collections get the serializers that 2.x has for them.
State of Flink's API for Scala is written for another API. Everything else is copied as bytes.
``collection_elements`` tells the types of elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, TypeVar

from savepoint_extensions.upgrade.collection_elements import (
    UnknownElementsError,
    described_elements,
    observed_elements,
)
from savepoint_extensions.upgrade.compatibility.facts import operator_facts
from savepoint_extensions.upgrade.compatibility.rules import Crossing, Verdict, all_findings
from savepoint_extensions.upgrade.compatibility.serializer_rules import (
    HEALED_BY_MIGRATION,
    SERIALIZER_RULES,
)
from savepoint_extensions.upgrade.compatibility.state_rules import STATE_RULES
from savepoint_extensions.upgrade.flink_2 import of_flink_2
from savepoint_extensions.upgrade.from_scala import without_scala_api
from savepoint_formats.errors import (
    KeyTypeError,
    MigrationError,
    SchemaChangeError,
    UndecodableError,
    within,
)
from savepoint_formats.layout import Pojo, holds_kryo
from savepoint_formats.metadata import FlinkVersionRange, MetadataVersion
from savepoint_formats.scan import Glance
from savepoint_formats.snapshots import Extraction, kryo_in, with_subclasses
from savepoint_formats.state_files import VALUE_SERIALIZER, entry_layouts
from savepoint_formats.values import KryoDialect, KryoVersion, collection_places
from savepoint_spark.changing import (
    StateRecoding,
    operator_states,
    stored_chunks,
    stored_elements,
)
from savepoint_spark.writing import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.upgrade.compatibility.facts import StateFacts
    from savepoint_extensions.upgrade.compatibility.rules import Finding
    from savepoint_extensions.upgrade.from_scala import ScalaTarget
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import Elements, TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo
    from savepoint_formats.values import CollectionPlace
    from savepoint_spark.changing import ChangedOperator
    from savepoint_spark.writing import NewOperatorState

    Values = Iterator[tuple[Layout, bytes]]

ItemT = TypeVar("ItemT")

_CROSSING = Crossing(FlinkVersionRange((1, 20), (1, 20)), MetadataVersion.PROPERTIES, (2, 2))
"""Rules for Flink 1 and 2 are the same for all releases of both."""

_PASSING = (Verdict.RESTORABLE, Verdict.UNKNOWN)


def migration_of(
    operator: Operator, removed: frozenset[str], scala: ScalaTarget | None = None
) -> StateRecoding | None:
    """The migration of an operator's states; None if nothing in them changes.

    ``scala`` is the API that gets state of Flink's API for Scala.

    Raises:
        MigrationError: A collection or serializer is unknown. The message names all such states.
        SavepointError: A file can't be read.
    """
    planning = replace(Planning.of(operator, removed), scala=scala)
    healed = HEALED_BY_MIGRATION | ({"scala"} if scala else set())
    with within(f"operator {operator.name}"):
        planning.problems.extend(_refusals(operator, removed, healed))
        migration = planning.migration()
        if planning.problems:
            raise MigrationError(*planning.problems)
    return migration if migration.touched else None


def collections_to_describe(operator: Operator) -> dict[str, dict[str, None]]:
    """The collections with unknown elements, as ``operator: state 'name': class.field``, by the class around them.

    Collections that are not a field of a POJO are left out: no description could tell their types.
    """
    try:
        planning = Planning.of(operator, frozenset())
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
class Planning:
    """Makes serializers of Flink 2.x, and collects ``problems`` and ``unknown`` collections.

    ``written`` is what Flink 1.x made of the user's classes, ``extraction`` what Flink 2.x makes.
    """

    operator: Operator
    removed: frozenset[str]
    types: StoredTypes | None
    elements: Mapping[str, NewOperatorState]
    kryo: KryoDialect
    written: Extraction
    extraction: Extraction
    scala: ScalaTarget | None = None
    problems: list[str] = field(default_factory=list)
    unknown: list[tuple[str, CollectionPlace]] = field(default_factory=list)

    @classmethod
    def of(cls, operator: Operator, removed: frozenset[str]) -> Self:
        kryo = operator.kryo
        assert kryo is not None  # operators of a savepoint have one
        types = StoredTypes.of(operator) if operator.has_keyed_state else None
        elements = operator_states(operator)
        serializers = [] if types is None else list(types.serializers)
        for state in elements.values():
            serializers += state.serializers
        extraction = Extraction(kryo.classes, kryo_in(*serializers))
        written = replace(extraction, is_of_flink_1=True)
        return cls(operator, removed, types, elements, kryo, written, extraction)

    def migration(self) -> StateRecoding:
        """The migration of all states that are not refused."""
        infos, key, moves_keys = {}, None, False
        if self.types is not None:
            remaining = [info for info in self.types.states if info.name not in self.removed]
            has_other_keys = self.changes(self.types.key)
            if remaining:
                key = self._noted("keys", self._migrated_key, self.types.key)
                is_changed = key != self.types.key and not holds_kryo(self.types.key.layout())
                moves_keys = self.scala is not None and is_changed
            for info in remaining:
                if has_other_keys or any(self.changes(entry) for _, entry in info.serializers):
                    infos[info.name] = self._noted(f"state {info.name!r}", self._info, info)
        elements = {}
        for name, state in self.elements.items():
            if name not in self.removed and any(map(self.changes, state.serializers)):
                states = self._noted(f"state {name!r}", self._element_states, (state, state))
                elements[name] = states
        return StateRecoding(key, infos, elements, self.kryo, self.writes, moves_keys)

    @property
    def writes(self) -> KryoDialect:
        """The Kryo that reads the new objects."""
        return KryoDialect(KryoVersion.V5_6, self.kryo.classes)

    def _noted(self, what: str, make: Callable[[ItemT], ItemT], item: ItemT) -> ItemT:
        """The new form; where it is refused, the old one and a problem."""
        try:
            return make(item)
        except (MigrationError, SchemaChangeError, UndecodableError) as error:
            self.problems.append(f"{what}: {error}")
            if isinstance(error, UnknownElementsError):
                self.unknown.extend((what, place) for place in error.collections)
            return item

    def changes(self, snapshot: TypeSerializerSnapshot) -> bool:
        """Whether values have other bytes in Flink 2.x, or may have."""
        try:
            known = self._without_scala(self.known_by_1(snapshot))
        except MigrationError:
            return True
        return known != snapshot or holds_kryo(known.layout())

    def _without_scala(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        if self.scala is None:
            return snapshot
        try:
            return without_scala_api(snapshot, self.scala, self.kryo.classes)
        except SchemaChangeError as error:
            raise MigrationError(str(error)) from error

    def _migrated_key(self, key: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The serializer of keys; case classes don't become POJOs, whose hash codes are unknown."""
        with_migration = self.migrated(key, None)
        if isinstance(with_migration.layout(), Pojo) and self._without_scala(key) != key:
            raise MigrationError(
                "they would be POJOs, whose hashCode decides on key groups and is not known: migrate"
                " by --scala flinkx or row"
            )
        return with_migration

    def known_by_1(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """A serializer as Flink 1.x would have it after meeting all subclasses."""
        try:
            return with_subclasses(snapshot, self.written)
        except SchemaChangeError as error:
            raise MigrationError(str(error)) from error

    def _info(self, info: StateMetaInfo) -> StateMetaInfo:
        for role, entry in info.serializers:
            values = self._values(info.name) if role == VALUE_SERIALIZER else None
            info = info.with_serializer(role, self.migrated(entry, values))
        return info

    def _element_states(
        self, states: tuple[NewOperatorState, NewOperatorState]
    ) -> tuple[NewOperatorState, NewOperatorState]:
        state, _ = states
        key = None if state.key is None else self.known_by_1(state.key)
        known = replace(state, element=self.known_by_1(state.element), key=key)
        layout = known.element.layout()
        values = ((layout, value) for value in stored_elements(self.operator, state))
        element = self.migrated(state.element, values if key is None else None)
        new_key = None if state.key is None else self.migrated(state.key, None)
        return known, replace(state, element=element, key=new_key)

    def _values(self, name: str) -> Values:
        for chunk in stored_chunks(self.operator, name):
            _, layout = entry_layouts(chunk.state)
            if layout is not None:
                for value in chunk.entries.values:
                    yield layout, value.as_py()

    def migrated(
        self, snapshot: TypeSerializerSnapshot, values: Values | None
    ) -> TypeSerializerSnapshot:
        """A serializer as Flink 2.x has it.

        ``values`` tell the elements of collections that are not described; these are the last
        collections of the serializer.
        """
        snapshot = self.known_by_1(snapshot)
        elements = self.elements_of(snapshot, values)
        try:
            return self._without_scala(of_flink_2(snapshot, elements, self.extraction))
        except SchemaChangeError as error:
            raise MigrationError(str(error)) from error

    def elements_of(
        self, snapshot: TypeSerializerSnapshot, values: Values | None
    ) -> list[Elements]:
        """The types of the elements of each collection of Kryo in a serializer."""
        places = collection_places(snapshot.layout())
        known = described_elements(places, self.kryo)
        if len(known) < len(places) and values is not None:
            known |= observed_elements(places, known, values, self.kryo)
        unknown = tuple(place for number, place in enumerate(places) if number not in known)
        if unknown:
            raise UnknownElementsError(
                f"no value tells the type of the elements of {', '.join(map(str, unknown))}: describe the class"
                " around it, with the types of its fields, as kryo_class(…) or by --classes;"
                " savepoint classes prints it",
                unknown,
            )
        return [known[number] for number in range(len(places))]


def _refusals(
    operator: Operator, removed: frozenset[str], healed: Collection[str]
) -> Iterator[str]:
    """Reasons why states of an operator can't be with_migration; reads its files."""
    known = operator.record, operator.uid, operator.catalog, operator.kryo
    facts, _ = operator_facts(operator.directory, *known, Glance(None))
    for state in facts.states:
        if state.name not in removed:
            yield from (f"state {state.name!r}: {reason}" for reason in _reasons(state, healed))


def _reasons(state: StateFacts, healed: Collection[str]) -> Iterator[str]:
    for name in state.subclasses:
        yield (
            f"it has values of {name}, a subclass of a POJO that neither a serializer nor a"
            " description knows, and that Flink 2 may misread: describe it, and what it extends, by"
            " kryo_class(…, superclass=…) or by --classes, or leave the state out"
        )
    if state.unseen:
        yield f"it can't be searched for unknown subclasses of POJOs: {state.unseen}"
    refused = (finding for finding in _findings(state) if _is_refused(finding, healed))
    for finding in dict.fromkeys(refused):
        yield ": ".join(filter(None, [finding.where, f"{finding.reason}; {finding.advice}"]))


def _findings(state: StateFacts) -> Iterator[Finding]:
    yield from all_findings(STATE_RULES, state, _CROSSING)
    for use in state.serializers:
        yield from all_findings(SERIALIZER_RULES, use, _CROSSING)


def _is_refused(finding: Finding, healed: Collection[str]) -> bool:
    return finding.rule not in healed and finding.verdict not in _PASSING


def with_migration(change: ChangedOperator, scala: ScalaTarget | None = None) -> ChangedOperator:
    """See ``SavepointWriter.migrate``."""
    if change.is_local:
        raise MigrationError(
            f"operator {change.operator.name} has local state: write it with merge_local first, and"
            " migrate what it has written"
        )
    migration = migration_of(change.operator, change.removed, scala)
    return change if migration is None else change.with_change(migration)
