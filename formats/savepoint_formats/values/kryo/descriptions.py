"""Users' descriptions of classes: fields with types as in Java's source, in Python or as JSON.

::

    [{"class": "com.acme.Order",
      "fields": {"id": "long", "tags": "java.util.List<java.lang.String>", "raw": "byte[]"}},
     {"class": "com.acme.Color", "constants": ["RED", "GREEN"], "final": true},
     {"class": "com.acme.Gift", "fields": {"id": "long", "to": "java.lang.String"},
      "pojo": true, "extends": "com.acme.Order"}]

A type is a primitive or the full name of a class, with ``$`` if it is nested. It may have arguments
and ``[]`` behind it: ``java.util.Map<java.lang.String, long[]>[]``. An argument may be a wildcard:
``? extends com.acme.Order``.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.layout import KryoClass, KryoField, TypeArgument
from savepoint_formats.values.kryo.classes import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PRIMITIVE_CODES = {name: code for code, name in CODES.items()}

_TOKEN = re.compile(r"\s*([\w$]+(?:\.[\w$]+)*|\[\s*\]|[<>,?])\s*")
_MARKS = frozenset("<>,?")
_BOUNDS = ("extends", "super")
_OBJECT = "java.lang.Object"
TUPLES = "org.apache.flink.api.java.tuple.Tuple"
"""The beginning of the names of Flink's tuples, which have as many arguments as fields."""

_MOST_ARGUMENTS = 2
_MOST_PARTS = 25
_MOST_DEPTH = 20
_MEMBERS = {"class", "fields", "final", "constants", "pojo", "extends"}


def kryo_class(
    class_name: str,
    fields: Mapping[str, str] | None = None,
    *,
    is_final: bool = False,
    constants: Sequence[str] = (),
    is_pojo: bool | None = None,
    superclass: str = "",
) -> KryoClass:
    """A class whose objects Kryo wrote field by field, or an enum.

    Args:
        class_name: Its full name, with ``$`` if it is nested: ``com.acme.Orders$Line``.
        fields: Name -> type of all fields that are neither static nor transient, including those
            of superclasses. The column has this order; Kryo sorts by name.
        is_final: Whether the class is declared final, or is an enum of constants without bodies.
            The bytes depend on it.
        constants: Names of an enum's constants, in their order.
        is_pojo: Whether Flink treats the class as a POJO where it is declared. The bytes of Kryo do
            not depend on it; ``migrate`` asks for it if objects of the class are in collections.
        superclass: The POJO that a POJO extends, if objects of this class occur in its place.

    Raises:
        ValueError: A type cannot be read.

    Example:
        >>> kryo_class("com.acme.Order", {"id": "long", "tags": "java.util.List<java.lang.String>"})
    """
    described = tuple(_field(name, text) for name, text in (fields or {}).items())
    if described and constants:
        raise ValueError(f"{class_name} has fields and constants, expected either")
    return KryoClass(class_name, described, is_final, tuple(constants), is_pojo, superclass)


def kryo_classes_of(text: str) -> tuple[KryoClass, ...]:
    """The classes of a JSON list; ``ValueError`` if it has something else."""
    try:
        described = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"classes of Kryo are not JSON: {error}") from error
    if not isinstance(described, list):
        raise ValueError(f"classes of Kryo are {text!r}, expected a JSON list")
    return tuple(map(_class_of, described))


def _class_of(described: Any) -> KryoClass:
    match described:
        case {"class": str(name)} if set(described) <= _MEMBERS:
            fields, constants = described.get("fields", {}), described.get("constants", [])
            is_pojo, superclass = described.get("pojo"), described.get("extends", "")
            if (
                isinstance(fields, dict)
                and isinstance(constants, list)
                and (is_pojo is None or isinstance(is_pojo, bool))
                and isinstance(superclass, str)
            ):
                return kryo_class(
                    name,
                    fields,
                    is_final=described.get("final", False) is True,
                    constants=constants,
                    is_pojo=is_pojo,
                    superclass=superclass,
                )
    raise ValueError(
        f"a class of Kryo is {described!r}, expected 'class' and 'fields' or 'constants', and"
        " 'final', 'pojo' or 'extends'"
    )


def kryo_classes_json(classes: Iterable[KryoClass]) -> str:
    """The mirror of ``kryo_classes_of``."""
    return json.dumps([kryo_class_members(class_) for class_ in classes])


def kryo_class_members(kryo_class: KryoClass) -> dict[str, Any]:
    """A class as JSON and YAML have it."""
    plain: dict[str, Any] = {"class": kryo_class.class_name}
    if kryo_class.constants:
        plain["constants"] = list(kryo_class.constants)
    else:
        plain["fields"] = {field.name: source_type(field) for field in kryo_class.fields}
    plain |= {"final": True} if kryo_class.is_final else {}
    plain |= {} if kryo_class.is_pojo is None else {"pojo": kryo_class.is_pojo}
    return plain | ({"extends": kryo_class.superclass} if kryo_class.superclass else {})


def _field(name: str, text: str) -> KryoField:
    try:
        declared = declared_type(text)
    except ValueError as error:
        raise ValueError(f"field {name!r} is {text!r}, {error}") from error
    return KryoField(name, declared.type, declared.arguments)


def declared_type(text: str) -> TypeArgument:
    """A type as in Java's source; ``ValueError`` if the text is none."""
    tokens, position = [], 0
    while isinstance(text, str) and position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            break
        tokens.append(match[1])
        position = match.end()
    if not tokens or position < len(text):
        raise ValueError(_EXPECTED)
    declared = _type(tokens, 0)
    if tokens:
        raise ValueError(_EXPECTED)
    return declared


_EXPECTED = (
    "expected a type such as long, java.lang.String, java.util.List<java.lang.String> or byte[]"
)


def _type(tokens: list[str], depth: int) -> TypeArgument:
    """Takes a type from the front of the tokens."""
    name = _take(tokens)
    if name in _MARKS or name.startswith("[") or depth > _MOST_DEPTH:
        raise ValueError(_EXPECTED)
    arguments: list[TypeArgument] = []
    if tokens[:1] == ["<"]:
        while _take(tokens) in ("<", ","):
            arguments.append(_argument(tokens, depth + 1))
            if tokens[:1] not in (["<"], [","], [">"]):
                raise ValueError(_EXPECTED)
        if len(arguments) > (_MOST_PARTS if name.startswith(TUPLES) else _MOST_ARGUMENTS):
            raise ValueError("a collection has one argument, a map two")
    dimensions = 0
    while tokens and tokens[0].startswith("["):
        tokens.pop(0)
        dimensions += 1
    return TypeArgument(_class_name(name, dimensions), tuple(arguments))


def _argument(tokens: list[str], depth: int) -> TypeArgument:
    if tokens[:1] != ["?"]:
        return _type(tokens, depth)
    tokens.pop(0)
    if tokens[:1] and tokens[0] in _BOUNDS:
        wildcard = tokens.pop(0)
        return replace(_type(tokens, depth), wildcard=wildcard)
    return TypeArgument(_OBJECT, wildcard=_BOUNDS[0])


def _take(tokens: list[str]) -> str:
    if not tokens:
        raise ValueError(_EXPECTED)
    return tokens.pop(0)


def _class_name(name: str, dimensions: int) -> str:
    """The name as ``Class.getName`` gives it."""
    return "[" * dimensions + PRIMITIVE_CODES.get(name, f"L{name};") if dimensions else name


def source_type(declared: TypeArgument | KryoField) -> str:
    """The mirror of ``declared_type``."""
    element = declared.type.lstrip("[")
    dimensions = len(declared.type) - len(element)
    if dimensions:
        element = CODES.get(element) or element[1:-1]
    inside = ", ".join(map(_source_argument, declared.arguments))
    return element + (f"<{inside}>" if inside else "") + "[]" * dimensions


def _source_argument(argument: TypeArgument) -> str:
    bound = f"? {argument.wildcard} " if argument.wildcard else ""
    return bound + source_type(argument)
