"""Java's object serialization stream, read as inert records: no class is ever loaded.

| tag | content                 | fields                                                           |
|-----|-------------------------|------------------------------------------------------------------|
| 70  | null                    |                                                                  |
| 71  | reference               | i32 handle                                                       |
| 72  | class description       | utf name, i64 uid, u8 flags, u16 n, fields, annotation, super    |
| 73  | object                  | class description, data of each class from the topmost down      |
| 74  | string                  | utf                                                              |
| 75  | array                   | class description, i32 n, n elements                             |
| 76  | class                   | class description                                                |
| 77  | block data              | u8 size, bytes                                                   |
| 78  | end of an annotation    |                                                                  |
| 79  | reset of the handles    |                                                                  |
| 7A  | long block data         | i32 size, bytes                                                  |
| 7C  | long string             | i64 size, modified UTF-8                                         |
| 7D  | proxy class description | i32 n, n utf, annotation, super                                  |
| 7E  | enum constant           | class description, string                                        |

Handles are numbered from 0x7E0000 on, in order of first appearance. Records are not frozen because
an object may refer to itself, so it must exist before its fields.

Source: Java Object Serialization Specification, chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM_HEADER = 0xACED0005 - (1 << 32)
FIRST_HANDLE = 0x7E0000

# Far below Python's limit: an object takes four calls.
_MAX_DEPTH = 100

T = TypeVar("T")

WRITE_METHOD = 0x01
SERIALIZABLE = 0x02
EXTERNALIZABLE = 0x04
_BLOCK_DATA = 0x08


class Tag(IntEnum):
    """The byte in front of every content."""

    NULL = 0x70
    REFERENCE = 0x71
    CLASS_DESCRIPTION = 0x72
    OBJECT = 0x73
    STRING = 0x74
    ARRAY = 0x75
    CLASS = 0x76
    BLOCK_DATA = 0x77
    END_BLOCK_DATA = 0x78
    RESET = 0x79
    LONG_BLOCK_DATA = 0x7A
    LONG_STRING = 0x7C
    PROXY_CLASS_DESCRIPTION = 0x7D
    ENUM = 0x7E


_TAGS = {tag.value: tag for tag in Tag}


@dataclass(slots=True, eq=False)
class JavaClass:
    """A class description; an array's name is ``[I`` or ``[Ljava.lang.String;``.

    ``fields`` are pairs of type (``I``, ``Ljava/util/List;``) and name. ``ancestors`` are topmost first.
    """

    name: str
    flags: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    ancestors: tuple[JavaClass, ...] = ()
    uid: int = 0


@dataclass(slots=True, eq=False)
class JavaObject:
    """An object: its fields, and the bytes and contents that ``writeObject`` methods wrote.

    A field that hides one of an ancestor stands for both.
    """

    java_class: JavaClass
    fields: dict[str, Any] = field(default_factory=dict)
    annotations: list[Any] = field(default_factory=list)

    @property
    def class_name(self) -> str:
        return self.java_class.name


@dataclass(slots=True, eq=False)
class JavaArray:
    """An array; the elements of a byte array are ``bytes``."""

    java_class: JavaClass
    elements: list[Any] | bytes = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JavaEnum:
    """An enum constant."""

    class_name: str
    constant: str


@dataclass(slots=True)
class JavaStreamReader:
    """Reads one stream; its objects share handles."""

    view: DataInputView
    _handles: list[Any] = field(default_factory=list)

    def read_header(self) -> None:
        """``AC ED 00 05``. Raises ``FormatError`` for anything else."""
        if self.view.peek_int() != STREAM_HEADER:
            raise self.view.error("no Java object stream, expected ac ed 00 05")
        self.view.read_int()

    def read_object(self) -> Any:
        """The next object, string, array, enum constant, class or null."""
        return self._content(0)

    def _content(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise self.view.error(f"Java objects nest deeper than {_MAX_DEPTH}")
        while (tag := self._tag()) is Tag.RESET and depth == 0:
            self._handles.clear()
        if tag not in _CONTENTS:
            self.view.position -= 1
            raise self.view.error(f"a Java {tag.name.lower()}, expected an object")
        return _CONTENTS[tag](self, depth + 1)

    def _tag(self) -> Tag:
        value = self.view.read_unsigned_byte()
        if value not in _TAGS:
            self.view.position -= 1
            raise self.view.error(f"a Java object of tag {value:#x}, expected 0x70 to 0x7e")
        return _TAGS[value]

    def _null(self, _depth: int) -> None:
        return None

    def _reference(self, _depth: int) -> Any:
        handle = self.view.read_int() - FIRST_HANDLE
        if not 0 <= handle < len(self._handles):
            raise self.view.error(f"a reference to Java object {handle} of {len(self._handles)}")
        return self._handles[handle]

    def _string(self, _depth: int) -> str:
        return self._keep(self.view.read_utf())

    def _long_string(self, _depth: int) -> str:
        return self._keep(self.view.read_modified_utf8(self.view.read_long()))

    def _keep(self, value: T) -> T:
        self._handles.append(value)
        return value

    def _class(self, depth: int) -> JavaClass:
        java_class = self._class_description(depth)
        self._handles.append(java_class)
        return java_class

    def _class_description(self, depth: int) -> JavaClass:
        description = self._optional_class_description(depth)
        if description is None:
            raise self.view.error("a Java object without a class")
        return description

    def _optional_class_description(self, depth: int) -> JavaClass | None:
        match self._tag():
            case Tag.NULL:
                return None
            case Tag.CLASS_DESCRIPTION:
                return self._new_class(depth)
            case Tag.PROXY_CLASS_DESCRIPTION:
                return self._proxy_class(depth)
            case Tag.REFERENCE if isinstance(known := self._reference(depth), JavaClass):
                return known
        raise self.view.error("another Java object, expected a class description")

    def _new_class(self, depth: int) -> JavaClass:
        description = JavaClass(self.view.read_utf(), uid=self.view.read_long())
        self._handles.append(description)
        description.flags = self.view.read_unsigned_byte()
        count = self.view.read_unsigned_short()
        description.fields = tuple(self._field(depth) for _ in range(count))
        self._annotation(depth)
        description.ancestors = self._ancestors(description, depth)
        return description

    def _ancestors(self, description: JavaClass, depth: int) -> tuple[JavaClass, ...]:
        """Ancestors of a class; the description of its parent comes next."""
        if depth > _MAX_DEPTH:
            raise self.view.error(f"Java classes nest deeper than {_MAX_DEPTH}")
        parent = self._optional_class_description(depth + 1)
        if parent is None:
            return ()
        ancestors = (*parent.ancestors, parent)
        if description in ancestors:
            raise self.view.error(f"the Java class {description.name} extends itself")
        # With references, few bytes make a long chain, and each object walks its whole chain.
        if len(ancestors) > _MAX_DEPTH:
            raise self.view.error(f"a Java class with more than {_MAX_DEPTH} ancestors")
        return ancestors

    def _field(self, depth: int) -> tuple[str, str]:
        kind, name = chr(self.view.read_unsigned_byte()), self.view.read_utf()
        declared = self._content(depth) if kind in "L[" else kind
        is_class = kind in "L[" and isinstance(declared, str) and declared.startswith(kind)
        if not is_class and kind not in PRIMITIVES:
            raise self.view.error(f"a Java field of type {kind!r}")
        return declared, name

    def _proxy_class(self, depth: int) -> JavaClass:
        description = JavaClass("java.lang.reflect.Proxy")
        self._handles.append(description)
        for _ in range(self.view.read_count(element_size=2)):
            self.view.read_utf()
        self._annotation(depth)
        description.ancestors = self._ancestors(description, depth)
        return description

    def _object(self, depth: int) -> JavaObject:
        java_class = self._class_description(depth)
        made = JavaObject(java_class)
        self._handles.append(made)
        for part in (*java_class.ancestors, java_class):
            self._class_data(part, made, depth)
        return made

    def _class_data(self, part: JavaClass, target: JavaObject, depth: int) -> None:
        if part.flags & EXTERNALIZABLE:
            if not part.flags & _BLOCK_DATA:
                raise self.view.error(f"a {part.name}, whose own data has no end mark")
            target.annotations += self._annotation(depth)
            return
        for kind, name in part.fields:
            target.fields[name] = self._value(kind[0], depth)
        if part.flags & WRITE_METHOD:
            target.annotations += self._annotation(depth)

    def _value(self, kind: str, depth: int) -> Any:
        return self._content(depth) if kind in "L[" else PRIMITIVES[kind].read(self.view)

    def _annotation(self, depth: int) -> list[Any]:
        """Contents and block data, up to the end mark."""
        parts: list[Any] = []
        while (tag := self._tag()) is not Tag.END_BLOCK_DATA:
            match tag:
                case Tag.BLOCK_DATA:
                    parts.append(self.view.read_bytes(self.view.read_unsigned_byte()))
                case Tag.LONG_BLOCK_DATA:
                    parts.append(self.view.read_bytes(self.view.read_count()))
                case _:
                    self.view.position -= 1
                    parts.append(self._content(depth))
        return parts

    def _array(self, depth: int) -> JavaArray:
        java_class = self._class_description(depth)
        kind = java_class.name[1:2]
        if kind not in _ELEMENT_SIZES:
            raise self.view.error(f"a Java array of class {java_class.name!r}")
        array = JavaArray(java_class)
        self._handles.append(array)
        count = self.view.read_count(element_size=_ELEMENT_SIZES[kind])
        if kind == "B":
            array.elements = self.view.read_bytes(count)
        else:
            array.elements = [self._value(kind, depth) for _ in range(count)]
        return array

    def _enum(self, depth: int) -> JavaEnum:
        java_class = self._class_description(depth)
        index = len(self._handles)
        self._handles.append(None)
        name = self._content(depth)
        if not isinstance(name, str):
            raise self.view.error(f"a constant of the Java enum {java_class.name} without a name")
        constant = JavaEnum(java_class.name, name)
        self._handles[index] = constant
        return constant


class Primitive(NamedTuple):
    """A primitive type: its size in bytes, and how a value is read and written."""

    size: int
    read: Callable[[DataInputView], Any]
    write: Callable[[DataOutputView, Any], None]


PRIMITIVES = {
    "B": Primitive(1, DataInputView.read_byte, DataOutputView.write_byte),
    "C": Primitive(
        2,
        lambda view: chr(view.read_unsigned_short()),
        lambda view, value: view.write_unsigned_short(ord(value)),
    ),
    "D": Primitive(8, DataInputView.read_double, DataOutputView.write_double),
    "F": Primitive(4, DataInputView.read_float, DataOutputView.write_float),
    "I": Primitive(4, DataInputView.read_int, DataOutputView.write_int),
    "J": Primitive(8, DataInputView.read_long, DataOutputView.write_long),
    "S": Primitive(2, DataInputView.read_short, DataOutputView.write_short),
    "Z": Primitive(1, DataInputView.read_bool, DataOutputView.write_bool),
}
_ELEMENT_SIZES = {"L": 1, "[": 1} | {code: kind.size for code, kind in PRIMITIVES.items()}

_CONTENTS: dict[Tag, Callable[[JavaStreamReader, int], Any]] = {
    Tag.NULL: JavaStreamReader._null,
    Tag.REFERENCE: JavaStreamReader._reference,
    Tag.CLASS_DESCRIPTION: JavaStreamReader._new_class,
    Tag.PROXY_CLASS_DESCRIPTION: JavaStreamReader._proxy_class,
    Tag.OBJECT: JavaStreamReader._object,
    Tag.STRING: JavaStreamReader._string,
    Tag.LONG_STRING: JavaStreamReader._long_string,
    Tag.ARRAY: JavaStreamReader._array,
    Tag.CLASS: JavaStreamReader._class,
    Tag.ENUM: JavaStreamReader._enum,
}


def read_java_object(view: DataInputView) -> Any:
    """One object of a stream with its own header; the view stops right after it."""
    reader = JavaStreamReader(view)
    reader.read_header()
    return reader.read_object()
