"""Nodes that only the general path can read."""

from __future__ import annotations

from savepoint_formats.layout.node import Layout, node


@node
class KryoRegistration:
    """A class that Kryo writes as a number; ``serializer`` is a custom serializer class, or empty."""

    class_name: str
    serializer: str = ""


@node
class TypeArgument:
    """An argument of a type: the ``List<String>`` of a ``Set<List<String>>``.

    Attributes:
        type: As ``Class.getName`` gives it.
        arguments: Its own arguments, or those of an array's components.
        wildcard: ``extends`` or ``super`` of ``? extends T``, or empty.
    """

    type: str
    arguments: tuple[TypeArgument, ...] = ()
    wildcard: str = ""


@node
class KryoField:
    """A field of a class; Kryo sorts fields by their names.

    Attributes:
        name: Its name.
        type: The declared type as ``Class.getName`` gives it: ``int``, ``java.lang.String``, ``[B``,
            ``[Ljava.lang.String;``.
        arguments: The declared types of a collection's elements, or of a map's keys and values:
            ``(TypeArgument("java.lang.String"),)`` for ``List<String>`` and ``List<String>[]``.
    """

    name: str
    type: str
    arguments: tuple[TypeArgument, ...] = ()


@node
class KryoClass:
    """A class whose objects Kryo writes field by field, or an enum.

    Attributes:
        class_name: As ``Class.getName`` gives it.
        fields: Fields that are neither static nor transient, including those of superclasses.
        is_final: Whether the class is final. An enum is, unless a constant has a body.
        constants: The names of an enum's constants.
        is_pojo: Whether Flink treats it as a POJO; None if unknown.
        superclass: The POJO that a POJO extends.
    """

    class_name: str
    fields: tuple[KryoField, ...] = ()
    is_final: bool = False
    constants: tuple[str, ...] = ()
    is_pojo: bool | None = None
    superclass: str = ""

    def __repr__(self) -> str:
        members = self.constants or tuple(field.name for field in self.fields)
        return f"KryoClass({self.class_name!r}, {', '.join(members) or 'no fields'})"


@node
class NamedClass:
    """A class whose fields a serializer's snapshot names, but not their declared types.

    Each element of ``fields`` has all types that one field may be declared as.
    """

    class_name: str
    fields: tuple[tuple[KryoField, ...], ...] = ()
    constants: tuple[str, ...] = ()


@node
class Kryo(Layout):
    """An object graph of Kryo; the savepoint's Flink decides its version (2.24 or 5.6).

    Attributes:
        class_name: The declared class.
        registrations: Registrations of the snapshot, in order; their numbers follow the built-in
            ones.
        classes: The user's descriptions, if ``class_name`` is described.
        version: The Kryo that new objects are written for, empty if none are.
        is_open: Whether the struct of a described class has a field for bytes that do not fit.
        named: Classes whose fields other serializers of the same file name.
        arguments: The types of a collection's elements, if they are known.
    """

    class_name: str
    registrations: tuple[KryoRegistration, ...] = ()
    classes: tuple[KryoClass, ...] = ()
    version: str = ""
    is_open: bool = True
    named: tuple[NamedClass, ...] = ()
    arguments: tuple[TypeArgument, ...] = ()


FLINK_2_COLLECTIONS = {
    "java.util.Map": "map",
    "java.util.List": "list",
    "java.util.Collection": "list",
    "java.lang.Iterable": "list",
    "java.util.Set": "set",
}
"""Declared type with arguments -> the serializer of Flink 2.x; Flink 1.x uses Kryo.

Flink: ``TypeExtractor``, which asks each type whether it takes a ``Map``, a ``List`` or a ``Set``.
"""


@node
class JavaObject(Layout):
    """A Java serialization stream with a header of its own."""


@node
class Opaque(Layout):
    """Bytes up to the end of the value around them, because of a ``reason``.

    ``is_damage`` says that the savepoint describes the value in bytes that can't be parsed.
    """

    class_name: str
    reason: str
    is_damage: bool = False

    @property
    def note(self) -> str:
        """The class, if there is one, and the reason."""
        return f"{self.class_name}: {self.reason}" if self.class_name else self.reason
