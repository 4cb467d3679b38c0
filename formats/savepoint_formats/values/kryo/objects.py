"""Objects of Kryo without a simpler value, and their JSON.

| graph                   | JSON                                                               |
|-------------------------|--------------------------------------------------------------------|
| null, boolean, number   | the same; NaN and infinity as a text                               |
| text, UUID, decimal     | a text                                                             |
| bytes                   | a text of hexadecimal digits                                       |
| list                    | an array                                                           |
| map                     | an array of ``{"key": ..., "value": ...}``; its keys may be objects|
| object                  | ``{"$class": name}`` and its fields                                |
| object inside itself    | ``{"$reference": number}``                                         |
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.values.kinds.codec import Value


@dataclass(frozen=True, slots=True)
class KryoObject:
    """An object: the name of its class, and its fields by name."""

    class_name: str
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class KryoReference:
    """An object inside itself, by its number."""

    number: int


@dataclass(eq=False, slots=True)
class KryoNode:
    """An object with all facts in its bytes, so that they can be written again.

    One object is one node, even if it is repeated. Its content is that of ``read_kryo``, but with
    nodes inside, except for Kryo's plain numbers and texts.
    """

    class_name: str
    content: Value = None


@dataclass(frozen=True, slots=True)
class Detailed:
    """Elements or pairs, and a detail: the comparator, or the class of the elements."""

    detail: Value
    values: list[Value]


def detail_of(value: Value) -> tuple[Value, Value]:
    """The detail of a collection, and its values."""
    return (value.detail, value.values) if isinstance(value, Detailed) else (None, value)


def plain(value: Value) -> Value:
    """The content of a node; any other value as it is."""
    return value.content if isinstance(value, KryoNode) else value


def without_nodes(value: Value) -> Value:
    """A value of the JDK without nodes; it must not contain itself."""
    match value:
        case KryoNode():
            return without_nodes(value.content)
        case KryoObject(class_name, fields):
            return KryoObject(
                class_name, {name: without_nodes(field) for name, field in fields.items()}
            )
        case _:
            return value


_MOST_VALUES = 1 << 20


def json_text(graph: Value) -> str:
    """The graph as JSON; ``ValueError`` if it is too large, because shared objects are repeated."""
    json_value = _json_value(graph, count(1))
    text = json.dumps(json_value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair is legal in Java, but not in UTF-8: it is escaped.
        return json.dumps(json_value)
    return text


def _json_value(graph: Value, numbers: Iterator[int]) -> Any:
    if next(numbers) > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES} values, too many for JSON")
    match graph:
        case None | bool() | int() | str():
            return graph
        case float():
            return graph if math.isfinite(graph) else str(graph)
        case bytes():
            return graph.hex()
        case KryoObject(class_name, fields):
            items = {name: _json_value(item, numbers) for name, item in fields.items()}
            return {"$class": class_name} | items
        case KryoReference(number):
            return {"$reference": number}
        case (key, value) if isinstance(graph, tuple):
            return {"key": _json_value(key, numbers), "value": _json_value(value, numbers)}
        case list():
            return [_json_value(item, numbers) for item in graph]
        case _:
            return str(graph)
