"""Numbers and times that are equal to one of some texts, however they are written."""

from __future__ import annotations

import re
from datetime import time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.audit.key_state import key_texts
from savepoint_formats.values import is_precise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MOST_DIGITS = 40
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_NANOS_PER_SECOND = 1_000_000_000
_OFFSET = re.compile(r"(.+:\d\d(?:\.\d+)?) ?([+-]\d\d(?::?\d\d)?)")


def is_shown(values: pa.Array, texts: Sequence[str]) -> bool:
    """Whether a number, time or bytes in hexadecimal is shown as a text that is looked for.

    Numbers may have other zeros, and times fewer digits, or none of the clock at midnight.
    """
    data_type = values.type
    if pa.types.is_boolean(data_type) or pa.types.is_null(data_type):
        return False
    is_inexact = pa.types.is_decimal(data_type) or pa.types.is_floating(data_type)
    if pa.types.is_integer(data_type) or is_inexact:
        return _has_any(values, (it for text in texts for it in _number(text, data_type)))
    if is_precise(data_type):
        nanos = {it for text in texts for it in _nanoseconds(text, data_type.field(0).type)}
        if any(_is_at(values, *divmod(it, _NANOS_PER_SECOND)) for it in nanos):
            return True
    is_time = pa.types.is_temporal(data_type) and not pa.types.is_duration(data_type)
    if is_time and _has_any(values, (it for text in texts for it in _time(text, data_type))):
        return True
    distinct = values if pa.types.is_nested(data_type) else values.unique()
    return any(text in texts for text in key_texts(distinct.drop_null()))


def is_number_among(values: pa.StringArray, texts: Sequence[str]) -> bool:
    """Whether a number of any size, which is a text in Arrow, is equal to a text as a number."""
    numbers = {number for text in texts for number in _decimal(text)}
    stored = values.unique().drop_null().to_pylist() if numbers else ()
    return any(number in numbers for text in stored for number in _decimal(text))


def _has_any(values: pa.Array, wanted: Iterable[pa.Scalar]) -> bool:
    scalars = list(wanted)
    return bool(scalars) and bool(pc.any(pc.is_in(values, pa.array(scalars, values.type))).as_py())


def _decimal(text: str) -> Iterator[Decimal]:
    """The number that a text is: none or one."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return
    if number.is_finite():
        yield number


def _number(text: str, data_type: pa.DataType) -> Iterator[pa.Scalar]:
    """The number of a type that a text is, also no number or an infinite one: none or one."""
    if pa.types.is_floating(data_type) and text in _NOT_FINITE:
        yield pa.scalar(float(text), data_type)
    for number in _decimal(text):
        try:
            if pa.types.is_floating(data_type):
                yield pa.scalar(float(number), data_type)
            elif pa.types.is_decimal(data_type):
                yield pa.scalar(number, data_type)
            elif number.adjusted() < _MOST_DIGITS and number == number.to_integral_value():
                yield pa.scalar(int(number), data_type)
        except (InvalidOperation, OverflowError, pa.ArrowInvalid):
            continue


def _time(text: str, data_type: pa.DataType) -> Iterator[pa.Scalar]:
    """The time of a type that a text is, with an offset or without one: none or one.

    A time without a zone is compared with the time in UTC, as Z at its end asks for.
    """
    try:
        if pa.types.is_time(data_type):
            yield pa.scalar(time.fromisoformat(text), data_type)
        elif offset := _OFFSET.fullmatch(text):
            if pa.types.is_timestamp(data_type):
                moment = pa.scalar(_short(offset[1]) + offset[2])
                yield moment.cast(pa.timestamp(data_type.unit, "UTC")).cast(data_type)
        else:
            zoned = bool(getattr(data_type, "tz", None))
            yield pa.scalar(_short(text) + "Z" * zoned).cast(data_type)
    except (ValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return


def _short(text: str) -> str:
    """The text of a time without its zone and the last zeros of its second."""
    whole, _, behind = text.removesuffix("Z").partition(".")
    digits = behind.rstrip("0")
    return f"{whole}.{digits}" if digits else whole


def _nanoseconds(text: str, seconds: pa.TimestampType) -> Iterator[int]:
    """Nanoseconds since the epoch that a text is as a time: none or one."""
    for moment in _time(text, pa.timestamp("ns", seconds.tz)):
        yield moment.value


def _is_at(values: pa.StructArray, seconds: int, nanos: int) -> bool:
    """Whether a precise time has these seconds since the epoch and these nanoseconds."""
    stored, behind = values.flatten()
    is_equal = pc.and_(pc.equal(stored.cast(pa.int64()), seconds), pc.equal(behind, nanos))
    return bool(pc.any(is_equal).as_py())
