"""What an object of Kryo becomes when no simpler value stands for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.values.kinds.codec import Value


@dataclass(frozen=True, slots=True)
class KryoObject:
    """An object: the name of its class, and its fields by name."""

    class_name: str
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class KryoReference:
    """An object inside itself: the number of an object whose content is still being read."""

    number: int


@dataclass(eq=False, slots=True)
class KryoNode:
    """An object with all that its bytes tell, so that they can be written again.

    Objects that are the same one are the same node. What is inside are nodes, too, except where
    Kryo has plain numbers and texts.

    Attributes:
        class_name: Its class.
        content: What ``read_kryo`` gives.
    """

    class_name: str
    content: Value = None


@dataclass(frozen=True, slots=True)
class Detailed:
    """A collection with what its values do not tell.

    Attributes:
        detail: The comparator of what is sorted, or the class of elements.
        values: The elements, or pairs.
    """

    detail: Value
    values: list[Value]


def detail_of(value: Value) -> tuple[Value, Value]:
    """What only the bytes of a collection tell, and its values."""
    return (value.detail, value.values) if isinstance(value, Detailed) else (None, value)


def plain(value: Value) -> Value:
    """What is in a node; any other value as it is."""
    return value.content if isinstance(value, KryoNode) else value


def flattened(value: Value) -> Value:
    """A value of the JDK, and what is in it, without nodes; it holds nothing of itself."""
    match value:
        case KryoNode():
            return flattened(value.content)
        case KryoObject(class_name, fields):
            return KryoObject(
                class_name, {name: flattened(field) for name, field in fields.items()}
            )
        case _:
            return value
