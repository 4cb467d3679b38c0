"""Values that Kryo wrote, for serializers that Flink has of its own, within one release.

A class that the job makes a POJO gets ``PojoSerializer`` where Kryo had it, and fields declared as
``List``, ``Map`` or ``Set`` the serializers of these, as FLIP-398 has them in Flink 2. The job must
declare the same types; before 2.0 it does so by ``@TypeInfo`` or explicit types, and sets stay with Kryo.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.facts import operator_facts
from savepoint_extensions.upgrade.compatibility.unreadable_objects import (
    replacement,
    with_unreadable_objects,
)
from savepoint_extensions.upgrade.flink_2 import of_flink_2
from savepoint_extensions.upgrade.migration_plan import Planning
from savepoint_formats.errors import MigrationError, SchemaChangeError, within
from savepoint_formats.layout import FLINK_2_COLLECTIONS
from savepoint_formats.scan import Glance
from savepoint_formats.snapshots import KRYO, Extraction, constructed, with_nested
from savepoint_formats.values import collection_places
from savepoint_spark.changing import StageRule
from savepoint_spark.writing import expect_key_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.changing import ChangedOperator, StateRecoding
    from state_processor import SavepointWriter


def with_own_serializers(
    writer: SavepointWriter, to_pojo: frozenset[str], *, collections: bool
) -> SavepointWriter:
    """See ``SavepointWriter.migrate``.

    Raises:
        MigrationError: A class or a collection is not described well enough, or nothing changes.
    """
    writer = writer.ready_for(StageRule.ENTRIES)
    sources = [
        it.source for it in writer.operators if it.source is not None and not it.is_made_anew
    ]
    expect_key_types(source for source in sources if source.has_keyed_state)
    is_changed, problems = False, []
    for name, change in writer.changes_of(None).items():
        try:
            recoding = _recoding(change, to_pojo, has_collections=collections)
        except MigrationError as error:
            problems += [f"operator {name}: {problem}" for problem in error.problems]
            continue
        if recoding.touched:
            is_changed = True
            writer = writer.changed(name, partial(_changed, recoding))
    if problems:
        raise MigrationError(*problems)
    unreadable = dict(_unreadable(sources)) if collections else {}
    for old, new in unreadable.items():
        writer = writer.rename_class(old, new)
    if not is_changed and not unreadable:
        wanted = [f"objects of {name}" for name in sorted(to_pojo)] + ["collections"] * collections
        raise MigrationError(
            f"no serializer of Kryo has {' or '.join(wanted)}: nothing would change"
        )
    return writer


def _changed(recoding: StateRecoding, operator: ChangedOperator) -> ChangedOperator:
    return operator.with_change(recoding)


def _recoding(
    change: ChangedOperator, to_pojo: frozenset[str], *, has_collections: bool
) -> StateRecoding:
    operator = change.operator
    if change.is_local:
        raise MigrationError("it has local state: write it with merge_local first")
    planning = OwnSerializers.of(operator, change.removed)
    kryo = planning.kryo
    known = {described.class_name for described in kryo.classes}
    if lacking := sorted(to_pojo - known):
        raise MigrationError(
            f"{lacking[0]} is not described: describe its fields with --classes, which savepoint"
            " classes prints"
        )
    classes = tuple(
        replace(it, is_pojo=True) if it.class_name in to_pojo else it for it in kryo.classes
    )
    is_of_flink_1 = not kryo.is_5
    extraction = _Extraction(classes, planning.extraction.kryo, is_of_flink_1=is_of_flink_1)
    planning = replace(
        planning,
        extraction=extraction,
        written=replace(planning.written, is_of_flink_1=is_of_flink_1),
        to_pojo=to_pojo,
        has_collections=has_collections,
    )
    recoding = planning.migration()
    if planning.problems:
        raise MigrationError(*planning.problems)
    return recoding


def _unreadable(operators: Sequence[Operator]) -> Iterator[tuple[str, str]]:
    """Classes of objects that this Kryo can't read back, with those that it can."""
    for operator in operators:
        kryo = operator.kryo
        assert kryo is not None  # operators of a savepoint have one
        known = operator.record, operator.uid, operator.catalog, kryo
        with within(f"operator {operator.name}"):
            facts, _ = operator_facts(operator.directory, *known, Glance(None))
            states = operator.catalog.states
            facts = with_unreadable_objects(
                facts, operator.directory, states, kryo, Glance(None), is_5=kryo.is_5
            )
        for state in facts.states:
            for name in state.unreadable:
                if not (new := replacement(name)):
                    raise MigrationError(
                        f"operator {operator.name}: state {state.name!r} has objects of {name}, which"
                        " Kryo can't read back and no class of java.util replaces: change these values"
                        " with update_state, or leave the state out"
                    )
                yield name, new


@dataclass(frozen=True)
class _Extraction(Extraction):
    """Type extraction whose collections are those of a release; Flink 1 has no nulls in them."""

    def collection(
        self, class_name: str, elements: Sequence[str], around: tuple[str, ...] = ()
    ) -> TypeSerializerSnapshot:
        """See ``Extraction``."""
        if not self.is_of_flink_1:
            return super().collection(class_name, elements, around)
        parts = [self.of_class(element, (), around) for element in elements]
        match FLINK_2_COLLECTIONS[class_name], parts:
            case "list", [element]:
                return constructed.list_of(element)
            case "map", [key, value]:
                return constructed.map_of(key, value)
        raise SchemaChangeError(f"a {class_name} of {len(elements)} types")


@dataclass(frozen=True)
class OwnSerializers(Planning):
    """Makes serializers of the same release; only Kryo's change."""

    to_pojo: frozenset[str] = frozenset()
    has_collections: bool = False

    @property
    def writes(self) -> KryoDialect:
        """The Kryo that wrote the objects, with the classes as they are described."""
        return replace(self.kryo, classes=self.extraction.classes)

    def changes(self, snapshot: TypeSerializerSnapshot) -> bool:
        """Whether a part of the serializer gets another one."""
        seen = []

        def look(inner: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
            if inner.class_name == KRYO:
                name = inner["type_class"]
                seen.append(name in self.to_pojo or self._has_own(name))
                return inner
            return with_nested(inner, look)

        look(snapshot)
        return any(seen)

    def _has_own(self, class_name: str) -> bool:
        """Whether a collection gets a serializer of its own; sets stay with Kryo before Flink 2."""
        kind = FLINK_2_COLLECTIONS.get(class_name) if self.has_collections else None
        return kind is not None and (self.kryo.is_5 or kind != "set")

    def migrated(self, snapshot: TypeSerializerSnapshot, values: object) -> TypeSerializerSnapshot:
        """The serializer whose parts of Kryo are Flink's own where they can be."""
        try:
            if self.has_collections:
                known = self.elements_of(snapshot, values)  # type: ignore[arg-type]  # as of Planning
                places = collection_places(snapshot.layout())
                elements = [
                    it if self._has_own(place.class_name) else None
                    for it, place in zip(known, places, strict=True)
                ]
                snapshot = of_flink_2(snapshot, elements, self.extraction)
            return self._with_pojos(snapshot)
        except SchemaChangeError as error:
            raise MigrationError(str(error)) from error

    def _with_pojos(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        if snapshot.class_name != KRYO:
            return with_nested(snapshot, self._with_pojos)
        name = snapshot["type_class"]
        return self.extraction.of_class(name) if name in self.to_pojo else snapshot
