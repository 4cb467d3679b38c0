"""Numbers without bounds, as texts and as bytes in two's complement.

Python refuses to print or parse integers of more than 4,300 digits. Decimals have no such limit, so
all conversions here use them.
"""

from __future__ import annotations

from decimal import Decimal


def twos_complement(value: int) -> bytes:
    """The fewest bytes, big endian, as ``BigInteger.toByteArray`` gives them."""
    bits = (value if value >= 0 else ~value).bit_length()
    return value.to_bytes(bits // 8 + 1, "big", signed=True)


def from_twos_complement(data: bytes) -> int:
    """The mirror of ``twos_complement``."""
    return int.from_bytes(data, "big", signed=True)


def integer_text(value: int) -> str:
    """All digits of a number."""
    return str(Decimal(value))


def from_integer_text(value: str | int) -> int:
    """The mirror of ``integer_text``; ``ValueError`` if the text is no whole number."""
    if isinstance(value, int):
        return value
    unscaled, scale = unscaled_and_scale(value)
    if scale:
        raise ValueError(f"{value!r} is no whole number")
    return unscaled


def decimal(unscaled: int, scale: int) -> Decimal:
    """The exact decimal, trailing zeros included."""
    sign, digits, _ = Decimal(unscaled).as_tuple()
    return Decimal((sign, digits, -scale))


def unscaled_and_scale(value: Decimal | str | int) -> tuple[int, int]:
    """The mirror of ``decimal``; ``ValueError`` if the value is no number."""
    try:
        sign, digits, exponent = Decimal(value).as_tuple()
    except ArithmeticError as error:
        raise ValueError(f"{value!r} is no number") from error
    if not isinstance(exponent, int):
        raise ValueError(f"{value!r} is no number")
    return int(Decimal((sign, digits, 0))), -exponent
