"""Object graphs of Kryo: classes, references and bodies.

| bytes of an object | meaning                                                                     |
|--------------------|-----------------------------------------------------------------------------|
| class              | varint 0 null; 1 by name: varint number of the name, and the name itself if |
|                    | it is the first time; else a registered number + 2                          |
| reference          | varint 1 a new object; else the number of an earlier one + 2. Wrappers, and |
|                    | enums in 5.6, have no reference                                             |
| body               | by the class, see ``known_classes``; or a stream of Java's serialization,   |
|                    | with a header before the first object only                                  |

If the class is known, its bytes are missing, and 0 in place of a reference is null. No object is
ever instantiated: an object becomes a ``KryoObject``, a text or a number.

Kryo: ``DefaultClassResolver``, ``Kryo.readReferenceOrNull``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import UndecodableError
from savepoint_formats.java.stream import (
    STREAM_HEADER,
    JavaArray,
    JavaEnum,
    JavaObject,
    JavaStreamReader,
)
from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kryo.input import KryoInput
from savepoint_formats.values.kryo.known_classes import (
    JAVA_SERIALIZED,
    described_body,
    known_body,
    known_classes,
    registered_body,
)
from savepoint_formats.values.kryo.objects import Detailed, KryoNode, KryoObject, KryoReference

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Kryo, TypeArgument
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Arguments = tuple[TypeArgument, ...]

NULL = 0
_BY_NAME = 1
_NEW = 1
_FIRST_NUMBER = 2
_HEADER_SIZE = 4


class UnregisteredClassError(UndecodableError):
    """A class has a number that neither Kryo nor Flink nor the job has registered."""


def read_kryo(layout: Kryo, view: DataInputView, dialect: KryoDialect | None) -> Value:
    """The next object graph.

    Numbers, booleans, texts and null are themselves. Lists, sets and arrays become lists, maps lists
    of pairs, all others a ``KryoObject``.

    Raises:
        UndecodableError: An object has an unknown class, or the dialect is not known.
    """
    if dialect is None:
        raise view.error("an object of Kryo, whose version is not known", UndecodableError)
    return KryoGraph(layout, view, dialect).read_class_and_object()


class KryoGraph:
    """Reads one graph; numbers of names and references start anew in each.

    Attributes:
        arguments: The declared type arguments of the object whose body is read next.
        unknown: The unknown class at which reading ended; None if there is none.
    """

    view: DataInputView
    input: KryoInput
    arguments: Arguments = ()
    unknown: str | None = None

    def __init__(self, layout: Kryo, view: DataInputView, dialect: KryoDialect) -> None:
        self.view = view
        self.input = KryoInput(view, is_little_endian=dialect.is_5)
        self.is_5 = dialect.is_5
        self.classes = known_classes(layout, dialect)
        self._names: list[str] = []
        self._objects: list[Value] = []
        self._streams: dict[bool, JavaStreamReader] = {}
        self._depth = 0

    def read_class(self) -> str | None:
        """The class of the next object; None if it is null."""
        number = self.input.read_varint()
        if number == NULL:
            return None
        if number == _BY_NAME:
            return self._read_class_name()
        class_name = self.classes.registered.get(number - _FIRST_NUMBER)
        if class_name is None:
            message = f"class number {number - _FIRST_NUMBER}, which is not known"
            raise self.view.error(message, UnregisteredClassError)
        return class_name

    def _read_class_name(self) -> str:
        number = self.input.read_varint()
        if number == len(self._names):
            self._names.append(self.read_name())
        elif number > len(self._names):
            raise self.view.error(f"class name {number} of {len(self._names)}")
        return self._names[number]

    def read_name(self) -> str:
        """The name of a class where it comes first."""
        return self.input.read_text() or ""

    def read_class_and_object(self, arguments: Arguments = ()) -> Value:
        """An object of any class, or null; ``arguments`` belong to its declared type."""
        class_name = self.read_class()
        return None if class_name is None else self.read_object(class_name, arguments)

    def read_object(self, class_name: str, arguments: Arguments = ()) -> Value:
        """An object of a known class, never null."""
        if not self.classes.has_references(class_name):
            return self.untracked(class_name)
        return self._read_new_or_old(self.input.read_varint(), class_name, arguments)

    def read_object_or_null(self, class_name: str, arguments: Arguments = ()) -> Value:
        """An object of a known class, or null."""
        number = self.input.read_varint()
        if number == NULL:
            return None
        if self.classes.has_references(class_name):
            return self._read_new_or_old(number, class_name, arguments)
        if number != _NEW:
            raise self.view.error(f"a flag of {number} in front of a {class_name}, expected 0 or 1")
        return self.untracked(class_name)

    def with_detail(self, detail: Value, values: list[Value]) -> Value:  # noqa: ARG002
        """A collection; only nodes keep its detail."""
        return values

    def untracked(self, class_name: str) -> Value:
        """An object that nothing refers to."""
        return self._read_body(class_name)

    def _read_new_or_old(self, number: int, class_name: str, arguments: Arguments = ()) -> Value:
        if number == _NEW:
            return self._new(class_name, arguments)
        index = number - _FIRST_NUMBER
        if not 0 <= index < len(self._objects):
            raise self.view.error(f"a reference to object {index} of {len(self._objects)}")
        return self._objects[index]

    def _new(self, class_name: str, arguments: Arguments) -> Value:
        index = len(self._objects)
        self._objects.append(KryoReference(index))
        self._objects[index] = self._read_body(class_name, arguments)
        return self._objects[index]

    def _read_body(self, class_name: str, arguments: Arguments = ()) -> Value:
        if self._depth >= MAX_DEPTH:
            raise self.undecodable(f"objects nested deeper than {MAX_DEPTH}")
        self._depth += 1
        outer, self.arguments = self.arguments, arguments
        value = self._read_body_of(class_name)
        self._depth -= 1
        self.arguments = outer
        return value

    def _read_body_of(self, class_name: str) -> Value:
        classes = self.classes
        if described := described_body(class_name, classes):
            return described.read(self)
        if registered := registered_body(class_name, classes):
            return registered.read(self)
        if self._is_java_serialized(class_name):
            return self.read_java(class_name)
        if classes.custom.get(class_name):
            raise self.undecodable(f"{class_name}, which {classes.custom[class_name]} wrote")
        if known := known_body(class_name, classes):
            return known.read(self)
        return self.read_unknown(class_name)

    def read_unknown(self, class_name: str) -> Value:
        """A case object of Scala, which has no fields if its bytes end here; others are refused."""
        if class_name.endswith("$") and not self.view.remaining:
            return KryoObject(class_name, {})
        return self.refuse_unknown(class_name)

    def refuse_unknown(self, class_name: str) -> Value:
        """Refuses an object of an undescribed class."""
        self.unknown = class_name
        raise self.undecodable(f"an object of {class_name}, whose fields are not known")

    def _is_java_serialized(self, class_name: str) -> bool:
        """Whether Java's serialization wrote an object, such as an exception."""
        if class_name in JAVA_SERIALIZED:
            return known_body(class_name, self.classes) is None
        if self.classes.custom.get(class_name, "").endswith("JavaSerializer"):
            return True
        if known_body(class_name, self.classes) or self.view.remaining < _HEADER_SIZE:
            return False
        return self.view.peek_int() == STREAM_HEADER

    def read_java(self, class_name: str) -> Value:
        """An object of Java's stream; all objects of one serializer share a stream."""
        is_of_jdk = class_name in JAVA_SERIALIZED
        stream = self._streams.get(is_of_jdk)
        if stream is None:
            stream = self._streams[is_of_jdk] = JavaStreamReader(self.view)
            stream.read_header()
        value = stream.read_object()
        content = _value_of_java(value, {})
        return replace(content, class_name=class_name) if isinstance(value, JavaObject) else content

    def read_count(self) -> int:
        """A varint that counts elements."""
        return self.input.check_count(self.input.read_varint())

    def undecodable(self, message: str) -> UndecodableError:
        """An error about an undecodable object."""
        return self.view.error(message, UndecodableError)


def _value_of_java(value: Any, known: dict[int, Value]) -> Value:
    """What Java's stream has as an object of Kryo; contents that ``writeObject`` wrote are ``$written``."""
    match value:
        case JavaEnum():
            return value.constant
        case JavaArray(_, elements):
            is_list = isinstance(elements, list)
            return [_value_of_java(element, known) for element in elements] if is_list else elements
        case JavaObject() if id(value) not in known:
            known[id(value)] = KryoReference(len(known))
            parts = value.fields | ({"$written": value.annotations} if value.annotations else {})
            fields = {name: _value_of_java(part, known) for name, part in parts.items()}
            known[id(value)] = KryoObject(value.class_name, fields)
            return known[id(value)]
        case JavaObject():
            return known[id(value)]
        case list():
            return [_value_of_java(element, known) for element in value]
        case _:
            return value


class NodeGraph(KryoGraph):
    """Reads a graph whose objects are nodes."""

    def read_nodes(self) -> KryoNode | None:
        """The graph with all that its bytes tell; raises the errors of ``read_kryo``."""
        return self.read_class_and_object()  # type: ignore[no-any-return]

    def with_detail(self, detail: Value, values: list[Value]) -> Value:
        """A collection with its detail."""
        return Detailed(detail, values)

    def untracked(self, class_name: str) -> Value:
        """Its node."""
        return KryoNode(class_name, self._read_body(class_name))

    def read_unknown(self, class_name: str) -> Value:
        """Refused, because the other Kryo may have another form of it."""
        return self.refuse_unknown(class_name)

    def _new(self, class_name: str, arguments: Arguments) -> Value:
        node = KryoNode(class_name)
        self._objects.append(node)
        node.content = self._read_body(class_name, arguments)
        return node
