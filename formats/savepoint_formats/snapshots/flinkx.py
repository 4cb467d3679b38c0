"""Snapshots of the serializers of flink-scala-api, the successor of Flink's own API for Scala.

| snapshot                   | versions    | body                                                    |
|----------------------------|-------------|---------------------------------------------------------|
| ScalaCaseClassSerializer   | outer 1, 2  | utf class; nested: the fields                           |
| ScalaCaseClassSerializer   | outer 3     | utf class, bool is immutable; nested: the fields        |
| CoproductSerializer        | 2           | i32 n, n utf classes, n snapshots                       |
| CoproductSerializer        | outer 3     | i32 n, n texts (classes); nested: the subtypes          |
| Scala3EnumSerializer       | outer 1     | i32 n, n texts (names); nested: the values              |
| Scala3EnumValueSerializer  | 1           | utf class of the companion, utf name                    |
| ScalaCaseObjectSerializer  | 1           | utf class                                               |
| CollectionSerializer       | 2           | utf class of the serializer, utf of the element, snapshot |
| SortedCollectionSerializer | 2           | the same, snapshot of the ordering                      |
| (Mutable)MapSerializer     | 2 (1)       | snapshots of key and value                              |
| (Mutable)SortedMap…        | 1           | the same, snapshot of the ordering                      |
| MappedSerializer           | 2           | utf class of the mapper, snapshot                       |
| ReverseOrdering, OptionOrdering | 1      | snapshot of the ordering inside                         |

A mapper turns values of the user into values of a known serializer; these are shown. Snapshots of
collections and maps of version 1 (2 of mutable maps) are not known: they have no versions inside.

flink-scala-api: ``org.apache.flinkx.api.serializer``. Enums of Scala 3, the oldest versions and the
orderings of options are read as its source says; all others as jobs wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import BOOL, UTF, Codec
from savepoint_formats.bytes.counts import can_be_empty
from savepoint_formats.layout import VARIABLE, Layout, serializer_length
from savepoint_formats.layout.layout_facts import common_length
from savepoint_formats.snapshots.basic import inner, simple
from savepoint_formats.snapshots.composite import numbered, of_parts, optional_part
from savepoint_formats.snapshots.fields import NAMES, TEXTS, Following
from savepoint_formats.snapshots.snapshot import (
    NO_FIELDS,
    SNAPSHOT,
    SnapshotKind,
    TypeSerializerSnapshot,
    register,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.snapshots.fields import Field
    from savepoint_formats.snapshots.snapshot import SnapshotView

FLINKX = "org.apache.flinkx.api.serializer."
UUID_MAPPER = "org.apache.flinkx.api.mapper.UuidMapper"
_ORDERINGS = (
    *("Boolean", "Byte", "Char", "Short", "Int", "Long", "Float", "FloatIeee", "Double"),
    *("DoubleIeee", "BigInt", "BigDecimal", "String"),
)
_OLD_COPRODUCT = 2


@dataclass(frozen=True, slots=True)
class _CoproductKind(SnapshotKind):
    """A composite since version 3, and a plain body before."""

    def fields(self, version: int, outer_version: int) -> tuple[Field, ...]:
        """All fields of the body."""
        if version == _OLD_COPRODUCT:
            return ("classes", NAMES), ("nested", Following(lambda before: _snapshots(before[0])))
        return SnapshotKind.fields(self, version, outer_version)


def _snapshots(names: Sequence[str]) -> Codec:
    """A snapshot for each name."""

    def read(view: SnapshotView) -> tuple[TypeSerializerSnapshot, ...]:
        return tuple(TypeSerializerSnapshot.read(view) for _ in names)

    def write(view: DataOutputView, snapshots: tuple[TypeSerializerSnapshot, ...]) -> None:
        for snapshot in snapshots:
            snapshot.write(view)

    return Codec(read, write)


def _case_class_fields(outer_version: int) -> tuple[Field, ...]:
    immutable: tuple[Field, ...] = (("is_immutable", BOOL),) if outer_version >= 3 else NO_FIELDS
    return ("type_class", UTF), *immutable


def _case_class(snapshot: TypeSerializerSnapshot) -> Layout:
    fields = snapshot.nested_layouts()
    lengths = [serializer_length(field) for field in fields]
    padding = sum(lengths) if all(length > 0 for length in lengths) else 0
    return layouts.CaseClass(
        snapshot["type_class"], numbered("_", len(fields), first=1), fields, padding
    )


def _coproduct(snapshot: TypeSerializerSnapshot) -> Layout:
    return layouts.Coproduct(snapshot["classes"], snapshot.nested_layouts())


def _either(left: Layout, right: Layout) -> Layout:
    fields = left, right
    return layouts.OfScala(layouts.Tagged((1, 0), ("left", "right"), fields, common_length(fields)))


def _collection(snapshot: TypeSerializerSnapshot) -> Layout:
    elements = layouts.Repeated(
        snapshot["element"].layout(), is_array=snapshot["serializer"] == f"{FLINKX}ArraySerializer"
    )
    return layouts.OfScala(elements, snapshot["serializer"].startswith(f"{FLINKX}Mutable"))


def _map(snapshot: TypeSerializerSnapshot) -> layouts.OfScala:
    return layouts.OfScala(layouts.MapOf(snapshot["key"].layout(), snapshot["value"].layout()))


def _nullable_map(snapshot: TypeSerializerSnapshot) -> Layout:
    return replace(_map(snapshot), is_nullable=True)


def _sorted(make: Callable[[TypeSerializerSnapshot], Layout]) -> Callable[..., Layout]:
    def layout(snapshot: TypeSerializerSnapshot) -> Layout:
        ordering = snapshot["ordering"]
        if can_be_empty(ordering.layout()) and serializer_length(ordering.layout()) != VARIABLE:
            return make(snapshot)
        return layouts.Opaque(ordering.class_name, "an ordering whose bytes are not known")

    return layout


def _sorted_set(snapshot: TypeSerializerSnapshot) -> Layout:
    return layouts.OfScala(layouts.Repeated(snapshot["element"].layout()), is_nullable=True)


def _mapped(snapshot: TypeSerializerSnapshot) -> Layout:
    if snapshot["mapper"] == UUID_MAPPER:
        return layouts.ScalaValue("Uuid")
    return layouts.OfScala(snapshot["target"].layout())


def _plain(
    layout: Callable[[TypeSerializerSnapshot], Layout], version: int, *parts: str, **fields: Codec
) -> SnapshotKind:
    """The kind of a snapshot of one version: fields, then snapshots."""
    body = (*fields.items(), *((part, SNAPSHOT) for part in parts))
    return SnapshotKind(layout, lambda _version: body, versions=range(version, version + 1))


_NOTHING = layouts.Marker(None)

register(
    {
        f"{FLINKX}ScalaCaseClassSerializerSnapshot": SnapshotKind(
            _case_class, _case_class_fields, is_composite=True, newest_outer=3, parts=None
        ),
        f"{FLINKX}CoproductSerializer$CoproductSerializerSnapshot": _CoproductKind(
            _coproduct,
            lambda _version: (("classes", TEXTS),),
            versions=range(2, 4),
            is_composite=True,
            newest_outer=3,
        ),
        f"{FLINKX}Scala3EnumSerializerSnapshot": SnapshotKind(
            _coproduct, lambda _version: (("classes", TEXTS),), is_composite=True, newest_outer=1
        ),
        f"{FLINKX}Scala3EnumValueSerializerSnapshot": _plain(
            lambda snapshot: layouts.Marker(None, snapshot["name"]), 1, enum_class=UTF, name=UTF
        ),
        inner(f"{FLINKX}ScalaCaseObjectSerializer"): _plain(
            lambda snapshot: layouts.Marker(None, snapshot["type_class"]), 1, type_class=UTF
        ),
        f"{FLINKX}ScalaOptionSerializerSnapshot": of_parts(
            lambda value: layouts.OfScala(optional_part(value))
        ),
        f"{FLINKX}ScalaEitherSerializerSnapshot": of_parts(_either, 2),
        f"{FLINKX}CollectionSerializerSnapshot": _plain(
            _collection, 2, "element", serializer=UTF, element_class=UTF
        ),
        f"{FLINKX}SortedCollectionSerializerSnapshot": _plain(
            _sorted(_sorted_set), 2, "element", "ordering", serializer=UTF, element_class=UTF
        ),
        inner(f"{FLINKX}MapSerializer"): _plain(_map, 2, "key", "value"),
        f"{FLINKX}MutableMapSerializerSnapshot": _plain(_nullable_map, 1, "key", "value"),
        **{
            f"{FLINKX}{name}SerializerSnapshot": _plain(
                _sorted(_nullable_map), 1, "key", "value", "ordering"
            )
            for name in ("SortedMap", "MutableSortedMap")
        },
        inner(f"{FLINKX}MappedSerializer"): _plain(_mapped, 2, "target", mapper=UTF),
        inner(f"{FLINKX}UnitSerializer"): simple(layouts.OfScala(layouts.Marker(None, "()"))),
        f"{FLINKX}NothingSerializerSnapshot": simple(_NOTHING),
        f"{FLINKX}ZoneIdSerializerSnapshot": simple(layouts.Text()),
        **{
            f"{FLINKX}{form}SerializerSnapshot": simple(layouts.ScalaValue(form))
            for form in (
                *("FiniteDuration", "Duration", "ZoneOffset", "OffsetDateTime", "ZonedDateTime"),
            )
        },
        **{
            f"{FLINKX}Default{name}OrderingSerializerSnapshot": simple(_NOTHING)
            for name in _ORDERINGS
        },
        f"{FLINKX}UnitOrderingSerializerSnapshot": simple(_NOTHING),
        **{
            f"{FLINKX}{name}OrderingSerializerSnapshot": _plain(
                lambda snapshot: snapshot["ordering"].layout(), 1, "ordering"
            )
            for name in ("Reverse", "Option")
        },
    }
)
