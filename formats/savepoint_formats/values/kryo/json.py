"""Object graphs of Kryo as JSON, where no column can be made for what they are.

| graph                   | JSON                                                               |
|-------------------------|--------------------------------------------------------------------|
| null, boolean, number   | the same; a number that JSON has not (NaN, infinity) as a text     |
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
from typing import TYPE_CHECKING, Any

from savepoint_formats.values.kryo.objects import KryoObject, KryoReference

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value


_MOST_VALUES = 1 << 20


def json_text(graph: Value) -> str:
    """The graph as JSON.

    Raises:
        ValueError: It is too large, for what several objects share is written for each of them.
    """
    plain = _Plain().value(graph)
    text = json.dumps(plain, ensure_ascii=False)
    # Half a surrogate pair is legal in Java, but not in UTF-8: it is escaped.
    return text if _is_utf8(text) else json.dumps(plain)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Plain:
    """Makes of graphs what ``json`` writes, and counts the values."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def value(self, graph: Value) -> Any:
        """The graph, if not too much has gone before it."""
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"more than {_MOST_VALUES} values, too many for JSON")
        match graph:
            case None | bool() | int() | str():
                return graph
            case float():
                return graph if math.isfinite(graph) else str(graph)
            case bytes():
                return graph.hex()
            case KryoObject(class_name, fields):
                plain = {name: self.value(item) for name, item in fields.items()}
                return {"$class": class_name} | plain
            case KryoReference(number):
                return {"$reference": number}
            case tuple():
                return dict(zip(("key", "value"), map(self.value, graph), strict=True))
            case list():
                return [self.value(item) for item in graph]
            case _:
                return str(graph)
