"""Columns of classes that the user described.

| declared type                            | Arrow                                             |
|------------------------------------------|---------------------------------------------------|
| primitive, class with a column           | the type in its row, see ``known_classes``        |
| byte[]; any other array                  | binary; list                                      |
| collection, map with its arguments       | list; map                                         |
| Optional with its argument               | the type of that; null if it is empty, too        |
| described enum                           | utf8, the constant's name                         |
| described class                          | struct of its fields, in the order given          |
| any other, and a class inside itself     | utf8: JSON of any object                          |

The column of an enum is a struct of its ``constant``, because the description may lack a constant.

The struct of a column's own class ends with ``$undecoded``, a struct of ``bytes`` and ``reason``. It
is null, unless the bytes do not fit the description: then all other fields are null. An object of
another class than the declared one does not fit, because its fields have no columns.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.layout import TypeArgument
from savepoint_formats.lazy_modules import LazyModule
from savepoint_formats.values.kinds.codec import pairs_of
from savepoint_formats.values.kryo.classes import BOXED, CODES, names_of
from savepoint_formats.values.kryo.objects import KryoObject, json_text
from savepoint_formats.values.kryo.types import WRITTEN_CLASSES, KryoType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_formats.layout import Kryo, KryoClass, KryoField
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo import known_classes
else:
    # Most savepoints have no object of Kryo.
    known_classes = LazyModule("savepoint_formats.values.kryo.known_classes")

UNDECODED = "$undecoded"
OPTIONAL = "java.util.Optional"
CONSTANT = "constant"

UNDECODED_TYPE = pa.struct([("bytes", pa.binary()), ("reason", pa.utf8())])
"""Undecodable bytes, and the reason."""

OBJECT_TYPE = pa.struct([("json", pa.utf8()), *UNDECODED_TYPE])
"""An object of an undescribed class: its content if the bytes tell it, and the bytes."""

ALONG = "; these bytes are also those of"
"""Behind this text a reason names other values in the bytes."""


def has_others(undecoded: Mapping[str, Value]) -> bool:
    """Whether undecoded bytes include those of values behind it."""
    return ALONG in (undecoded.get("reason") or "")


def _refuse_json(value: Value) -> Value:
    raise ValueError(
        f"{value!r}, where objects of any class may be: only null can be written there; give"
        " the field a type that is described"
    )


_JSON = KryoType(pa.utf8(), json_text, _refuse_json, is_open=True)
_BYTES = KryoType(pa.binary(), bytes, bytes)
WRITTEN_SETS = frozenset(names_of("java.util.", "HashSet", "LinkedHashSet"))
WRITTEN_LISTS = WRITTEN_SETS | frozenset(
    names_of("java.util.", "ArrayList", "LinkedList", "ArrayDeque", "Vector")
)
WRITTEN_MAPS = frozenset(
    names_of("java.util.", "HashMap", "LinkedHashMap", "concurrent.ConcurrentHashMap")
)
WITHOUT_NULL_CLASSES = frozenset(["java.util.ArrayDeque", "java.util.concurrent.ConcurrentHashMap"])


@lru_cache(maxsize=1000)
def struct_column_type(layout: Kryo) -> KryoType | None:
    """The column of a layout's objects; None for ``OBJECT_TYPE``, if they are not described."""
    columns = _Columns(layout.classes)
    if layout.arguments:
        return columns.of_type(TypeArgument(layout.class_name, layout.arguments), ())
    struct = columns.of_class(layout.class_name, ())
    if not is_described(layout):
        return known_classes.KRYO_TYPES.get(layout.class_name) or (
            struct if layout.classes else None
        )
    if not pa.types.is_struct(struct.arrow_type):
        struct = _in_struct(struct)
    if not layout.is_open:
        return struct
    fields = [*struct.arrow_type, pa.field(UNDECODED, UNDECODED_TYPE)]
    return KryoType(
        pa.struct(fields), lambda value: struct.convert(value) | {UNDECODED: None}, struct.content
    )


def is_described(layout: Kryo) -> bool:
    """Whether the user described the class, or enum, of a layout's objects."""
    return any(class_.class_name == layout.class_name for class_ in layout.classes)


def _in_struct(enum: KryoType) -> KryoType:
    """The column of an enum as a struct, with room for unknown constants."""
    return KryoType(
        pa.struct([(CONSTANT, enum.arrow_type)]),
        lambda value: {CONSTANT: enum.convert(value)},
        lambda value: enum.content(_not_null(value[CONSTANT], CONSTANT)),
    )


def _not_null(value: Value, what: str) -> Value:
    if value is None:
        raise ValueError(f"null where a {what} is expected")
    return value


def undecoded_struct(layout: Kryo, undecoded: dict[str, Value]) -> dict[str, Value]:
    """The value of an object that does not fit the description of its class."""
    column = struct_column_type(layout)
    assert column is not None  # the class is described
    values: dict[str, Value] = {field.name: None for field in column.arrow_type}
    return values | {UNDECODED: undecoded}


class _Columns:
    """The columns of declared types; ``around`` are the classes that a type is inside of."""

    def __init__(self, classes: tuple[KryoClass, ...]) -> None:
        self._classes = {class_.class_name: class_ for class_ in classes}

    def of_type(self, declared: KryoField | TypeArgument, around: tuple[str, ...]) -> KryoType:
        """The column of a declared type."""
        if declared.type.startswith("["):
            return self._array(declared, around)
        match declared.arguments:
            case (value,) if declared.type == OPTIONAL:
                return _optional(value.type, self.of_type(value, around))
            case (element,):
                return _listed(declared.type, element.type, self.of_type(element, around))
            case (key, value):
                pair = (
                    (key.type, self.of_type(key, around)),
                    (value.type, self.of_type(value, around)),
                )
                return _mapped(declared.type, *pair)
            case _:
                return self.of_class(declared.type, around)

    def _array(self, declared: KryoField | TypeArgument, around: tuple[str, ...]) -> KryoType:
        if declared.type == "[B":
            return _BYTES
        name = declared.type[1:]
        if not name.startswith("["):
            name = CODES.get(name) or name.removeprefix("L").removesuffix(";")
        element = self.of_type(TypeArgument(name, declared.arguments), around)
        return _listed(declared.type, name, element)

    def of_class(self, name: str, around: tuple[str, ...]) -> KryoType:
        """The column of a class or primitive."""
        if name.startswith("["):
            return self._array(TypeArgument(name), around)
        described = self._classes.get(name)
        if described is None:
            return known_classes.DECLARED_TYPES.get(BOXED.get(name, name), _JSON)
        if described.constants:
            constant = _constant(described.constants)
            return KryoType(pa.utf8(), constant, constant)
        return _JSON if name in around else self._struct(described, (*around, name))

    def _struct(self, kryo_class: KryoClass, around: tuple[str, ...]) -> KryoType:
        columns = {field.name: self.of_type(field, around) for field in kryo_class.fields}
        types = {field.name: field.type for field in kryo_class.fields}
        fields = [pa.field(name, column.arrow_type) for name, column in columns.items()]

        def convert(graph: KryoObject) -> dict[str, Value]:
            return {
                name: column.converted(_boxed(types[name]), graph.fields[name])
                for name, column in columns.items()
            }

        def content(value: Mapping[str, Value]) -> KryoObject:
            nodes = {
                name: _in_field(name, column, types[name], value[name])
                for name, column in columns.items()
            }
            return KryoObject(kryo_class.class_name, nodes)

        return KryoType(pa.struct(fields), convert, content)


def _in_field(name: str, column: KryoType, class_name: str, value: Value) -> Value:
    try:
        return column.node(class_name, value)
    except ValueError as error:
        raise ValueError(f"field {name!r}: {error}") from error


def _boxed(class_name: str) -> str:
    return BOXED.get(class_name, class_name)


def _optional(class_name: str, column: KryoType) -> KryoType:

    def convert(graph: KryoObject) -> Value:
        return column.converted(_boxed(class_name), graph.fields["value"])

    def content(value: Value) -> KryoObject:
        return KryoObject(OPTIONAL, {"value": column.node(class_name, value)})

    return KryoType(column.arrow_type, convert, content)


def _listed(class_name: str, element_class: str, element: KryoType) -> KryoType:
    is_written = class_name.startswith("[") or _written(class_name) in WRITTEN_LISTS

    def convert(graph: list[Value]) -> list[Value]:
        return [element.converted(_boxed(element_class), part) for part in _instance(graph, list)]

    def content(value: list[Value]) -> list[Value]:
        if not is_written:
            raise ValueError(f"a {class_name}, which is not written")
        if _written(class_name) in WRITTEN_SETS:
            _expect_distinct(value, "elements")
        if _written(class_name) in WITHOUT_NULL_CLASSES and None in value:
            raise ValueError(f"a null in a {class_name}, which takes none")
        return [element.node(element_class, part) for part in value]

    return KryoType(pa.list_(element.arrow_type), convert, content)


def _mapped(class_name: str, key: tuple[str, KryoType], value: tuple[str, KryoType]) -> KryoType:
    (key_class, key_type), (value_class, value_type) = key, value

    def convert(graph: list[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
        pairs = [
            (
                key_type.converted(_boxed(key_class), key),
                value_type.converted(_boxed(value_class), other),
            )
            for key, other in _instance(graph, list)
        ]
        if any(key is None for key, _ in pairs):
            raise ValueError("a null key")
        return pairs

    def content(value: Value) -> list[tuple[Value, Value]]:
        if _written(class_name) not in WRITTEN_MAPS:
            raise ValueError(f"a {class_name}, which is not written")
        pairs = pairs_of(value)
        _expect_distinct([key for key, _ in pairs], "keys")
        if _written(class_name) in WITHOUT_NULL_CLASSES and None in [other for _, other in pairs]:
            raise ValueError(f"a null in a {class_name}, which takes none")
        return [
            (key_type.node(key_class, key), value_type.node(value_class, other))
            for key, other in pairs
        ]

    return KryoType(pa.map_(key_type.arrow_type, value_type.arrow_type), convert, content)


def _written(class_name: str) -> str:
    return WRITTEN_CLASSES.get(class_name, class_name)


def _expect_distinct(values: list[Value], what: str) -> None:
    """Raises ``ValueError`` if two values would become one in Java."""
    if len(set(map(repr, values))) < len(values):
        raise ValueError(f"{what} with two equal elements")


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
