"""Which instruction reads a class of Kryo whose objects are single values, and what it fills."""

from __future__ import annotations

from dataclasses import dataclass

from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage


@dataclass(frozen=True, slots=True)
class Single:
    """How a class is read.

    Attributes:
        op: The instruction.
        storage: What its column is.
        argument: Of the instruction, but for times with nanoseconds.
        density: The most that a byte becomes.
        is_precise: Whether it is a time with nanoseconds.
        op_of_2: The instruction for Kryo 2.24, if it is another one.
    """

    op: Op
    storage: Storage = Storage.NUMBERS
    argument: int = 0
    density: float = 0.0
    is_precise: bool = False
    op_of_2: Op | None = None


def _bytes(op: Op, density: float) -> Single:
    return Single(op, Storage.BYTES, density=density)


_TEXT = _bytes(Op.ASCII_TEXT, 1)

SINGLES: dict[str, Single] = {
    "java.lang.Boolean": Single(Op.STRICT_BOOLEAN, Storage.BITS),
    "java.lang.Byte": Single(Op.FIXED, argument=1),
    "java.lang.Short": Single(Op.FIXED, argument=2),
    "java.lang.Character": _bytes(Op.UNIT, 1.5),
    "java.lang.Integer": Single(Op.ZIGZAG, argument=4),
    "java.lang.Long": Single(Op.ZIGZAG, argument=8),
    "java.lang.Float": Single(Op.FIXED, argument=4),
    "java.lang.Double": Single(Op.FIXED, argument=8),
    "java.lang.String": _TEXT,
    "java.net.URI": _TEXT,
    "java.net.URL": _TEXT,
    "java.util.Currency": _TEXT,
    "java.util.UUID": _bytes(Op.UUID, 2.25),
    "java.math.BigInteger": _bytes(Op.WHOLE_NUMBER, 4),
    "java.math.BigDecimal": _bytes(Op.EXACT_NUMBER, 4),
    "java.util.Date": Single(Op.MILLIS),
    "java.sql.Timestamp": Single(Op.MILLIS_AND_NANOS, Storage.STRUCT, is_precise=True),
    "java.time.Instant": Single(Op.SECONDS_AND_NANOS, Storage.STRUCT, is_precise=True),
    "java.time.Duration": Single(Op.DURATION),
    "java.time.LocalDate": Single(Op.DATE),
    "java.time.LocalTime": Single(Op.CLOCK),
    "java.time.LocalDateTime": Single(Op.DATE_AND_CLOCK, Storage.STRUCT, is_precise=True),
    "java.time.Year": Single(Op.VARINT, argument=4, op_of_2=Op.ZIGZAG),
    "java.util.OptionalInt": Single(Op.OPTIONAL, argument=4),
    "java.util.OptionalLong": Single(Op.OPTIONAL, argument=8),
    "java.util.OptionalDouble": Single(Op.OPTIONAL, argument=-8),
}
