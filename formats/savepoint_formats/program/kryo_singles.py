"""Which instructions read a class of Kryo whose objects are single values, and what they fill."""

from __future__ import annotations

from dataclasses import dataclass, replace

from savepoint_formats.program.kernel.kryo_numbers import (
    BYTE,
    INT,
    LONG,
    LONG_ZIGZAG,
    SHORT,
    VARINT,
    VARLONG,
    ZIGZAG,
)
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage

Parts = tuple[tuple[Op, int, int], ...]


@dataclass(frozen=True, slots=True)
class Single:
    """How a class is read.

    Attributes:
        op: The instruction that ends a value.
        storage: What its column is.
        argument: Of the instruction, but for times with nanoseconds; in 2.24, and in 5.6.
        parts: The instructions before it; in 2.24, and in 5.6.
        density: The most that a byte becomes.
        is_precise: Whether it is a time with nanoseconds.
        is_any_text: Whether any text is one; the general path knows which are.
    """

    op: Op
    storage: Storage = Storage.NUMBERS
    argument: tuple[int, int] = (0, 0)
    parts: tuple[Parts, Parts] = ((), ())
    density: float = 0.0
    is_precise: bool = False
    is_any_text: bool = True


def _number(kind: int, kind_of_5: int | None = None) -> Single:
    kinds = (kind, kind if kind_of_5 is None else kind_of_5)
    return Single(Op.NUMBER, argument=kinds)


def _optional(kind: int, kind_of_5: int) -> Single:
    return Single(Op.OPTIONAL, argument=(kind, kind_of_5))


def _bytes(op: Op, density: float) -> Single:
    return Single(op, Storage.BYTES, density=density)


def _parts(*kinds: tuple[int, int]) -> Parts:
    """The number of each part, and its kind."""
    return tuple((Op.PART, index, kind) for index, kind in kinds)


def _precise(op: Op, parts: Parts, parts_of_5: Parts) -> Single:
    return Single(op, Storage.STRUCT, parts=(parts, parts_of_5), is_precise=True)


_TEXT = _bytes(Op.ASCII_TEXT, 1)
_TEXT_LIKE = replace(_TEXT, is_any_text=False)
_NEW: Parts = ((Op.NEW, 0, 0),)
_SECONDS_OF_2 = _parts((1, ZIGZAG), (0, LONG_ZIGZAG))
_DATE_OF_2 = _parts((2, SHORT), (1, SHORT), (0, ZIGZAG))
_DATE_OF_5 = _parts((0, VARINT), (1, BYTE), (2, BYTE))
_CLOCK_OF_2 = _parts((3, BYTE), (4, BYTE), (6, ZIGZAG), (5, BYTE))
_CLOCK_OF_5: Parts = ((Op.CUT_CLOCK, 3, 0),)
_HALVES_OF_2 = _parts((0, LONG_ZIGZAG), (1, LONG_ZIGZAG))
_MILLIS = _parts((0, VARLONG), (1, VARINT))

SINGLES: dict[str, Single] = {
    "java.lang.Boolean": Single(Op.STRICT_BOOLEAN, Storage.BITS),
    "java.lang.Byte": _number(BYTE),
    "java.lang.Short": _number(SHORT),
    "java.lang.Character": _bytes(Op.UNIT, 1.5),
    "java.lang.Integer": _number(ZIGZAG),
    "java.lang.Long": _number(LONG_ZIGZAG),
    "java.lang.Float": _number(INT),
    "java.lang.Double": _number(LONG),
    "java.lang.String": _TEXT,
    "java.net.URI": _TEXT_LIKE,
    "java.net.URL": _TEXT_LIKE,
    "java.util.Currency": _TEXT_LIKE,
    "java.util.UUID": Single(
        Op.UUID,
        Storage.BYTES,
        parts=(_HALVES_OF_2, _parts((0, LONG), (1, LONG))),
        density=2.25,
    ),
    "java.math.BigInteger": _bytes(Op.WHOLE_NUMBER, 4),
    "java.math.BigDecimal": _bytes(Op.EXACT_NUMBER, 4),
    "java.util.Date": _number(VARLONG),
    "java.sql.Timestamp": _precise(Op.MILLIS_AND_NANOS, _MILLIS, _MILLIS),
    "java.time.Instant": _precise(Op.SECONDS_AND_NANOS, _SECONDS_OF_2, _MILLIS),
    "java.time.Duration": Single(
        Op.DURATION, parts=(_SECONDS_OF_2, _parts((0, LONG), (1, VARINT)))
    ),
    "java.time.LocalDate": Single(Op.DATE, parts=(_DATE_OF_2, _DATE_OF_5)),
    "java.time.LocalTime": Single(Op.CLOCK, parts=(_CLOCK_OF_2, _CLOCK_OF_5)),
    "java.time.LocalDateTime": _precise(
        Op.DATE_AND_CLOCK,
        (*_NEW, *_DATE_OF_2, *_NEW, *_CLOCK_OF_2),
        (*_DATE_OF_5, *_CLOCK_OF_5),
    ),
    "java.time.Year": _number(ZIGZAG, VARINT),
    "java.util.OptionalInt": _optional(ZIGZAG, INT),
    "java.util.OptionalLong": _optional(LONG_ZIGZAG, LONG),
    "java.util.OptionalDouble": _optional(LONG, LONG),
}
