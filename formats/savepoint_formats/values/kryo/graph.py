"""Object graphs of Kryo: classes, references, and who reads what is between them.

| bytes of an object | meaning                                                                     |
|--------------------|-----------------------------------------------------------------------------|
| class              | varint 0 null; 1 by name: varint number of the name, and the name itself if |
|                    | it is the first time; else a registered number + 2                          |
| reference          | varint 1 a new object; else the number of an earlier one + 2. Not of        |
|                    | wrappers, nor of enums in 5.6                                               |
| body               | by the class: ``kryo_bodies``, ``kryo_collections``, ``kryo_fields``; or a  |
|                    | Java object stream, of which only the first object has the header           |

Where the class is known its bytes are missing, and 0 in place of a reference is null. Nothing is
ever instantiated: an object is a ``KryoObject``, a text or a number.

Kryo: ``DefaultClassResolver``, ``Kryo.readReferenceOrNull``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import UndecodableError
from savepoint_formats.java.stream import STREAM_HEADER, JavaObject, JavaStreamReader
from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kryo.bodies import body_of, read_enum
from savepoint_formats.values.kryo.classes import (
    FIELDS_OF_2,
    FIELDS_OF_BOTH,
    FINAL_CLASSES,
    JAVA_SERIALIZED,
    WRAPPERS,
    registered_classes,
)
from savepoint_formats.values.kryo.collections import collection_of
from savepoint_formats.values.kryo.fields import read_fields
from savepoint_formats.values.kryo.input import KryoInput
from savepoint_formats.values.kryo.objects import KryoObject, KryoReference

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Kryo
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoClass, KryoDialect

NULL = 0
_BY_NAME = 1
_NEW = 1
_FIRST_NUMBER = 2
_HEADER_SIZE = 4


def read_kryo(layout: Kryo, view: DataInputView, dialect: KryoDialect | None) -> Value:
    """The next object graph.

    Numbers, booleans, texts and null are themselves; lists, sets and arrays are lists, maps are
    lists of pairs, all others are ``KryoObject``.

    Raises:
        UndecodableError: It has an object of an unknown class, or the dialect is not known.
    """
    if dialect is None:
        raise view.error("an object of Kryo, of which the version is not known", UndecodableError)
    return KryoGraph(layout, view, dialect).read_class_and_object()


class KryoGraph:
    """Reads one graph; names and references are numbered anew in each."""

    def __init__(self, layout: Kryo, view: DataInputView, dialect: KryoDialect) -> None:
        self.view = view
        self.input = KryoInput(view, is_little_endian=dialect.is_5)
        self.is_5 = dialect.is_5
        self._registered = registered_classes(dialect, layout.registrations)
        self._custom = {
            registration.class_name: registration.serializer
            for registration in layout.registrations
        }
        fixed = FIELDS_OF_BOTH if dialect.is_5 else FIELDS_OF_BOTH + FIELDS_OF_2
        self._classes: dict[str, KryoClass] = {
            registration.class_name: registration for registration in fixed
        }
        self._user_classes = {
            described.class_name: described for described in (*dialect.classes, *layout.classes)
        }
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
        class_name = self._registered.get(number - _FIRST_NUMBER)
        if class_name is None:
            raise self.undecodable(f"class number {number - _FIRST_NUMBER}, which is not known")
        return class_name

    def _read_class_name(self) -> str:
        number = self.input.read_varint()
        if number == len(self._names):
            self._names.append(self.input.read_text() or "")
        elif number > len(self._names):
            raise self.view.error(f"class name {number} of {len(self._names)}")
        return self._names[number]

    def read_class_and_object(self) -> Value:
        """An object of any class, or null."""
        class_name = self.read_class()
        return None if class_name is None else self.read_object(class_name)

    def read_object(self, class_name: str) -> Value:
        """An object of a known class, never null."""
        if not self._has_references(class_name):
            return self._read_body(class_name)
        return self._read_new_or_old(self.input.read_varint(), lambda: self._read_body(class_name))

    def read_object_or_null(self, class_name: str) -> Value:
        """An object of a known class, or null."""
        number = self.input.read_varint()
        if number == NULL:
            return None
        if not self._has_references(class_name):
            return self._read_body(class_name)
        return self._read_new_or_old(number, lambda: self._read_body(class_name))

    def read_collection(self, read: Callable[[], Value]) -> Value:
        """A collection or null, whose own way to read it is that of its declared type."""
        if self.read_class() is None:
            return None
        return self._read_new_or_old(self.input.read_varint(), read)

    def _read_new_or_old(self, number: int, read: Callable[[], Value]) -> Value:
        if number == _NEW:
            index = len(self._objects)
            self._objects.append(KryoReference(index))
            self._objects[index] = read()
            return self._objects[index]
        index = number - _FIRST_NUMBER
        if not 0 <= index < len(self._objects):
            raise self.view.error(f"a reference to object {index} of {len(self._objects)}")
        return self._objects[index]

    def _has_references(self, class_name: str) -> bool:
        if class_name in WRAPPERS:
            return False
        return not (self.is_5 and self.is_enum(class_name))

    def is_enum(self, class_name: str) -> bool:
        """Whether a user's class is an enum, or the body of one of its constants."""
        return self.enum_class(class_name) is not None

    def enum_class(self, class_name: str) -> KryoClass | None:
        """The enum that a class is, or belongs to: ``E`` for ``E`` and ``E$1``."""
        for name in (class_name, class_name.rpartition("$")[0]):
            known = self._user_classes.get(name)
            if known and known.constants:
                return known
        return None

    def is_final(self, class_name: str) -> bool:
        """Whether a field of this type has objects of exactly this class."""
        if class_name.startswith("["):
            element = class_name.lstrip("[")
            return not element.startswith("L") or self.is_final(element[1:-1])
        known = self._user_classes.get(class_name)
        return known.is_final if known else class_name in FINAL_CLASSES

    def _read_body(self, class_name: str) -> Value:
        if self._depth >= MAX_DEPTH:
            raise self.undecodable(f"objects nested deeper than {MAX_DEPTH}")
        self._depth += 1
        value = self._read_body_of(class_name)
        self._depth -= 1
        return value

    def _read_body_of(self, class_name: str) -> Value:
        user_class = self._user_classes.get(class_name)
        if enum_class := self.enum_class(class_name):
            return read_enum(enum_class, self)
        if user_class:
            return read_fields(user_class, self)
        if self._is_java_serialized(class_name):
            return self._read_java(class_name)
        if self._custom.get(class_name):
            raise self.undecodable(f"{class_name}, which {self._custom[class_name]} wrote")
        if body := body_of(class_name, is_5=self.is_5):
            return body(self)
        if collection := collection_of(class_name):
            return collection(self)
        if known := self._classes.get(class_name):
            return read_fields(known, self)
        raise self.undecodable(f"an object of {class_name}, whose fields are not known")

    def _is_java_serialized(self, class_name: str) -> bool:
        """Whether an object is Java's own, as exceptions are: its header says so."""
        if class_name in JAVA_SERIALIZED:
            return not self.is_5 or class_name not in FINAL_CLASSES
        if self._custom.get(class_name, "").endswith("JavaSerializer"):
            return True
        is_known = body_of(class_name, is_5=self.is_5) or collection_of(class_name)
        if is_known or class_name in self._classes or self.view.remaining < _HEADER_SIZE:
            return False
        return self.view.peek_int() == STREAM_HEADER

    def _read_java(self, class_name: str) -> Value:
        """An object of the stream that all objects of the same serializer share."""
        is_of_jdk = class_name in JAVA_SERIALIZED
        stream = self._streams.get(is_of_jdk)
        if stream is None:
            stream = self._streams[is_of_jdk] = JavaStreamReader(self.view)
            stream.read_header()
        java_object = stream.read_object()
        return (
            KryoObject(class_name, java_object.fields)
            if isinstance(java_object, JavaObject)
            else java_object
        )

    def read_count(self) -> int:
        """A varint that counts elements."""
        return self.input.check_count(self.input.read_varint())

    def undecodable(self, message: str) -> UndecodableError:
        """The error of an object that nobody can read."""
        return self.view.error(message, UndecodableError)
