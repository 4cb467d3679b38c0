"""Types of PyFlink as texts, and how its coders write their values.

A text such as ``Types.ROW_NAMED(["a"], [Types.LONG()])`` is parsed, never run.

| type                                   | layout of the coder                                   |
|----------------------------------------|-------------------------------------------------------|
| BOOLEAN, BYTE, SHORT, INT, LONG, ...   | of that name, big endian; BIG_INT is a LONG           |
| STRING, CHAR, BIG_DEC                  | ``Utf8``; a decimal is its text                       |
| SQL_DATE, SQL_TIME, SQL_TIMESTAMP      | ``SqlDate``, ``SqlTime``, i64 milliseconds            |
| INSTANT                                | ``Instant``                                           |
| PICKLED_BYTE_ARRAY                     | ``Pickle``                                            |
| PRIMITIVE_ARRAY(BYTE), (another)       | ``Bytes``, i32 count and the elements                 |
| BASIC_ARRAY, OBJECT_ARRAY, LIST        | i32 count, a flag per element: 1 if it is there       |
| MAP                                    | i32 count, key, flag of null and value of each entry  |
| TUPLE                                  | the fields                                            |
| ROW, ROW_NAMED                         | mask of row kind and nulls, then the fields           |

The text of a state is its type, for a value, or one of these calls:

| text                                                    | state                             |
|---------------------------------------------------------|-----------------------------------|
| ``ValueState(T)``, ``ReducingState``, ``AggregatingState`` | a value; that of an accumulator |
| ``ListState(T)``                                        | a list                            |
| ``MapState(K, V)``                                      | a map; also broadcast state       |

PyFlink: ``coders.from_type_info``, ``coder_impl_fast``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Framed, Layout, MapOf, MaskedStruct, Nullable, Packed, Repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

_SINGLE: dict[str, Layout] = {
    "BIG_DEC": layouts.Utf8(),
    "BIG_INT": layouts.Long(),
    "BOOLEAN": layouts.Boolean(),
    "BYTE": layouts.Byte(),
    "CHAR": layouts.Utf8(),
    "DOUBLE": layouts.Double(),
    "FLOAT": layouts.Float(),
    "INSTANT": layouts.Instant(),
    "INT": layouts.Int(),
    "LONG": layouts.Long(),
    "PICKLED_BYTE_ARRAY": layouts.Pickle(),
    "SHORT": layouts.Short(),
    "SQL_DATE": layouts.SqlDate(),
    "SQL_TIME": layouts.SqlTime(),
    "SQL_TIMESTAMP": layouts.TimestampData(3),
    "STRING": layouts.Utf8(),
}
_VALUES = ("ValueState", "ReducingState", "AggregatingState")
_LARGEST = 100_000
"""Characters of a text."""

_DEEPEST = 200
"""Limit of expressions within expressions; three are a type within a type."""


def parsed(text: str) -> ast.expr:
    """The expression of a text.

    Raises:
        ValueError: It is no expression of Python.
    """
    if len(text) > _LARGEST:
        raise ValueError(f"a type of {len(text)} characters, expected {_LARGEST} at most")
    try:
        body = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise ValueError(f"{text[:80]!r} is no type of PyFlink: {error}") from error
    level: list[ast.AST] = [body]
    for _ in range(_DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    if level:
        raise ValueError(f"{text[:80]!r} is no type of PyFlink: it nests more than {_DEEPEST} deep")
    return body


def state_layout(text: str) -> Layout:
    """The layout of a state as Flink stores it: a list of frames, or a map of them.

    Raises:
        ValueError: The text is no type.
    """
    node = parsed(text)
    name, arguments = _call(node)
    if name in _VALUES:
        return _single(_layout(*_expected(node, arguments, 1)))
    if name == "ListState":
        return Repeated(Framed(Packed(_layout(*_expected(node, arguments, 1)))))
    if name == "MapState":
        key, value = map(_layout, _expected(node, arguments, 2))
        return MapOf(Framed(key), Nullable(Framed(value)))
    return _single(_layout(node))


def _single(value: Layout) -> Layout:
    return Repeated(Framed(Packed(value, is_single=True)))


def type_layout(text: str) -> Layout:
    """The layout of a type's coder. Raises ``ValueError`` if the text is no type."""
    return _layout(parsed(text))


def _layout(node: ast.expr) -> Layout:  # the table of types
    name, arguments = _call(node)
    if name in _SINGLE:
        _expected(node, arguments, 0)
        return _SINGLE[name]
    match name:
        case "PRIMITIVE_ARRAY":
            element = _layout(*_expected(node, arguments, 1))
            return layouts.Bytes() if element == layouts.Byte() else Repeated(element)
        case "BASIC_ARRAY" | "OBJECT_ARRAY" | "LIST":
            element = _layout(*_expected(node, arguments, 1))
            return Repeated(Nullable(element, is_null=False))
        case "MAP":
            key, value = map(_layout, _expected(node, arguments, 2))
            return MapOf(key, Nullable(value))
        case "TUPLE":
            fields = _list(*_expected(node, arguments, 1))
            return layouts.Struct(_numbered(fields), tuple(map(_layout, fields)))
        case "ROW":
            fields = _list(*_expected(node, arguments, 1))
            return MaskedStruct(_numbered(fields), tuple(map(_layout, fields)), has_kind=True)
        case "ROW_NAMED":
            names, types = map(_list, _expected(node, arguments, 2))
            return MaskedStruct(_names(node, names, types), tuple(map(_layout, types)), True)
    raise ValueError(f"{ast.unparse(node)[:80]!r} is no type of PyFlink that a state has")


def _call(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The last name of a called function, and its arguments in order."""
    if not isinstance(node, ast.Call):
        raise ValueError(f"{ast.unparse(node)[:80]!r} is no call such as Types.LONG()")
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name, [*node.args, *(keyword.value for keyword in node.keywords)]


def _expected(node: ast.expr, arguments: Sequence[ast.expr], count: int) -> Sequence[ast.expr]:
    if len(arguments) != count:
        text = ast.unparse(node)[:80]
        raise ValueError(f"{text!r} has {len(arguments)} arguments, expected {count}")
    return arguments


def _list(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.List | ast.Tuple):
        raise ValueError(f"{ast.unparse(node)[:80]!r} is not a list")
    return node.elts


def _numbered(fields: Sequence[ast.expr]) -> tuple[str, ...]:
    return tuple(f"f{number}" for number in range(len(fields)))


def _names(node: ast.expr, names: Sequence[ast.expr], types: Sequence[ast.expr]) -> tuple[str, ...]:
    texts = [getattr(name, "value", None) for name in names]
    distinct = {text for text in texts if isinstance(text, str)}
    if not len(distinct) == len(texts) == len(types):
        raise ValueError(f"{ast.unparse(node)[:80]!r} needs a name for each of its fields")
    return tuple(str(text) for text in texts)
