"""Writes the records that ``java.stream`` reads; that module has the table of tags.

The second appearance of an object, an equal string or enum constant, or a class of the same name is
a reference. Java finds equal strings only by identity, but in snapshots they are constants.

Source: Java Object Serialization Specification, chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.java.stream import (
    EXTERNALIZABLE,
    FIRST_HANDLE,
    PRIMITIVES,
    SERIALIZABLE,
    STREAM_HEADER,
    WRITE_METHOD,
    JavaArray,
    JavaClass,
    JavaEnum,
    JavaObject,
    Tag,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

_ENUM = 0x10
_MAX_SHORT_BLOCK = 0xFF

_ENUM_ROOT = JavaClass("java.lang.Enum", SERIALIZABLE | _ENUM)


@dataclass(slots=True)
class JavaStreamWriter:
    """Writes one stream; its objects share handles."""

    view: DataOutputView
    _handles: dict[Hashable, int] = field(default_factory=dict)

    def write_header(self) -> None:
        """``AC ED 00 05``."""
        self.view.write_int(STREAM_HEADER)

    def write_object(self, value: Any) -> None:
        """Raises ``ValueError`` if several classes of an object have their own ``writeObject``."""
        if value is None:
            self._write_tag(Tag.NULL)
        elif not self._write_reference(_same_value(value)):
            self._write_new(value)

    def _write_new(self, value: Any) -> None:
        match value:
            case str():
                self._write_tag(Tag.STRING)
                self._keep(value)
                self.view.write_utf(value)
            case JavaClass():
                self._write_tag(Tag.CLASS)
                self._write_class_description(value)
                self._keep(value)
            case JavaEnum():
                self._write_enum(value)
            case JavaArray():
                self._write_array(value)
            case JavaObject():
                self._write_java_object(value)
            case _:
                raise TypeError(f"{type(value).__name__} is not a record of a Java object")

    def _write_tag(self, tag: Tag) -> None:
        self.view.write_byte(tag)

    def _keep(self, value: Any) -> None:
        self._handles[_same_value(value)] = FIRST_HANDLE + len(self._handles)

    def _write_reference(self, known_as: Hashable) -> bool:
        """Writes a reference if the value was written before."""
        handle = self._handles.get(known_as)
        if handle is not None:
            self._write_tag(Tag.REFERENCE)
            self.view.write_int(handle)
        return handle is not None

    def _write_class_description(self, description: JavaClass | None) -> None:
        if description is None:
            self._write_tag(Tag.NULL)
            return
        known_as = "class description", description.name
        if self._write_reference(known_as):
            return
        self._write_tag(Tag.CLASS_DESCRIPTION)
        self.view.write_utf(description.name)
        self.view.write_long(description.uid)
        self._handles[known_as] = FIRST_HANDLE + len(self._handles)
        self.view.write_byte(description.flags)
        self.view.write_unsigned_short(len(description.fields))
        for declared, name in description.fields:
            self.view.write_byte(ord(declared[0]))
            self.view.write_utf(name)
            if declared[0] in "L[":
                self.write_object(declared)
        self._write_tag(Tag.END_BLOCK_DATA)
        self._write_class_description(next(reversed(description.ancestors), None))

    def _write_java_object(self, value: JavaObject) -> None:
        self._write_tag(Tag.OBJECT)
        self._write_class_description(value.java_class)
        self._keep(value)
        parts = (*value.java_class.ancestors, value.java_class)
        writers = [part for part in parts if part.flags & (WRITE_METHOD | EXTERNALIZABLE)]
        # A record does not say which class wrote which annotation.
        if len(writers) > 1 or any(part.flags & EXTERNALIZABLE for part in writers):
            raise ValueError(
                f"a {value.class_name}, whose record does not say what each class wrote"
            )
        for part in parts:
            for declared, name in part.fields:
                self._write_value(declared[0], value.fields[name])
            if part in writers:
                self._write_annotations(value.annotations)

    def _write_annotations(self, annotations: list[Any]) -> None:
        for part in annotations:
            if isinstance(part, bytes):
                self._write_block(part)
            else:
                self.write_object(part)
        self._write_tag(Tag.END_BLOCK_DATA)

    def _write_block(self, data: bytes) -> None:
        if len(data) <= _MAX_SHORT_BLOCK:
            self._write_tag(Tag.BLOCK_DATA)
            self.view.write_byte(len(data))
        else:
            self._write_tag(Tag.LONG_BLOCK_DATA)
            self.view.write_int(len(data))
        self.view.write_bytes(data)

    def _write_value(self, kind: str, value: Any) -> None:
        if kind in "L[":
            self.write_object(value)
        else:
            PRIMITIVES[kind].write(self.view, value)

    def _write_array(self, value: JavaArray) -> None:
        self._write_tag(Tag.ARRAY)
        self._write_class_description(value.java_class)
        self._keep(value)
        self.view.write_int(len(value.elements))
        if isinstance(value.elements, bytes):
            self.view.write_bytes(value.elements)
            return
        for element in value.elements:
            self._write_value(value.java_class.name[1], element)

    def _write_enum(self, value: JavaEnum) -> None:
        self._write_tag(Tag.ENUM)
        flags = SERIALIZABLE | _ENUM
        self._write_class_description(JavaClass(value.class_name, flags, (), (_ENUM_ROOT,)))
        self._keep(value)
        self.write_object(value.constant)


def _same_value(value: Any) -> Hashable:
    """A key that is equal for values that share a handle."""
    match value:
        case str() | JavaEnum():
            return value
        case JavaClass(name=name):
            return "class", name
        case _:
            return id(value)


def java_object_bytes(value: Any) -> bytes:
    """One object as a stream with its own header."""
    view = DataOutputView()
    writer = JavaStreamWriter(view)
    writer.write_header()
    writer.write_object(value)
    return view.to_bytes()
