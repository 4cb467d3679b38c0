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
