"""Classes as users describe them: fields with types as in Java's source, in Python or as JSON.

::

    [{"class": "com.acme.Order",
      "fields": {"id": "long", "tags": "java.util.List<java.lang.String>", "raw": "byte[]"}},
     {"class": "com.acme.Color", "constants": ["RED", "GREEN"], "final": true}]

A type is a primitive or the full name of a class, a nested one with ``$``. It may have arguments,
which are full names without arguments of their own, and ``[]`` behind it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from savepoint_formats.layout import KryoClass, KryoField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_CODES = {
    "boolean": "Z",
    "byte": "B",
    "char": "C",
    "short": "S",
    "int": "I",
    "long": "J",
    "float": "F",
    "double": "D",
}
_NAMES = {code: name for name, code in _CODES.items()}

_CLASS = r"[\w$]+(?:\.[\w$]+)*"
_PLAIN_TYPE = re.compile(rf"({_CLASS})((?:\[\])*)")
_TYPE = re.compile(rf"({_CLASS})(?:<([^<>]*)>)?((?:\[\])*)")
_MOST_ARGUMENTS = 2
_MEMBERS = {"class", "fields", "final", "constants"}


def kryo_class(
    class_name: str,
    fields: Mapping[str, str] | None = None,
    *,
    is_final: bool = False,
    constants: Sequence[str] = (),
) -> KryoClass:
    """A class whose objects Kryo wrote field by field, or an enum.

    Args:
        class_name: Its full name, a nested one with ``$``: ``com.acme.Orders$Line``.
        fields: Name -> type of all fields that are neither static nor transient, those of
            superclasses too. Kryo's order is that of their names, the column's is this one.
        is_final: Whether the class is declared final, or is an enum of constants without bodies.
            It decides what is in the bytes.
        constants: Of an enum, the names of its constants in their order.

    Raises:
        ValueError: A type cannot be read.

    Example:
        >>> kryo_class("com.acme.Order", {"id": "long", "tags": "java.util.List<java.lang.String>"})
    """
    described = tuple(_field(name, text) for name, text in (fields or {}).items())
    if described and constants:
        raise ValueError(f"{class_name} has fields and constants, expected either")
    return KryoClass(class_name, described, is_final, tuple(constants))


def kryo_classes_of(text: str) -> tuple[KryoClass, ...]:
    """The classes of a JSON list.

    Raises:
        ValueError: It is none of classes.
    """
    try:
        described = json.loads(text)
    except ValueError as error:
        raise ValueError(f"classes of Kryo are no JSON: {error}") from error
    if not isinstance(described, list):
        raise ValueError(f"classes of Kryo are {text!r}, expected a JSON list")
    return tuple(map(_class_of, described))


def _class_of(described: Any) -> KryoClass:
    match described:
        case {"class": str(name)} if set(described) <= _MEMBERS:
            fields, constants = described.get("fields", {}), described.get("constants", [])
            if isinstance(fields, dict) and isinstance(constants, list):
                is_final = described.get("final", False) is True
                return kryo_class(name, fields, is_final=is_final, constants=constants)
    raise ValueError(
        f"a class of Kryo is {described!r}, expected 'class' and 'fields' or 'constants', and 'final'"
    )


def kryo_classes_json(classes: Iterable[KryoClass]) -> str:
    """The mirror of ``kryo_classes_of``."""
    return json.dumps([_plain(class_) for class_ in classes])


def _plain(kryo_class: KryoClass) -> dict[str, Any]:
    plain: dict[str, Any] = {"class": kryo_class.class_name}
    if kryo_class.constants:
        plain["constants"] = kryo_class.constants
    else:
        plain["fields"] = {field.name: _source_type(field) for field in kryo_class.fields}
    return plain | ({"final": True} if kryo_class.is_final else {})


def _field(name: str, text: str) -> KryoField:
    match = _TYPE.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"field {name!r} is {text!r}, expected a type such as long, java.lang.String,"
            " java.util.List<java.lang.String> or byte[]"
        )
    class_name, arguments, dimensions = match.groups()
    names = tuple(map(_argument, arguments.split(","))) if arguments is not None else ()
    if len(names) > _MOST_ARGUMENTS or (names and dimensions):
        raise ValueError(f"field {name!r} is {text!r}: a collection has one argument, a map two")
    return KryoField(name, _class_name(class_name, len(dimensions) // 2), names)


def _argument(text: str) -> str:
    match = _PLAIN_TYPE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no argument of a type, expected the full name of a class")
    return _class_name(match[1], len(match[2]) // 2)


def _class_name(name: str, dimensions: int) -> str:
    """The name as ``Class.getName`` gives it."""
    if not dimensions:
        return name
    return "[" * dimensions + _CODES.get(name, f"L{name};")


def _source_type(field: KryoField) -> str:
    arguments = ", ".join(map(_source_name, field.arguments))
    return _source_name(field.type) + (f"<{arguments}>" if arguments else "")


def _source_name(name: str) -> str:
    element = name.lstrip("[")
    dimensions = len(name) - len(element)
    if dimensions:
        element = _NAMES.get(element) or element[1:-1]
    return element + "[]" * dimensions
