"""Parts of Kryo's objects that are single values, as programs read them.

| part                     | bytes                                                             |
|--------------------------|-------------------------------------------------------------------|
| BYTE, SHORT, INT, LONG   | fixed numbers                                                     |
| VARINT, VARLONG          | an i32, an i64 as their unsigned bits                             |
| ZIGZAG, LONG_ZIGZAG      | the same, with the sign in the lowest bit                         |
| TEXT                     | a text, or null                                                   |
| FLAG                     | a byte of 0 or 1                                                  |
| COUNTED                  | varint of a count + 1, 0 is null; bytes                           |
| SCALED                   | as COUNTED; a zigzag behind it unless it is null                  |
| WORDS                    | varint of a count; longs                                          |
| CLOCK                    | a time of day without its last zeros                              |
| OFFSET                   | quarters of an hour, or 127 and seconds                           |
| OPTIONAL_INT, _LONG      | a flag; 4 or 8 bytes if it is set                                 |
| NEW                      | the mark of an object that is new                                 |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Part(IntEnum):
    """Kinds of parts; the kernel has the same numbers."""

    BYTE = 0
    SHORT = 1
    INT = 2
    LONG = 3
    VARINT = 4
    ZIGZAG = 5
    VARLONG = 6
    LONG_ZIGZAG = 7
    TEXT = 8
    FLAG = 9
    COUNTED = 10
    CLOCK = 11
    NEW = 12
    WORDS = 13
    OFFSET = 14
    OPTIONAL_INT = 15
    OPTIONAL_LONG = 16
    SCALED = 17


Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class SingleValue:
    """How a program makes a column's value of an object's parts.

    Attributes:
        instruction: The name of the last instruction.
        places: Place of each part in the value, if the value has several; in 2.24, and in 5.6.
        kinds: Kind of an optional number; in 2.24, and in 5.6.
    """

    instruction: str
    places: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    kinds: tuple[Part, Part] | None = None
