"""A target of fuzzing: a reader with valid inputs to damage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

MEMORY = 256 << 20
"""Inputs have 100 KB at most."""

MEMORY_OF_ROCKSDB = 2 << 30
"""RocksDB itself, which is asked about tables that are not known, has stacks for its threads."""


@dataclass(frozen=True, eq=False)
class Seed:
    """An input that is right.

    Attributes:
        data: The bytes.
        context: What its reader has to know besides, such as the layout of a value.
        places: If given, only bytes at these places are changed, and none is added or taken away.
        mend: Makes checksums right again, so that more than them is tried.
        change: A mutation that knows the form of the bytes; half of the inputs go through it.
        name: What a report calls it.
    """

    data: bytes
    context: Any = None
    places: tuple[int, ...] | None = None
    mend: Callable[[bytes], bytes] | None = None
    change: Callable[[bytes, Random], bytes] | None = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class Target:
    """A reader.

    Attributes:
        name: What it is asked for by.
        seeds: The inputs.
        read: Reads bytes in the context of their seed: returns their meaning, or raises what is wrong.
        memory: Bytes of address space that reading may take besides what the process has.
    """

    name: str
    seeds: list[Seed] = field(repr=False)
    read: Callable[[bytes, Any], object]
    memory: int = MEMORY
