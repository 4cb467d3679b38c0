"""The base of all nodes of a layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

NodeT = TypeVar("NodeT")


@dataclass_transform(frozen_default=True)
def node(cls: type[NodeT]) -> type[NodeT]:
    """A frozen dataclass with slots; type checkers understand no other alias of it."""
    return dataclass(frozen=True, slots=True)(cls)


class Layout:
    """A node of the tree."""

    __slots__ = ()
