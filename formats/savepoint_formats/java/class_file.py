"""Fields and methods in class files of Java; no class is ever loaded.

| bytes       | field       | meaning                                                      |
|-------------|-------------|--------------------------------------------------------------|
| u32         | magic       | CAFEBABE                                                     |
| u16, u16    | version     | minor and major                                              |
| u16         | n           | number of constants + 1                                      |
| n - 1       | constants   | u8 tag and its content; a long or double takes two numbers   |
| u16         | flags       | ``ClassFlag``                                                |
| u16, u16    | names       | numbers of the class and its superclass; 0 if it has none    |
| u16, n u16  | interfaces  | numbers of classes                                           |
| u16, n      | fields      | u16 flags, name, descriptor; attributes                      |
| u16, n      | methods     | u16 flags, name, descriptor; attributes                      |
| …           | attributes  |                                                              |

Attributes are u16 n, then u16 name, u32 size and bytes for each. ``Signature`` has the number of a
text: the type with its arguments. ``InnerClasses`` is u16 n, then four u16 for each: a class, its
enclosing class, its simple name, and its declared flags.

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
    """Modifiers of a class, field or method."""

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
    """A field of a class; ``descriptor`` is ``Ljava/util/List;``, ``signature`` has type arguments."""

    flags: int
    name: str
    descriptor: str
    signature: str | None


@dataclass(frozen=True, slots=True)
class MethodOfClass:
    """A method of a class; ``<init>`` is a constructor; ``descriptor`` is ``(J)Ljava/util/List;``."""

    flags: int
    name: str
    descriptor: str


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A class with its own fields and methods; names are like ``com/acme/Orders$Line``.

    ``methods`` is None if they are not known. ``annotations`` has all constants that look
    like types: ``Lcom/acme/Marked;``.
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
        """Raises ``FormatError`` if it isn't a class file, or is damaged."""
        if view.read_int() != _MAGIC:
            view.position -= 4
            raise view.error("not a Java class file, which begins with CAFEBABE")
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
    """Texts and names of classes among the constants of a class, by their numbers."""

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
                raise view.error(f"a constant of the unknown tag {tag}")
            number += 2 if tag in _WIDE else 1

    def within(self, view: DataInputView) -> _Constants:
        """The constants, to read names from another view."""
        part = copy(self)
        part.view = view
        return part

    def type_names(self) -> frozenset[str]:
        return frozenset(
            text for text in self._texts.values() if text[:1] == "L" and text[-1] == ";"
        )

    def text(self) -> str:
        return self.text_of(self.view.read_unsigned_short())

    def class_name(self) -> str:
        name = self.optional_class_name()
        if name is None:
            raise self.view.error("constant 0, expected a class")
        return name

    def optional_class_name(self) -> str | None:
        """The name of the class whose number comes next; None for 0."""
        number = self.view.read_unsigned_short()
        if number == 0:
            return None
        if number not in self._classes:
            raise self.view.error(f"constant {number}, expected a class")
        return self.text_of(self._classes[number])

    def text_of(self, number: int) -> str:
        if number not in self._texts:
            raise self.view.error(f"constant {number}, expected a text")
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
    view = constants.view
    for _ in range(view.read_unsigned_short()):
        yield constants.text(), view.read_view(view.read_count())


def _declared_flags(constants: _Constants, name: str, flags: int) -> int:
    """Flags in the source of an inner class; its own class file has fewer."""
    view = constants.view
    for _ in range(view.read_unsigned_short()):
        inner = constants.class_name()
        view.read_bytes(4)
        declared = view.read_unsigned_short()
        if inner == name:
            return declared
    return flags
