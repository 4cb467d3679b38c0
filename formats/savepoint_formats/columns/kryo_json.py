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

from savepoint_formats.columns.kryo_objects import KryoObject, KryoReference

if TYPE_CHECKING:
    from savepoint_formats.columns.codec import Value


def json_text(graph: Value) -> str:
    """The graph as JSON."""
    return json.dumps(_plain(graph), ensure_ascii=False)


def _plain(graph: Value) -> Any:
    match graph:
        case None | bool() | int() | str():
            return graph
        case float():
            return graph if math.isfinite(graph) else str(graph)
        case bytes():
            return graph.hex()
        case KryoObject(class_name, fields):
            return {"$class": class_name} | {name: _plain(one) for name, one in fields.items()}
        case KryoReference(number):
            return {"$reference": number}
        case tuple():
            return dict(zip(("key", "value"), map(_plain, graph), strict=True))
        case list():
            return [_plain(one) for one in graph]
        case _:
            return str(graph)
