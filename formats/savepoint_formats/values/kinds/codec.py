"""Values as Python objects, and the pair of functions that reads and writes one kind of them."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView

Value: TypeAlias = Any
"""A value as ``to_pylist`` gives it; no type of Python describes all of them."""

MAX_DEPTH = 100
"""Limit of nested layouts, rows and object graphs; no job's types come near it."""


class NullError(ValueError):
    """A null for which there are no bytes."""


@dataclass(frozen=True, slots=True)
class ScalarCodec:
    """How one kind of value is read and written; ``is_nullable`` if null has bytes."""

    read: Callable[[DataInputView], Value]
    write: Callable[[Value, DataOutputView], None]
    is_nullable: bool = False


def fitting(value: Value, bits: int) -> int:
    """The value as an integer; ``ValueError`` if it does not fit into ``bits`` bits."""
    number = index(value)
    bound = 1 << bits - 1
    if not -bound <= number < bound:
        raise ValueError(f"{number} does not fit into {bits} bits")
    return number


def pairs_of(value: Value) -> list[tuple[Value, Value]]:
    """The entries of a map: a dict, pairs, or dicts of ``key`` and ``value``."""
    entries = value.items() if isinstance(value, dict) else value
    if None in entries:
        raise NullError("null, which an entry of a map cannot be")
    return [
        (entry["key"], entry["value"]) if isinstance(entry, dict) else entry for entry in entries
    ]
