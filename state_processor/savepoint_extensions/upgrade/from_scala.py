"""Serializers of Flink's own API for Scala, as jobs of Flink 2 without that API have them.

| of Flink 1.x    | flinkx                   | pojo                         | row               |
|-----------------|--------------------------|------------------------------|-------------------|
| case class      | the same                 | a POJO of the described names| a row             |
| tuple           | the same                 | a tuple of Java              | a row             |
| Option          | the same                 | the value, or null           | the same as pojo  |
| Either          | the same                 | Flink's Either of Java       | the same as pojo  |
| Map, Set        | the same                 | a Map, a Set                 | the same as pojo  |
| other collection| by its class             | a List                       | the same as pojo  |
| Array           | an Array                 | stays                        | stays             |
| Unit            | the same                 | Void                         | the same as pojo  |
| Enumeration     | refused                  | an enum of the same constants| the same as pojo  |
| Kryo of a date, | its own serializer       | stays                        | stays             |
| a time, a UUID  |                          |                              |                   |

Fields of POJOs and rows and values of maps can be null; other places get a ``NullableSerializer``.
A collection in a field of a POJO has the serializers that Flink 2's type extraction gives it.

Bytes follow from the old and the new layout: see ``values.scala_recoding``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import (
    BASE,
    FLINKX,
    KRYO,
    OBJECTS,
    PRIMITIVES,
    RUNTIME,
    SCALA,
    UUID_MAPPER,
    constructed,
    inner,
    with_nested,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from savepoint_formats.layout import KryoClass
    from savepoint_formats.snapshots import TypeSerializerSnapshot as Snapshot

ScalaTarget = Literal["flinkx", "pojo", "row"]
"""The API that reads state of Flink's API for Scala from now on."""

_OLD = SCALA[0]
_CASE_CLASSES = tuple(
    f"{_OLD}{name}SerializerSnapshot" for name in ("ScalaCaseClass", "Tuple2CaseClass")
)
_OPTION = f"{_OLD}ScalaOptionSerializerSnapshot"
_TUPLE = re.compile(r"scala\.Tuple\d+")
_BUILT = re.compile(r"CanBuildFrom\[(?:\w+\.)*(?P<name>\w+)")
_SETS = ("Set", "HashSet", "ListSet", "SortedSet", "TreeSet", "BitSet")
_IMMUTABLE = ("List", "Vector", "Seq", "Set")
_MUTABLE = {"Buffer": "Buffer", "ArrayBuffer": "Buffer", "Queue": "Queue", "Set": "Set"}
_DATES = ("LocalDate", "LocalTime", "LocalDateTime")
_BOXES = {inner(f"{BASE}{name}Serializer"): kind.box for name, kind in PRIMITIVES.items()} | {
    inner(f"{BASE}{name}Serializer"): java_class for name, java_class in OBJECTS.items()
}
_COLLECTION_CLASSES = {
    _OPTION: "scala.Option",
    f"{_OLD}ScalaEitherSerializerSnapshot": "scala.util.Either",
}


def without_scala_api(
    snapshot: Snapshot, target: ScalaTarget, classes: Sequence[KryoClass]
) -> Snapshot:
    """The serializer without Flink's API for Scala; ``classes`` name the fields of case classes.

    Raises ``SchemaChangeError`` if the target has no such serializer, or a class is not described.
    """
    of_name = {described.class_name: described for described in classes}
    return _ToFlinkx().of(snapshot) if target == "flinkx" else _ToJava(target, of_name).of(snapshot)


def _refused(what: str, advice: str) -> SchemaChangeError:
    return SchemaChangeError(f"{what}: {advice}, or leave the state out")


def _type_name(serializer: str) -> str:
    return serializer.partition("Serializer")[0].removeprefix("Scala")


def _is_map(snapshot: Snapshot) -> bool:
    (element,) = snapshot.nested
    names_map = _collection_name(snapshot)[1].endswith("Map")
    return names_map and element.class_name in _CASE_CLASSES and len(element.nested) == 2


def _collection_name(snapshot: Snapshot) -> tuple[bool, str]:
    """Whether a collection is mutable, and the name of its class without the package."""
    match = _BUILT.search(snapshot["builder_code"])
    if match is None:
        return False, "Traversable"
    return re.search(r"\bmutable\.", match[0]) is not None, match["name"]


@dataclass(frozen=True, slots=True)
class _ToFlinkx:
    """The serializers of flink-scala-api."""

    def of(self, snapshot: Snapshot) -> Snapshot:
        """The new form of a serializer."""
        name = snapshot.class_name.removeprefix(_OLD)
        if snapshot.class_name == KRYO:
            return _of_kryo(snapshot)
        if name == snapshot.class_name:
            return self._of_flink(snapshot)
        nested = [self.of(part) for part in snapshot.nested]
        match name:
            case _ if snapshot.class_name in _CASE_CLASSES:
                own = {"type_class": snapshot["type_class"], "is_immutable": True}
                return _flinkx("ScalaCaseClassSerializerSnapshot", own, nested, outer=3)
            case "ScalaOptionSerializerSnapshot":
                return _flinkx(name, {}, nested, outer=2)
            case "ScalaEitherSerializerSnapshot":
                return _flinkx(name, {}, nested, outer=1)
            case "TraversableSerializerSnapshot":
                return self._collection(snapshot, nested)
            case "UnitSerializer$UnitSerializerSnapshot" | "NothingSerializerSnapshot":
                return _flinkx(name, {}, None)
        if "enum_class" in snapshot.names:
            enum = snapshot["enum_class"]
            raise _refused(
                f"{enum} is an Enumeration, for which flink-scala-api needs a mapper of yours",
                "migrate it to an enum of Java by --scala pojo or row",
            )
        raise _refused(
            f"flink-scala-api has no serializer of {_type_name(name)}",
            "change the type in the job of Flink 1",
        )

    def _of_flink(self, snapshot: Snapshot) -> Snapshot:
        if snapshot.class_name == f"{BASE}GenericArraySerializerSnapshot":
            (element,) = snapshot.nested
            return _collection("Array", snapshot["component"], self.of(element))
        return with_nested(snapshot, self.of)

    def _collection(self, snapshot: Snapshot, nested: Sequence[Snapshot]) -> Snapshot:
        is_mutable, name = _collection_name(snapshot)
        if _is_map(snapshot) and name == "Map":
            key, value = nested[0].nested
            own = {"key": key, "value": value}
            if is_mutable:
                return _flinkx("MutableMapSerializerSnapshot", own, None, version=1)
            return _flinkx("MapSerializer$MapSerializerSnapshot", own, None, version=2)
        known = f"Mutable{_MUTABLE[name]}" if is_mutable and name in _MUTABLE else name
        if (name not in _MUTABLE) if is_mutable else (name not in _IMMUTABLE):
            raise _refused(
                f"a collection {name}, whose serializer in flink-scala-api is not known",
                "change it to a List, Seq, Vector, Set or Map in the job of Flink 1",
            )
        return _collection(known, _class_of(snapshot.nested[0]), nested[0])


def _flinkx(
    name: str,
    own: Mapping[str, object],
    nested: Sequence[Snapshot] | None,
    *,
    version: int = 3,
    outer: int = 3,
) -> Snapshot:
    return constructed.snapshot_of(
        f"{FLINKX}{name}", own, nested, version=version, outer_version=outer
    )


def _collection(kind: str, element_class: str, element: Snapshot) -> Snapshot:
    own = {"serializer": f"{FLINKX}{kind}Serializer", "element_class": element_class}
    return _flinkx("CollectionSerializerSnapshot", own | {"element": element}, None, version=2)


def _of_kryo(snapshot: Snapshot) -> Snapshot:
    package, _, name = snapshot["type_class"].rpartition(".")
    if package == "java.time" and name in _DATES:
        return constructed.basic(name)
    if snapshot["type_class"] == "java.util.UUID":
        own = {"mapper": UUID_MAPPER, "target": constructed.basic("array.BytePrimitiveArray")}
        return _flinkx("MappedSerializer$MappedSerializerSnapshot", own, None, version=2)
    return snapshot


def _class_of(element: Snapshot) -> str:
    """The class of values of a serializer, as flink-scala-api names it in collections."""
    if element.class_name in _BOXES:
        return _BOXES[element.class_name]
    if element.class_name in _COLLECTION_CLASSES:
        return _COLLECTION_CLASSES[element.class_name]
    if "builder_code" in element.names:
        return f"scala.collection.immutable.{_collection_name(element)[1]}"
    for name in ("type_class", "enum_class"):
        if name in element.names:
            return str(element[name])
    raise _refused(
        f"a collection of values of {element.class_name}, whose class is not known",
        "put them into a case class in the job of Flink 1",
    )


@dataclass(frozen=True, slots=True)
class _ToJava:
    """Serializers of Flink's API for Java."""

    target: ScalaTarget
    classes: dict[str, KryoClass]
    in_pojo: bool = False

    def of(self, snapshot: Snapshot) -> Snapshot:
        """The new form of a serializer, where there is no other place for null."""
        if snapshot.class_name == _OPTION:
            return constructed.nullable(self.field(snapshot))
        name = snapshot.class_name.removeprefix(_OLD)
        if snapshot.class_name == f"{BASE}MapSerializerSnapshot":
            key, value = snapshot.nested
            return snapshot.with_fields(nested=(self.of(key), self.field(value)))
        if snapshot.class_name == f"{BASE}ListSerializerSnapshot":
            (element,) = snapshot.nested
            if element.class_name == _OPTION:
                raise _refused(
                    "a list state of options: Flink reads a list state up to its first null",
                    "migrate it by --scala flinkx",
                )
        if snapshot.class_name == f"{BASE}GenericArraySerializerSnapshot":
            (element,) = map(self.of, snapshot.nested)
            component = _component(element, snapshot["component"])
            return snapshot.with_fields(component=component, nested=(element,))
        if name == snapshot.class_name:
            return with_nested(snapshot, self.of)
        match name:
            case _ if snapshot.class_name in _CASE_CLASSES:
                return self._case_class(snapshot)
            case "ScalaEitherSerializerSnapshot":
                return constructed.either(*map(self.of, snapshot.nested))
            case "TraversableSerializerSnapshot":
                return self._collection(snapshot)
            case "UnitSerializer$UnitSerializerSnapshot":
                return constructed.void()
        if "enum_class" in snapshot.names:
            constants = [constant for constant, _ in snapshot["constants"]]
            return constructed.enum_of(snapshot["enum_class"].removesuffix("$"), constants)
        raise _refused(f"Java has no {_type_name(name)}", "change the type in the job of Flink 1")

    def field(self, snapshot: Snapshot) -> Snapshot:
        """The new form of a serializer, where null has a place beside it."""
        return self.of(snapshot.nested[0] if snapshot.class_name == _OPTION else snapshot)

    def _case_class(self, snapshot: Snapshot) -> Snapshot:
        class_name = snapshot["type_class"]
        if self.target == "row":
            return constructed.row_of(list(map(self.field, snapshot.nested)))
        if _TUPLE.match(class_name):
            return constructed.tuple_of(list(map(self.of, snapshot.nested)))
        described = self.classes.get(class_name)
        count = len(snapshot.nested)
        if described is None or len(described.fields) != count:
            raise _refused(
                f"{class_name} has {count} fields without names",
                "describe it by --classes, with its fields in the order of its constructor",
            )
        names = [field.name for field in described.fields]
        fields = map(replace(self, in_pojo=True).field, snapshot.nested)
        return constructed.pojo(class_name, dict(zip(names, fields, strict=True)))

    def _collection(self, snapshot: Snapshot) -> Snapshot:
        (element,) = snapshot.nested
        parts = element.nested if _is_map(snapshot) else (element,)
        if self.in_pojo and any(part.class_name.startswith(_GENERIC) for part in parts):
            raise _refused(
                f"{_class_of(snapshot)} of a type with arguments in a POJO, which Flink gives to"
                " Kryo",
                "migrate it by --scala row",
            )
        if _is_map(snapshot):
            key, value = self.of(parts[0]), self.field(parts[1])
            if not self.in_pojo:
                return constructed.map_of(key, value)
            return constructed.nullable(constructed.map_of(constructed.nullable(key), value))
        if _collection_name(snapshot)[1] in _SETS:
            elements = constructed.set_of(self.field(element))
            return constructed.nullable(elements) if self.in_pojo else elements
        if not self.in_pojo:
            return constructed.list_of(self.of(element))
        return constructed.nullable(constructed.list_of(constructed.nullable(self.field(element))))


def _component(element: Snapshot, old: str) -> str:
    """The class of an array's elements."""
    if element.class_name == inner(f"{RUNTIME}RowSerializer"):
        return "org.apache.flink.types.Row"
    is_tuple = element.class_name == f"{RUNTIME}TupleSerializerSnapshot"
    return str(element["type_class"]) if is_tuple else old


_GENERIC = tuple(
    f"{_OLD}{name}SerializerSnapshot" for name in ("Traversable", "ScalaEither", "Tuple2CaseClass")
)
