"""Whether a new serializer reads what an old one wrote, by the rules of Flink's serializer snapshots.

| outcome      | Flink                                                                             |
|--------------|-----------------------------------------------------------------------------------|
| as is        | goes on with the new serializer                                                   |
| reconfigured | goes on with the new serializer, which takes over numbers and orders of the old   |
| migrated     | reads by the old serializer and writes by the new one                             |
| unknown      | asks a class that is not known here                                               |
| incompatible | refuses the restore                                                               |

A serializer with others inside has the worst of their outcomes. A family of snapshots is a row in
``_FAMILIES``; a field of a composite snapshot's own part is a row in ``_OWN_PART``.

Flink: ``TypeSerializerSnapshot.resolveSchemaCompatibility``, ``CompositeTypeSerializerSnapshot``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.avro_resolution import unread_parts, unwritten_parts
from savepoint_extensions.upgrade.compatibility.facts import part_of
from savepoint_extensions.upgrade.compatibility.kryo_serializers import changed_serializers
from savepoint_formats.snapshots import (
    BASE,
    KRYO,
    POJO,
    RUNTIME,
    SCALA,
    OpaqueSnapshot,
    TypeSerializerSnapshot,
    framed_snapshot,
    inner,
    known_kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from savepoint_formats.snapshots import OptionalEntry

_STATE = "org.apache.flink.runtime.state."
_TTL = (
    f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot",
    f"{_STATE}v2.ttl.TtlStateFactory$TtlSerializerSnapshot",
)
_TTL_AWARE = f"{_STATE}ttl.TtlAwareSerializerSnapshot"
_TUPLE = f"{RUNTIME}TupleSerializerSnapshot"
_ROW_DATA = inner("org.apache.flink.table.runtime.typeutils.RowDataSerializer")
_AVRO = "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot"


class Outcome(IntEnum):
    """Flink's answer to a new serializer, from the best to the worst."""

    AS_IS = 0
    RECONFIGURED = 1
    MIGRATED = 2
    UNKNOWN = 3
    INCOMPATIBLE = 4


@dataclass(frozen=True, slots=True)
class Change:
    """A difference of two serializers: the name of the rule about it, and its place."""

    rule: str
    where: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The outcome for a serializer, and the changes that led to it."""

    outcome: Outcome = Outcome.AS_IS
    changes: tuple[Change, ...] = ()

    @classmethod
    def of(cls, outcome: Outcome, rule: str, where: str) -> Resolution:
        """The outcome of one change."""
        return cls(outcome, (Change(rule, where),))

    @classmethod
    def joined(cls, parts: Iterable[Resolution]) -> Resolution:
        """The worst outcome of several serializers, and all their changes."""
        resolved = tuple(parts)
        outcome = max((part.outcome for part in resolved), default=Outcome.AS_IS)
        return cls(outcome, tuple(change for part in resolved for change in part.changes))


def resolve(
    old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str, *, is_field: bool = False
) -> Resolution:
    """Flink's answer to state of an old serializer if a job has the new one.

    Args:
        old: The serializer that wrote the state.
        new: The serializer of the job that restores it.
        place: The place in the state, for messages: ``value.tags``.
        is_field: Whether it is the serializer of a field of a POJO.
    """
    old, new = _without_flag(old), _without_flag(new)
    if old == new:
        return Resolution()
    had_ttl, has_ttl = old.class_name in _TTL, new.class_name in _TTL
    if had_ttl != has_ttl:
        values = resolve(_value(old), _value(new), place)
        changed = Resolution.of(Outcome.MIGRATED, "ttl", f"{place}: {'on' if has_ttl else 'off'}")
        return Resolution.joined((changed, values))
    if old.class_name != new.class_name:
        return _other_class(old, new, place, is_field=is_field)
    if isinstance(old, OpaqueSnapshot) or isinstance(new, OpaqueSnapshot):
        return Resolution.of(Outcome.UNKNOWN, "serializer-changed", f"{place}: {_shown(old)}")
    return _FAMILIES.get(old.class_name, _by_parts)(old, new, place)


def _without_flag(snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """The serializer without the TTL flag that a snapshot may store with it since Flink 2.2."""
    return snapshot["inner"] if snapshot.class_name == _TTL_AWARE else snapshot


def _value(snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    return snapshot.nested[1] if snapshot.class_name in _TTL else snapshot


_WIDER = {
    inner(f"{BASE}{narrow}Serializer"): tuple(inner(f"{BASE}{wide}Serializer") for wide in widths)
    for narrow, widths in {
        "Byte": ("Short", "Int", "Long", "Float", "Double"),
        "Short": ("Int", "Long", "Float", "Double"),
        "Int": ("Long", "Double"),
        "Float": ("Double",),
    }.items()
}
"""Serializer of numbers -> those of types that hold all of them."""


def _other_class(
    old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str, *, is_field: bool
) -> Resolution:
    rule = "type-changed"
    if is_field and new.class_name in _WIDER.get(old.class_name, ()):
        rule = "field-widened"
    elif {old.class_name, new.class_name} == {POJO, KRYO}:
        rule = "pojo-kryo"
    elif isinstance(old, OpaqueSnapshot) or isinstance(new, OpaqueSnapshot):
        # The snapshot of the new serializer may know that of an old one.
        where = f"{place}: {_shown(old)} → {_shown(new)}"
        return Resolution.of(Outcome.UNKNOWN, "serializer-changed", where)
    return _refused(rule, old, new, place)


def _refused(
    rule: str, old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str
) -> Resolution:
    return Resolution.of(Outcome.INCOMPATIBLE, rule, f"{place}: {_shown(old)} → {_shown(new)}")


def _shown(snapshot: TypeSerializerSnapshot) -> str:
    """The class of the values, or a short name of the serializer."""
    for name in ("pojo_class", "type_class", "enum_class", "runtime_class"):
        if name in snapshot.names and snapshot[name]:
            return f"{snapshot[name]} of Kryo" if snapshot.class_name == KRYO else snapshot[name]
    simple = snapshot.class_name.rpartition(".")[2].rpartition("$")[2]
    return simple.removesuffix("Snapshot").removesuffix("Serializer")


def _pojo(old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str) -> Resolution:
    before = {(entry.name, entry.key): entry for entry in old["fields"]}
    after = {(entry.name, entry.key): entry for entry in new["fields"]}
    common = [
        _entries(before[field], after[field], f"{place}.{field[0]}", is_field=True)
        for field in before
        if field in after
    ]
    if old["pojo_class"] != new["pojo_class"]:
        names = {entry.name for entry in old["fields"]}, {entry.name for entry in new["fields"]}
        return _refused(
            "class-renamed" if names[0] == names[1] else "type-changed", old, new, place
        )
    removed = [before[field] for field in before if field not in after]
    added = [after[field] for field in after if field not in before]
    registered = [
        _entries(was, now, f"{place}({was.name})")
        for was in old["registered"]
        for now in new["registered"]
        if was.name == now.name
    ]
    return Resolution.joined((*common, *_moved_fields(removed, added, place), *registered))


def _moved_fields(
    removed: list[OptionalEntry], added: list[OptionalEntry], place: str
) -> Iterator[Resolution]:
    """Fields that were added or removed; an added one may be a removed one under a new name."""
    for was in removed:
        same = [now for now in added if was.value is not None and now.value == was.value]
        where = f"{place}.{was.name}"
        if same:
            where += f" → {', '.join(now.name for now in same)}"
        rule = "field-renamed" if same else "field-removed"
        yield Resolution.of(Outcome.MIGRATED, rule, where)
    for now in added:
        yield Resolution.of(Outcome.MIGRATED, "field-added", f"{place}.{now.name}")


def _entries(
    old: OptionalEntry, new: OptionalEntry, place: str, *, is_field: bool = False
) -> Resolution:
    was, now = framed_snapshot(old), framed_snapshot(new)
    if was is None or now is None:
        return Resolution.of(Outcome.UNKNOWN, "serializer-changed", place)
    return resolve(was, now, place, is_field=is_field)


def _enum(old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str) -> Resolution:
    if old["enum_class"] != new["enum_class"]:
        return _refused("type-changed", old, new, place)
    before, after = tuple(old["constants"]), tuple(new["constants"])
    lost = [str(constant) for constant in before if constant not in after]
    if lost:
        where = f"{place}: {', '.join(lost)}"
        return Resolution.of(Outcome.INCOMPATIBLE, "enum-constant-removed", where)
    return Resolution.of(Outcome.RECONFIGURED, "enum-order", f"{place}: {_shown(old)}")


def _kryo(old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str) -> Resolution:
    if old["type_class"] != new["type_class"]:
        return _refused("other-class", old, new, place)
    parts = ("registrations", "default_serializers", "default_serializer_classes")
    resolved = []
    for part in parts:
        before, after = ({entry.name: entry for entry in snapshot[part]} for snapshot in (old, new))
        unloaded = [name for name, entry in before.items() if entry.value is None]
        if lost := [name for name in unloaded if name not in after]:
            where = f"{place}: {', '.join(lost)}"
            resolved.append(Resolution.of(Outcome.INCOMPATIBLE, "kryo-registration-lost", where))
        elif tuple(after)[: len(before)] != tuple(before):
            gone = ", ".join(name for name in before if name not in after)
            where = f"{place}: {gone or 'another order'}"
            resolved.append(Resolution.of(Outcome.RECONFIGURED, "kryo-registrations", where))
    for name, change in changed_serializers(old, new):
        rule = "kryo-serializer" if name == old["type_class"] else "kryo-serializer-perhaps"
        where = f"{place}: {name}: {change}"
        resolved.append(Resolution.of(Outcome.RECONFIGURED, rule, where))
    return Resolution.joined(resolved)


def _avro(old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str) -> Resolution:
    schemas = new["schema"] or "", old["schema"] or ""
    unread = unread_parts(*schemas)
    if unread is None:
        return Resolution.of(Outcome.UNKNOWN, "serializer-changed", f"{place}: its Avro schema")
    refused = (
        Resolution.of(Outcome.INCOMPATIBLE, "avro-schema", f"{place}{part}") for part in unread
    )
    was, now = (_record_class(snapshot) for snapshot in (old, new))
    if was and now and was != now:
        classes = Resolution.of(Outcome.INCOMPATIBLE, "avro-class", f"{place}: {was} → {now}")
        return Resolution.joined((classes, *refused))
    if unread:
        return Resolution.joined(refused)
    lost = tuple(_by_position(*schemas, place)) if _is_generic(old) else ()
    return Resolution.joined(lost or (Resolution.of(Outcome.MIGRATED, "avro-evolved", place),))


_GENERIC_RECORDS = (
    "org.apache.avro.generic.GenericRecord",
    "org.apache.avro.generic.GenericData$Record",
)


def _is_generic(snapshot: TypeSerializerSnapshot) -> bool:
    return "runtime_class" in snapshot.names and snapshot["runtime_class"] in _GENERIC_RECORDS


def _record_class(snapshot: TypeSerializerSnapshot) -> str:
    """The class of Avro records; empty if they have none of their own, or it is not known."""
    is_known = "runtime_class" in snapshot.names and not _is_generic(snapshot)
    return snapshot["runtime_class"] or "" if is_known else ""


def _by_position(new: str, old: str, place: str) -> Iterator[Resolution]:
    """Records without a class: Flink agrees to migrate them, and then writes them by position."""
    failed, shifted = unwritten_parts(new, old)
    rule, parts = ("avro-generic", failed) if failed else ("avro-generic-shifted", shifted)
    for part in parts:
        yield Resolution.of(Outcome.INCOMPATIBLE, rule, f"{place}{part}")


_OWN_PART = {
    "component": Outcome.INCOMPATIBLE,
    "padding": Outcome.INCOMPATIBLE,
    "type_class": Outcome.INCOMPATIBLE,
    "has_kind": Outcome.MIGRATED,
    "has_mask": Outcome.MIGRATED,
    "supports_null": Outcome.MIGRATED,
    "has_previous_timestamp": Outcome.MIGRATED,
}
"""Field of a composite's own part -> the outcome if it differs."""

_UNCOMPARED = ("outer_version", "nested", "identifier")


def _by_parts(old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str) -> Resolution:
    """Compares the nested serializers one by one, and the snapshots' own parts."""
    if len(old.nested) != len(new.nested):
        where = f"{place}: {len(old.nested)} → {len(new.nested)} fields"
        return Resolution.of(Outcome.INCOMPATIBLE, "arity-changed", where)
    inside = [
        resolve(was, now, place + part_of(old, index))
        for index, (was, now) in enumerate(zip(old.nested, new.nested, strict=True))
    ]
    return Resolution.joined((*inside, *_own_parts(old, new, place)))


def _own_parts(
    old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str
) -> Iterator[Resolution]:
    for name in old.names:
        if name in _UNCOMPARED or name not in new.names or old[name] == new[name]:
            continue
        if name == "type_class" and old.class_name == _TUPLE:
            continue  # Flink compares the fields alone
        if isinstance(old[name], TypeSerializerSnapshot):
            yield resolve(old[name], new[name], place)
        elif name in _OWN_PART and known_kind(old.class_name).is_composite:
            outcome, where = _OWN_PART[name], f"{place}: {old[name]} → {new[name]}"
            is_refused = outcome is Outcome.INCOMPATIBLE
            yield Resolution.of(outcome, "type-changed" if is_refused else "format-evolved", where)
        else:
            is_other = old.layout() != new.layout()
            outcome = Outcome.INCOMPATIBLE if is_other else Outcome.UNKNOWN
            yield Resolution.of(
                outcome, "type-changed" if is_other else "serializer-changed", place
            )


def _row_data(old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, place: str) -> Resolution:
    if old["types"] == new["types"]:
        return _by_parts(old, new, place)
    is_other = old.layout() != new.layout()
    where = f"{place}: {len(old['types'])} → {len(new['types'])} fields" if is_other else place
    outcome = Outcome.INCOMPATIBLE if is_other else Outcome.UNKNOWN
    return Resolution.of(outcome, "sql-row" if is_other else "serializer-changed", where)


_FAMILIES: dict[str, Callable[[Any, Any, str], Resolution]] = {
    POJO: _pojo,
    KRYO: _kryo,
    inner(f"{BASE}EnumSerializer"): _enum,
    **{f"{package}ScalaEnumSerializerSnapshot": _enum for package in SCALA},
    _AVRO: _avro,
    _ROW_DATA: _row_data,
}
"""Snapshot class -> the function that compares two of them; ``_by_parts`` for others."""
