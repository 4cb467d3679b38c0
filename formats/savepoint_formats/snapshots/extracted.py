"""Serializers that Flink makes for classes that the user described.

| class                                   | serializer                                              |
|-----------------------------------------|---------------------------------------------------------|
| wrappers, String, Date, Instant and the | its own; not LocalDate and the like, which have one     |
| like, and primitives                    | only where the job asks for it                          |
| array                                   | of primitives, of texts, or of any other class          |
| described enum                          | of its constants                                        |
| described POJO                          | of its fields, sorted by name                           |
| any other                               | Kryo                                                    |

| declared              | serializer                                                                |
|-----------------------|---------------------------------------------------------------------------|
| List<T>, Collection<T>| nullable list of nullable T                                               |
| Iterable<T>           |                                                                           |
| Set<T>                | nullable set of T                                                         |
| Map<K, V>             | nullable map of nullable K, and V                                         |

A collection gets Kryo if an argument is a wildcard or has arguments itself. In 1.x all get Kryo.

Flink: ``TypeExtractor``; ``NullableListTypeInfo``, ``NullableSetTypeInfo``, ``NullableMapTypeInfo``
of 2.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import FLINK_2_COLLECTIONS, KryoClass, KryoField, TypeArgument
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.basic import OBJECTS, PRIMITIVES
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.nested import snapshot_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

    Elements = tuple[str, ...] | None
    """Classes of elements, or of keys and values; None for a collection with Kryo."""

# Flink asks for serializers of LocalDate and its like only where the job does.
_OF_CLASS = {
    java_class: name for name, java_class in OBJECTS.items() if not name.startswith("Local")
} | {kind.box: name for name, kind in PRIMITIVES.items()}
"""Class -> the name of its serializer in Flink's ``base`` package."""

_OF_PRIMITIVE = {kind.name: name for name, kind in PRIMITIVES.items()}
_OF_CODE = {kind.code: name for name, kind in PRIMITIVES.items()}
_OF_JDK = ("java.", "javax.")
_OF_FLINK = "org.apache.flink."


def has_own_serializer(class_name: str) -> bool:
    """Whether Flink has a serializer of its own for a class of the JDK."""
    return class_name in _OF_CLASS


def elements_of(field: KryoField | TypeArgument) -> Elements:
    """The classes of elements of a field's collection, or of an array of collections."""
    if any(argument.arguments or argument.wildcard for argument in field.arguments):
        return None
    return tuple(argument.type for argument in field.arguments) or None


def subclasses_of(class_name: str, classes: Iterable[KryoClass]) -> list[str]:
    """Names of the classes that extend a class, directly or not."""
    names = []
    for described in classes:
        if described.superclass == class_name:
            names += [described.class_name, *subclasses_of(described.class_name, classes)]
    return names


@dataclass(frozen=True)
class Extraction:
    """Flink's type extraction, for the classes of the user.

    ``kryo`` is any Kryo serializer of the job; its registrations are used. All methods raise
    ``SchemaChangeError`` if a class is not described well enough.
    """

    classes: tuple[KryoClass, ...]
    kryo: TypeSerializerSnapshot
    is_of_flink_1: bool = False

    def collection(
        self, class_name: str, elements: Sequence[str], around: tuple[str, ...] = ()
    ) -> TypeSerializerSnapshot:
        """The serializer of a collection that is declared as this class."""
        nullable = constructed.nullable
        parts = [self.of_class(element, (), around) for element in elements]
        match FLINK_2_COLLECTIONS[class_name], parts:
            case "list", [element]:
                return nullable(constructed.list_of(nullable(element)))
            case "set", [element]:
                return nullable(constructed.set_of(element))
            case "map", [key, value]:
                return nullable(constructed.map_of(nullable(key), value))
            case _:
                raise SchemaChangeError(f"a {class_name} of {len(elements)} types")

    def of_class(
        self, name: str, within: tuple[str, ...] = (), around: tuple[str, ...] = ()
    ) -> TypeSerializerSnapshot:
        """The serializer of a class inside the POJOs ``within``; one of them would get Kryo.

        ``around`` has the POJOs around it too, if it is in a collection.
        """
        if known := _OF_CLASS.get(name) or _OF_PRIMITIVE.get(name):
            return constructed.basic(known)
        if name.startswith("["):
            return self._array(TypeArgument(name), within, around)
        described = self._described(name)
        if described is not None and described.constants:
            return constructed.enum_of(name, described.constants)
        if name.startswith(_OF_FLINK):
            raise SchemaChangeError(f"objects of {name}, which has its own type in Flink")
        if name.startswith(_OF_JDK) or name in within:
            return self._of_kryo(name)
        if described is None:
            raise SchemaChangeError(f"objects of {name}: describe the class")
        if described.is_pojo is None:
            raise SchemaChangeError(
                f"objects of {name}: say in its description whether Flink takes it as a POJO, by"
                ' is_pojo, or "pojo" in a file'
            )
        return self._pojo(described, within, around) if described.is_pojo else self._of_kryo(name)

    def _described(self, name: str) -> KryoClass | None:
        return next((known for known in self.classes if known.class_name == name), None)

    def _array(
        self, declared: TypeArgument | KryoField, within: tuple[str, ...], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        component = declared.type[1:]
        if component in _OF_CODE:
            return constructed.primitive_array(constructed.basic(_OF_CODE[component]))
        name = component[1:-1] if component.startswith("L") else component
        if name == "java.lang.String":
            return constructed.string_array()
        field = KryoField("", name, declared.arguments)
        return constructed.object_array(name, self._field(field, within, around))

    def _pojo(
        self, described: KryoClass, within: tuple[str, ...], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        name = described.class_name
        if name in around:
            raise SchemaChangeError(
                f"POJOs of {name} in a collection of themselves, where Flink 2.x fails"
            )
        within, around = (*within, name), (*around, name)
        fields = {field.name: self._field(field, within, around) for field in described.fields}
        return self.with_subclasses(constructed.pojo(name, fields), within, around)

    def with_subclasses(
        self,
        pojo: TypeSerializerSnapshot,
        within: tuple[str, ...] = (),
        around: tuple[str, ...] = (),
    ) -> TypeSerializerSnapshot:
        """The serializer of a POJO, with its described subclasses that it doesn't name yet."""
        known = {entry.name for entry in (*pojo["registered"], *pojo["unregistered"])}
        added = tuple(
            OptionalEntry(name, b"", snapshot_bytes(self.of_class(name, within, around)))
            for name in subclasses_of(pojo["pojo_class"], self.classes)
            if name not in known
        )
        return pojo.with_fields(unregistered=pojo["unregistered"] + added)

    def _field(
        self, field: KryoField, within: tuple[str, ...], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        if field.type.startswith("["):
            return self._array(field, within, around)
        elements = elements_of(field)
        is_collection = field.type in FLINK_2_COLLECTIONS and not self.is_of_flink_1
        if is_collection and elements is not None:
            return self.collection(field.type, elements, around)
        return self.of_class(field.type, within, around)

    def _of_kryo(self, name: str) -> TypeSerializerSnapshot:
        """Kryo's serializer of a class; the class comes first among its registrations."""
        entry, *_ = constructed.kryo(name)["registrations"]
        first = self.kryo["type_class"]
        others = [other for other in self.kryo["registrations"] if other.name not in (first, name)]
        return self.kryo.with_fields(type_class=name, registrations=(entry, *others))
