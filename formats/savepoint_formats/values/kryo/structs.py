"""Columns of classes that the user described: what Kryo's objects become in Arrow.

| declared type                            | Arrow                                             |
|------------------------------------------|---------------------------------------------------|
| primitive, class of ``kryo_types``       | the type there                                    |
| byte[]; any other array                  | binary; list                                      |
| collection, map with its arguments       | list; map                                         |
| described enum                           | utf8, the constant's name                         |
| described class                          | struct of its fields, in the order given          |
| any other, and a class inside itself     | utf8: JSON of whatever is there                   |

The column of an enum is a struct, too, of its ``constant``: the description may lack the right one.

The struct of a column's own class ends with ``$undecoded``, a struct of ``bytes`` and ``reason``. It
is null but where the bytes do not fit the description: there all others are. An object of another
class than the one declared does not fit, for its fields have no columns.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.layout import TypeArgument
from savepoint_formats.values.kryo.classes import WRAPPERS
from savepoint_formats.values.kryo.json import json_text
from savepoint_formats.values.kryo.types import DECLARED_TYPES, KRYO_TYPES, KryoType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_formats.layout import Kryo, KryoClass, KryoField
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.objects import KryoObject

UNDECODED = "$undecoded"
CONSTANT = "constant"

UNDECODED_TYPE = pa.struct([("bytes", pa.binary()), ("reason", pa.utf8())])
"""What nobody can decode: the bytes as they are, and why."""

OBJECT_TYPE = pa.struct([("json", pa.utf8()), *UNDECODED_TYPE])
"""An object of a class that nobody described: what is in it if its bytes tell, and the bytes."""

_JSON = KryoType(pa.utf8(), json_text, is_open=True)
_BYTES = KryoType(pa.binary(), bytes)
_WRAPPERS = {primitive: wrapper for wrapper, primitive in WRAPPERS.items()}
_CODES = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
}


@lru_cache(maxsize=1000)
def column_type(layout: Kryo) -> KryoType | None:
    """The column of a layout's objects; None if it is ``OBJECT_TYPE``, as nobody described them."""
    struct = _Columns(layout.classes).of_class(layout.class_name, ())
    if not is_described(layout):
        return KRYO_TYPES.get(layout.class_name) or (struct if layout.classes else None)
    if not pa.types.is_struct(struct.arrow_type):
        struct = _in_struct(struct)
    fields = [*struct.arrow_type, pa.field(UNDECODED, UNDECODED_TYPE)]
    return KryoType(pa.struct(fields), lambda value: struct.convert(value) | {UNDECODED: None})


def is_described(layout: Kryo) -> bool:
    """Whether the user described the class of a layout's objects, be it an enum."""
    return any(class_.class_name == layout.class_name for class_ in layout.classes)


def _in_struct(enum: KryoType) -> KryoType:
    """The column of an enum's constants, with room beside them for what is none."""
    return KryoType(
        pa.struct([(CONSTANT, enum.arrow_type)]), lambda value: {CONSTANT: enum.convert(value)}
    )


def undecoded_struct(layout: Kryo, undecoded: dict[str, Value]) -> dict[str, Value]:
    """The value of an object that does not fit the description of its class."""
    column = column_type(layout)
    assert column is not None  # as it is described
    values: dict[str, Value] = {field.name: None for field in column.arrow_type}
    return values | {UNDECODED: undecoded}


class _Columns:
    """Knows the columns of declared types."""

    def __init__(self, classes: tuple[KryoClass, ...]) -> None:
        self._classes = {class_.class_name: class_ for class_ in classes}

    def of_type(self, declared: KryoField | TypeArgument, around: tuple[str, ...]) -> KryoType:
        """The column of a declared type, inside of these classes."""
        if declared.type.startswith("["):
            return self._array(declared, around)
        match declared.arguments:
            case (element,):
                return _listed(element.type, self.of_type(element, around))
            case (key, value):
                pair = (
                    (key.type, self.of_type(key, around)),
                    (value.type, self.of_type(value, around)),
                )
                return _mapped(*pair)
            case _:
                return self.of_class(declared.type, around)

    def _array(self, declared: KryoField | TypeArgument, around: tuple[str, ...]) -> KryoType:
        if declared.type == "[B":
            return _BYTES
        name = declared.type[1:]
        if not name.startswith("["):
            name = _CODES.get(name) or name.removeprefix("L").removesuffix(";")
        element = self.of_type(TypeArgument(name, declared.arguments), around)
        return _listed(_WRAPPERS.get(name, name), element)

    def of_class(self, name: str, around: tuple[str, ...]) -> KryoType:
        """The column of a class or primitive, inside of these classes."""
        if name.startswith("["):
            return self._array(TypeArgument(name), around)
        described = self._classes.get(name)
        if described is None:
            return DECLARED_TYPES.get(_WRAPPERS.get(name, name), _JSON)
        if described.constants:
            return KryoType(pa.utf8(), _constant(described.constants))
        return _JSON if name in around else self._struct(described, (*around, name))

    def _struct(self, kryo_class: KryoClass, around: tuple[str, ...]) -> KryoType:
        columns = {field.name: self.of_type(field, around) for field in kryo_class.fields}
        classes = {field.name: _WRAPPERS.get(field.type, field.type) for field in kryo_class.fields}
        fields = [pa.field(name, column.arrow_type) for name, column in columns.items()]
        return KryoType(pa.struct(fields), _fields(columns, classes))


def _fields(
    columns: Mapping[str, KryoType], classes: Mapping[str, str]
) -> Callable[[KryoObject], dict[str, Value]]:
    def convert(graph: KryoObject) -> dict[str, Value]:
        return {
            name: column.converted(classes[name], graph.fields[name])
            for name, column in columns.items()
        }

    return convert


def _listed(class_name: str, element: KryoType) -> KryoType:
    def convert(graph: list[Value]) -> list[Value]:
        return [element.converted(class_name, part) for part in _instance(graph, list)]

    return KryoType(pa.list_(element.arrow_type), convert)


def _mapped(key: tuple[str, KryoType], value: tuple[str, KryoType]) -> KryoType:
    (key_class, key_type), (value_class, value_type) = key, value

    def convert(graph: list[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
        pairs = [
            (key_type.converted(key_class, key), value_type.converted(value_class, other))
            for key, other in _instance(graph, list)
        ]
        if any(key is None for key, _ in pairs):
            raise ValueError("a null key")
        return pairs

    return KryoType(pa.map_(key_type.arrow_type, value_type.arrow_type), convert)


def _constant(constants: tuple[str, ...]) -> Callable[[Value], str]:
    def convert(graph: Value) -> str:
        constant: str = _instance(graph, str)
        if constant not in constants:
            raise ValueError(constant)
        return constant

    return convert


def _instance(graph: Value, kind: type) -> Value:
    if not isinstance(graph, kind):
        raise TypeError(graph)
    return graph
