"""How one kind of value is read and written, and what a value is."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView

Value: TypeAlias = Any
"""A value as ``to_pylist`` gives it; no type of Python's says which."""

MAX_DEPTH = 100
"""How deep layouts, rows and object graphs may nest; no job's types come near it."""


class NullError(ValueError):
    """A null for which there are no bytes."""


def fitting(value: Value, bits: int) -> int:
    """The value as an integer of so many bits.

    Raises:
        ValueError: It does not fit.
    """
    number = index(value)
    bound = 1 << bits - 1
    if not -bound <= number < bound:
        raise ValueError(f"{number} does not fit into {bits} bits")
    return number


@dataclass(frozen=True, slots=True)
class ScalarCodec:
    """A value's two functions, mirrors of each other.

    Attributes:
        read: The next value of a view.
        write: Writes a value to a view.
        is_nullable: Whether null has an encoding.
    """

    read: Callable[[DataInputView], Value]
    write: Callable[[Value, DataOutputView], None]
    is_nullable: bool = False
