"""Class files of Java, as far as they say which fields and methods a class has; none is ever loaded.

| bytes       | field       | meaning                                                      |
|-------------|-------------|--------------------------------------------------------------|
| u32         | magic       | CAFEBABE                                                     |
| u16, u16    | version     | minor and major                                              |
| u16         | n           | one more than there are constants                            |
| n - 1       | constants   | u8 tag and what it has; a long or double takes two numbers   |
| u16         | flags       | ``ClassFlag``                                                |
| u16, u16    | names       | numbers of the class and its superclass; 0 if it has none    |
| u16, n u16  | interfaces  | numbers of classes                                           |
| u16, n      | fields      | u16 flags, name, descriptor; attributes                      |
| u16, n      | methods     | the same                                                     |
| …           | attributes  |                                                              |

Attributes are u16 n, and for each u16 name, u32 size, bytes. That of the name ``Signature`` has the
number of a text, the type with its arguments. ``InnerClasses`` of the class itself is u16 n, and for each
four u16: a class, the class around it, its simple name, and the flags that it is declared with.

| tag             | bytes        | tag                    | bytes |
|-----------------|--------------|------------------------|-------|
| 1 text          | utf          | 8, 16, 19, 20 names    | 2     |
| 3, 4 int, float | 4            | 9, 10, 11, 12, 17, 18  | 4     |
| 5, 6 long       | 8            | 15 method handle       | 3     |
| 7 class         | u16 its name |                        |       |

Source: Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.bytes.data_view import DataInputView

_MAGIC = 0xCAFEBABE - (1 << 32)
_TEXT, _CLASS = 1, 7
_WIDE = (5, 6)
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 8: 2, 15: 3, 16: 2, 19: 2, 20: 2} | dict.fromkeys(
    (9, 10, 11, 12, 17, 18), 4
)
_SIGNATURE = "Signature"
_INNER_CLASSES = "InnerClasses"


class ClassFlag(IntFlag):
    """What a class, or a field, is declared as."""

    PUBLIC = 0x0001
    STATIC = 0x0008
    FINAL = 0x0010
    TRANSIENT = 0x0080
    INTERFACE = 0x0200
    ABSTRACT = 0x0400
    SYNTHETIC = 0x1000
    ENUM = 0x4000


@dataclass(frozen=True, slots=True)
class FieldOfClass:
    """A field as a class declares it.

    Attributes:
        flags: What it is declared as.
        name: Its name.
        descriptor: Its type without arguments: ``Ljava/util/List;``.
        signature: The type with arguments, if it has any.
    """

    flags: int
    name: str
    descriptor: str
    signature: str | None


@dataclass(frozen=True, slots=True)
class MethodOfClass:
    """A method as a class declares it.

    Attributes:
        flags: What it is declared as.
        name: Its name; ``<init>`` of a constructor.
        descriptor: Its types without arguments: ``(J)Ljava/util/List;``.
    """

    flags: int
    name: str
    descriptor: str


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A class.

    Attributes:
        flags: What it is declared as.
        name: Its name: ``com/acme/Orders$Line``.
        superclass: That of its superclass; only ``java/lang/Object`` has none.
        interfaces: Those of its interfaces.
        fields: Its own fields, in their order.
        methods: Its own methods and constructors; None if they are not known.
        annotations: What its constants call like an annotation: ``Lcom/acme/Marked;``.
    """

    flags: int
    name: str
    superclass: str | None
    interfaces: tuple[str, ...]
    fields: tuple[FieldOfClass, ...]
    methods: tuple[MethodOfClass, ...] | None = None
    annotations: frozenset[str] = frozenset()

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        """Raises ``FormatError`` if it is no class file, or damaged."""
        if view.read_int() != _MAGIC:
            view.position -= 4
            raise view.error("no class file of Java, which begins with CAFEBABE")
        view.read_bytes(4)
        constants = _Constants(view)
        flags, name = view.read_unsigned_short(), constants.class_name()
        superclass = constants.optional_class_name()
        interfaces = tuple(constants.class_name() for _ in range(view.read_unsigned_short()))
        fields = tuple(_field(constants) for _ in range(view.read_unsigned_short()))
        methods = tuple(_method(constants) for _ in range(view.read_unsigned_short()))
        for attribute, content in _attributes(constants):
            if attribute == _INNER_CLASSES:
                flags = _declared_flags(constants.within(content), name, flags)
        return cls(flags, name, superclass, interfaces, fields, methods, constants.type_names())


class _Constants:
    """The constants of a class that name something, by their numbers."""

    def __init__(self, view: DataInputView) -> None:
        self.view = view
        self._texts: dict[int, str] = {}
        self._classes: dict[int, int] = {}
        number, count = 1, view.read_unsigned_short()
        while number < count:
            tag = view.read_unsigned_byte()
            if tag == _TEXT:
                self._texts[number] = view.read_utf()
            elif tag == _CLASS:
                self._classes[number] = view.read_unsigned_short()
            elif tag in _SIZES:
                view.read_bytes(_SIZES[tag])
            else:
                raise view.error(f"a constant of tag {tag}, which is not known")
            number += 2 if tag in _WIDE else 1

    def within(self, view: DataInputView) -> _Constants:
        """The constants, for what a part of the file names."""
        part = copy(self)
        part.view = view
        return part

    def type_names(self) -> frozenset[str]:
        """All constants that have the form of a type."""
        return frozenset(
            text for text in self._texts.values() if text[:1] == "L" and text[-1] == ";"
        )

    def text(self) -> str:
        """The text whose number comes next."""
        return self.text_of(self.view.read_unsigned_short())

    def class_name(self) -> str:
        """The name of the class whose number comes next."""
        name = self.optional_class_name()
        if name is None:
            raise self.view.error("no class where one is named")
        return name

    def optional_class_name(self) -> str | None:
        """The same; None for the number 0."""
        number = self.view.read_unsigned_short()
        if number == 0:
            return None
        if number not in self._classes:
            raise self.view.error(f"constant {number}, which is no class")
        return self.text_of(self._classes[number])

    def text_of(self, number: int) -> str:
        """The text of a number."""
        if number not in self._texts:
            raise self.view.error(f"constant {number}, which is no text")
        return self._texts[number]


def _field(constants: _Constants) -> FieldOfClass:
    flags = constants.view.read_unsigned_short()
    name, descriptor, signature = constants.text(), constants.text(), None
    for attribute, content in _attributes(constants):
        if attribute == _SIGNATURE:
            signature = constants.text_of(content.read_unsigned_short())
    return FieldOfClass(flags, name, descriptor, signature)


def _method(constants: _Constants) -> MethodOfClass:
    flags = constants.view.read_unsigned_short()
    method = MethodOfClass(flags, constants.text(), constants.text())
    for _ in _attributes(constants):
        pass
    return method


def _attributes(constants: _Constants) -> Iterator[tuple[str, DataInputView]]:
    """The attributes that come next: names and contents."""
    view = constants.view
    for _ in range(view.read_unsigned_short()):
        yield constants.text(), view.read_view(view.read_count())


def _declared_flags(constants: _Constants, name: str, flags: int) -> int:
    """The flags of a class within others as its source has them; a class file has fewer."""
    view = constants.view
    for _ in range(view.read_unsigned_short()):
        inner = constants.class_name()
        view.read_bytes(4)
        declared = view.read_unsigned_short()
        if inner == name:
            return declared
    return flags
