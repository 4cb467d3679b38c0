"""Nodes that only the general path can read."""

from __future__ import annotations

from savepoint_formats.layout.node import Layout, node


@node
class KryoRegistration:
    """A class that Kryo writes as a number.

    ``serializer`` is the name of a custom serializer class, or empty.
    """

    class_name: str
    serializer: str = ""


@node
class TypeArgument:
    """What stands between the brackets of a type: the ``List<String>`` of a ``Set<List<String>>``.

    Attributes:
        type: As ``Class.getName`` gives it.
        arguments: Its own, or those of an array's components.
        wildcard: ``extends`` or ``super`` of ``? extends T``; empty if it is none.
    """

    type: str
    arguments: tuple[TypeArgument, ...] = ()
    wildcard: str = ""


@node
class KryoField:
    """A field of a class.

    Attributes:
        name: Its name; Kryo orders fields by it.
        type: The declared type as ``Class.getName`` gives it: ``int``, ``java.lang.String``,
            ``[B``, ``[Ljava.lang.String;``.
        arguments: Of a collection or map, the declared types of its elements, or of its keys and
            values: ``(TypeArgument("java.lang.String"),)`` of a ``List<String>``, or of a
            ``List<String>[]``.
    """

    name: str
    type: str
    arguments: tuple[TypeArgument, ...] = ()


@node
class KryoClass:
    """A class whose objects Kryo writes field by field, or an enum.

    Attributes:
        class_name: As ``Class.getName`` gives it.
        fields: Those that are neither static nor transient, of superclasses too.
        is_final: Whether the class is final; so is an enum of constants without bodies.
        constants: The names of an enum's constants.
        is_pojo: Whether Flink takes it as a POJO; None if nobody has said.
        superclass: Of a POJO, the one that it extends.
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
    """A class whose fields the snapshot of a serializer names, but not their declared types.

    Attributes:
        class_name: As ``Class.getName`` gives it.
        fields: The fields; of each all that it may be declared as.
        constants: The names of an enum's constants.
    """

    class_name: str
    fields: tuple[tuple[KryoField, ...], ...] = ()
    constants: tuple[str, ...] = ()


@node
class Kryo(Layout):
    """An object graph of Kryo; its version (2.24 or 5.6) is that of the savepoint's Flink.

    ``registrations`` are the snapshot's, in order; their numbers follow the built-in ones.
    ``classes`` are the user's, if ``class_name`` is one of them: no snapshot has their fields.
    ``version`` is that of the Kryo that new objects are written for, empty if none are. The struct of
    a class that is described has a field for the bytes of what does not fit, if it ``is_open``.
    ``named`` are classes of which serializers of the same file name the fields.
    """

    class_name: str
    registrations: tuple[KryoRegistration, ...] = ()
    classes: tuple[KryoClass, ...] = ()
    version: str = ""
    is_open: bool = True
    named: tuple[NamedClass, ...] = ()


FLINK_2_COLLECTIONS = {
    "java.util.Map": "map",
    "java.util.List": "list",
    "java.util.Collection": "list",
    "java.lang.Iterable": "list",
    "java.util.Set": "set",
}
"""Declared type -> what Flink 2.x has a serializer for, if the type has arguments; 1.x has Kryo.

Flink: ``TypeExtractor``, which asks each type whether it takes a ``Map``, a ``List`` or a ``Set``.
"""


@node
class JavaObject(Layout):
    """A Java serialization stream with a header of its own."""


@node
class Opaque(Layout):
    """Bytes up to the end of the value that holds them, because ``reason``."""

    class_name: str
    reason: str

    @property
    def note(self) -> str:
        """The reason, behind the class if there is one."""
        return f"{self.class_name}: {self.reason}" if self.class_name else self.reason
