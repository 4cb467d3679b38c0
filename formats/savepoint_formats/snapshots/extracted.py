"""Serializers that Flink makes of the classes that a user has described.

| class                                   | serializer                                              |
|-----------------------------------------|---------------------------------------------------------|
| wrappers, String, Date, Instant and the | one of its own; not of LocalDate and the like, which    |
| like, and primitives                    | have one only where the job asks for it                 |
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

Where an argument is no class, but has arguments itself or is a wildcard, Kryo keeps the collection;
in 1.x it has all of them.

Flink: ``TypeExtractor``; ``NullableListTypeInfo``, ``NullableSetTypeInfo``, ``NullableMapTypeInfo``
of 2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import (
    FLINK_2_COLLECTIONS,
    KryoClass,
    KryoField,
    TypeArgument,
)
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.class_names import snapshot_bytes
from savepoint_formats.snapshots.fields import OptionalEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

    Elements = tuple[str, ...] | None
    """The classes of elements, or of keys and values; None of a collection that Kryo keeps."""

_OF_CLASS: dict[str, Callable[[], TypeSerializerSnapshot]] = {
    "java.lang.Boolean": constructed.boolean,
    "java.lang.Byte": constructed.byte,
    "java.lang.Short": constructed.short,
    "java.lang.Integer": constructed.integer,
    "java.lang.Long": constructed.long,
    "java.lang.Float": constructed.single,
    "java.lang.Double": constructed.double,
    "java.lang.Character": constructed.char,
    "java.lang.String": constructed.string,
    "java.math.BigInteger": constructed.big_int,
    "java.math.BigDecimal": constructed.big_dec,
    "java.util.Date": constructed.date,
    "java.sql.Date": constructed.sql_date,
    "java.sql.Time": constructed.sql_time,
    "java.sql.Timestamp": constructed.sql_timestamp,
    "java.time.Instant": constructed.instant,
}
_PRIMITIVES: dict[str, Callable[[], TypeSerializerSnapshot]] = {
    "boolean": constructed.boolean,
    "byte": constructed.byte,
    "short": constructed.short,
    "int": constructed.integer,
    "long": constructed.long,
    "float": constructed.single,
    "double": constructed.double,
    "char": constructed.char,
}
_CODES = dict(zip("ZBSIJFDC", _PRIMITIVES.values(), strict=True))
_OF_JDK = ("java.", "javax.")
_OF_FLINK = "org.apache.flink."


def has_own_serializer(class_name: str) -> bool:
    """Whether Flink has a serializer of its own for a class of the JDK."""
    return class_name in _OF_CLASS


def elements_of(field: KryoField | TypeArgument) -> Elements:
    """The classes of what is in a field's collections, be they in an array."""
    if any(argument.arguments or argument.wildcard for argument in field.arguments):
        return None
    return tuple(argument.type for argument in field.arguments) or None


def subclasses_of(class_name: str, classes: Iterable[KryoClass]) -> list[str]:
    """The names of the classes that extend a class, be it by another one."""
    names = []
    for described in classes:
        if described.superclass == class_name:
            names += [described.class_name, *subclasses_of(described.class_name, classes)]
    return names


@dataclass(frozen=True)
class Extraction:
    """What Flink's type extraction makes of classes.

    Args:
        classes: Those of the user.
        kryo: A serializer of Kryo of the same job, for its registrations.
        is_of_flink_1: Whether it is that of 1.x.
    """

    classes: tuple[KryoClass, ...]
    kryo: TypeSerializerSnapshot
    is_of_flink_1: bool = False

    def collection(self, class_name: str, elements: Sequence[str]) -> TypeSerializerSnapshot:
        """The serializer of a collection that is declared as this class.

        Raises:
            SchemaChangeError: There is none for such elements, or nobody has described them.
        """
        return self._collection(class_name, elements, ())

    def _collection(
        self, class_name: str, elements: Sequence[str], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        nullable = constructed.nullable
        of_what = [self._of_class(element, (), around) for element in elements]
        match FLINK_2_COLLECTIONS[class_name], of_what:
            case "list", [element]:
                return nullable(constructed.list_of(nullable(element)))
            case "set", [element]:
                return nullable(constructed.set_of(element))
            case "map", [key, value]:
                return nullable(constructed.map_of(nullable(key), value))
            case _:
                raise SchemaChangeError(f"a {class_name} of {len(elements)} types")

    def of_class(self, name: str) -> TypeSerializerSnapshot:
        """The serializer of a class; errors are those of ``collection``."""
        return self._of_class(name, (), ())

    def _of_class(
        self, name: str, within: tuple[str, ...], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        """The serializer of a class.

        Args:
            name: Its name.
            within: The POJOs whose fields it is in; Flink leaves it to Kryo if it is one of them.
            around: Those that it is in, be it in a collection of theirs.
        """
        if known := _OF_CLASS.get(name) or _PRIMITIVES.get(name):
            return known()
        if name.startswith("["):
            return self._array(TypeArgument(name), within, around)
        described = self._described(name)
        if described is not None and described.constants:
            return constructed.enum_of(name, described.constants)
        if name.startswith(_OF_FLINK):
            raise SchemaChangeError(f"objects of {name}, for which Flink has a type of its own")
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
        if component in _CODES:
            return constructed.primitive_array(_CODES[component]())
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
                f"POJOs of {name} in a collection of themselves, at which Flink 2.x fails"
            )
        within, around = (*within, name), (*around, name)
        fields = {field.name: self._field(field, within, around) for field in described.fields}
        return self._with_subclasses(constructed.pojo(name, fields), within, around)

    def with_subclasses(self, pojo: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The serializer of a POJO, with those of its described subclasses that it lacks.

        Raises:
            SchemaChangeError: Of one nobody has said enough.
        """
        return self._with_subclasses(pojo, (), ())

    def _with_subclasses(
        self, pojo: TypeSerializerSnapshot, within: tuple[str, ...], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        known = {entry.name for entry in (*pojo["registered"], *pojo["unregistered"])}
        added = tuple(
            OptionalEntry(name, b"", snapshot_bytes(self._of_class(name, within, around)))
            for name in subclasses_of(pojo["pojo_class"], self.classes)
            if name not in known
        )
        values = dict(zip(pojo.names, pojo.values, strict=True))
        values["unregistered"] += added
        return replace(pojo, values=tuple(values.values()))

    def _field(
        self, field: KryoField, within: tuple[str, ...], around: tuple[str, ...]
    ) -> TypeSerializerSnapshot:
        if field.type.startswith("["):
            return self._array(field, within, around)
        elements = elements_of(field)
        is_collection = field.type in FLINK_2_COLLECTIONS and not self.is_of_flink_1
        if is_collection and elements is not None:
            return self._collection(field.type, elements, around)
        return self._of_class(field.type, within, around)

    def _of_kryo(self, name: str) -> TypeSerializerSnapshot:
        """Kryo's serializer of a class, which is the first that it registers."""
        bare = constructed.kryo(name)
        entry, *_ = bare["registrations"]
        first = self.kryo["type_class"]
        others = [other for other in self.kryo["registrations"] if other.name not in (first, name)]
        values = dict(zip(self.kryo.names, self.kryo.values, strict=True))
        values |= {"type_class": name, "registrations": (entry, *others)}
        return replace(self.kryo, values=tuple(values.values()))
