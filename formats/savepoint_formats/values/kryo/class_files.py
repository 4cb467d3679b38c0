"""Descriptions of classes from their class files: the fields that Kryo writes.

Kryo writes the fields of a class and of its superclasses, sorted by name. It leaves out fields that are
static, transient or made by the compiler. Collections and other classes with a serializer of their own
have no fields.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from savepoint_formats.java.class_file import ClassFlag
from savepoint_formats.values.kryo.classes import CODES
from savepoint_formats.values.kryo.descriptions import kryo_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.java.class_file import ClassFile, FieldOfClass
    from savepoint_formats.layout import KryoClass

_OBJECT = "java/lang/Object"
_ENUM = "java/lang/Enum"
_NOT_WRITTEN = ClassFlag.STATIC | ClassFlag.TRANSIENT | ClassFlag.SYNTHETIC
_OWN_SERIALIZER = (
    re.compile(r"java/util/(\w*Collection|\w*List|\w*Set|\w*Map|\w*Queue|Deque)"),
    re.compile(r"com/esotericsoftware/kryo/\w+"),
)
_PART = re.compile(r"[-+]?(\[*)(?:([BCDFIJSZ])|L([^;<>.]+)|T[^;]+;|(\*))")


class UndescribableError(ValueError):
    """A class file does not tell what Kryo writes for the class."""


def described_class(class_name: str, find: Callable[[str], ClassFile | None]) -> KryoClass:
    """The description of a class; ``find`` gives the class file of a name with slashes.

    Raises:
        UndescribableError: Kryo may write something else, or a class file is missing.
    """
    class_file = _expect(class_name.replace(".", "/"), find)
    is_final = bool(class_file.flags & ClassFlag.FINAL)
    if class_file.superclass == _ENUM:
        constants = [field.name for field in class_file.fields if field.flags & ClassFlag.ENUM]
        return kryo_class(class_name, constants=constants, is_final=is_final)
    fields: dict[str, str] = {}
    for field in _fields(class_file, find):
        if field.name in fields:
            raise UndescribableError(f"a superclass has a field {field.name}, too")
        fields[field.name] = _source_type(field)
    try:
        return kryo_class(class_name, fields, is_final=is_final)
    except ValueError as error:
        raise UndescribableError(str(error)) from error


def _fields(class_file: ClassFile, find: Callable[[str], ClassFile | None]) -> list[FieldOfClass]:
    """The written fields, those of the class itself first."""
    fields: list[FieldOfClass] = []
    seen = set[str]()
    while True:
        for interface in class_file.interfaces:
            if any(pattern.fullmatch(interface) for pattern in _OWN_SERIALIZER):
                raise UndescribableError(f"it is a {interface.replace('/', '.')}")
        if class_file.flags & ClassFlag.INTERFACE:
            raise UndescribableError("it is an interface: describe the classes of its objects")
        fields += [field for field in class_file.fields if not field.flags & _NOT_WRITTEN]
        seen.add(class_file.name)
        superclass = class_file.superclass
        if superclass is None or superclass == _OBJECT:
            return fields
        if superclass.startswith("java/") or superclass in seen:
            raise UndescribableError(f"it extends {superclass.replace('/', '.')}")
        class_file = _expect(superclass, find)


def _expect(name: str, find: Callable[[str], ClassFile | None]) -> ClassFile:
    class_file = find(name)
    if class_file is None or class_file.name != name:
        raise UndescribableError(
            f"there is no class file, and no source, of {name.replace('/', '.')}"
        )
    return class_file


def _source_type(field: FieldOfClass) -> str:
    """The type of a field as in Java's source."""
    if field.signature is None or not field.descriptor.lstrip("[").startswith("Ljava/"):
        text, _ = _type(field.descriptor, 0)
        if field.signature is not None and field.signature.lstrip("[").startswith("T"):
            raise UndescribableError(f"its field {field.name} has a type variable in its type")
        return text
    try:
        return _type(field.signature, 0)[0]
    except UndescribableError as error:
        raise UndescribableError(f"its field {field.name} {error}") from error


def _type(text: str, start: int) -> tuple[str, int]:
    """The type of a descriptor or signature, and where it ends."""
    match = _PART.match(text, start)
    if match is None:
        raise UndescribableError(f"has {text!r} as its type, which is not one")
    dimensions, primitive, name, wildcard = match.groups()
    mark, position = text[start], match.end()
    if wildcard:
        return "?", position
    if name is None and primitive is None:
        raise UndescribableError("has a type variable in its type")
    source = CODES[primitive] if primitive else name.replace("/", ".")
    if name is not None:
        inside, position = _arguments(text, position)
        source += inside
    bound = {"+": "? extends ", "-": "? super "}.get(mark, "")
    return bound + source + "[]" * len(dimensions), position


def _arguments(text: str, position: int) -> tuple[str, int]:
    arguments: list[str] = []
    if text[position : position + 1] == "<":
        position += 1
        while text[position : position + 1] != ">":
            argument, position = _type(text, position)
            arguments.append(argument)
        position += 1
    if text[position : position + 1] != ";":
        raise UndescribableError("is of a class within a class with arguments")
    return f"<{', '.join(arguments)}>" if arguments else "", position + 1
