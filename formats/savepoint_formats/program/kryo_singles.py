"""Instructions for classes of Kryo whose objects are single values, from ``known_classes``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage
from savepoint_formats.values.kryo.body import WITHOUT_PLACE, Part, Parts, SingleValue
from savepoint_formats.values.kryo.known_classes import CLASSES

if TYPE_CHECKING:
    from savepoint_formats.values.kryo.types import ClassRow

Instructions = tuple[tuple[Op, int, int], ...]

_STORAGES = {
    Op.STRICT_BOOLEAN: Storage.BITS,
    Op.UNIT: Storage.BYTES,
    Op.ASCII_TEXT: Storage.BYTES,
    Op.WHOLE_NUMBER: Storage.BYTES,
    Op.EXACT_NUMBER: Storage.BYTES,
    Op.UUID: Storage.BYTES,
    Op.MOMENT_TEXT: Storage.BYTES,
    Op.MILLIS_AND_NANOS: Storage.STRUCT,
    Op.SECONDS_AND_NANOS: Storage.STRUCT,
    Op.DATE_AND_CLOCK: Storage.STRUCT,
}
"""Storages of columns that are not numbers; a struct is a time with nanoseconds."""

_DENSITIES = {
    Op.UNIT: 1.5,  # two bytes are three of UTF-8
    Op.ASCII_TEXT: 1.0,
    Op.WHOLE_NUMBER: 4.0,
    Op.EXACT_NUMBER: 4.0,
    Op.UUID: 2.25,  # 16 bytes are 36 characters
    Op.MOMENT_TEXT: 20.0,  # an offset or a year of one byte
}
_ANY_TEXT = "java.lang.String"


@dataclass(frozen=True, slots=True)
class Single:
    """Instructions of a class.

    Attributes:
        op: The instruction that ends a value.
        storage: The storage of its column.
        argument: Argument of ``op`` in 2.24 and in 5.6, -1 if there is no program; times with
            nanoseconds have another one.
        parts: The instructions before ``op`` in 2.24 and in 5.6.
        density: The most bytes of the column per byte of input.
        is_any_text: Whether any text is a value; else the general path decides.
    """

    op: Op
    storage: Storage
    argument: tuple[int, int]
    parts: tuple[Instructions, Instructions]
    density: float
    is_any_text: bool

    @property
    def is_precise(self) -> bool:
        """Whether it is a time with nanoseconds."""
        return self.storage == Storage.STRUCT


def _single(name: str, row: ClassRow, value: SingleValue) -> Single:
    op = Op[value.instruction]
    of_2, of_5 = (parts or () for parts in row.parts)
    argument: tuple[int, int] = value.arguments or (0, 0)
    if op == Op.NUMBER:
        argument = of_2[0], of_5[0]
    places_of_2, places_of_5 = value.places
    return Single(
        op=op,
        storage=_STORAGES.get(op, Storage.NUMBERS),
        argument=argument,
        parts=(_instructions(of_2, places_of_2), _instructions(of_5, places_of_5)),
        density=_DENSITIES.get(op, 0.0),
        is_any_text=name == _ANY_TEXT,
    )


def _instructions(parts: Parts, places: tuple[int, ...]) -> Instructions:
    return tuple(
        _instruction(part, place)
        for part, place in zip(parts, places, strict=bool(places))
        if place != WITHOUT_PLACE
    )


def _instruction(part: Part, place: int) -> tuple[Op, int, int]:
    match part:
        case Part.NEW:
            return Op.NEW, 0, 0
        case Part.CLOCK:
            return Op.CUT_CLOCK, place, 0
        case _:
            return Op.PART, place, int(part)


SINGLES: dict[str, Single] = {
    name: _single(name, row, row.value) for name, row in CLASSES.items() if row.value is not None
}
