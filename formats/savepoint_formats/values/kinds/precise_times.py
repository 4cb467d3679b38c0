"""Precise times: times of any year with nanoseconds, as a struct of seconds and nanoseconds.

Arrow counts nanoseconds in 64 bits, which end in the year 2262; jobs write 9999-12-31 for "never".
So ``Instant``, ``LocalDateTime`` and timestamps of SQL with more than six digits are a struct:

| field   | Arrow                         | meaning                                             |
|---------|-------------------------------|-----------------------------------------------------|
| seconds | timestamp[s], or [s, tz=UTC]  | since the epoch, rounded down; the zone is the type's |
| nanos   | int32                         | 0 to 999,999,999, to be added                       |

No struct of a job has this type, because neither field can be null.

The text of a precise time has all its digits: ``2026-01-31 12:00:00.000000001``, with ``Z`` behind it
in UTC. Years before 0 and after 9999 have a sign, as in Java.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import pyarrow as pa

from savepoint_formats.lazy_modules import LazyModule
from savepoint_formats.values.kinds import times
from savepoint_formats.values.kinds.times import NANOS, NANOS_PER_SECOND, SECONDS, SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]


pc: Any = LazyModule("pyarrow.compute")

Nanoseconds = Literal["refuse", "struct", "text", "truncate"]
"""Form of times with nanoseconds.

| value    | column in Spark, and its nanoseconds                                        |
|----------|-----------------------------------------------------------------------------|
| refuse   | TIMESTAMP or TIMESTAMP_NTZ; a value that has any is an error                |
| struct   | STRUCT<seconds: BIGINT, nanos: INT>, since the epoch: all of them           |
| text     | STRING, ``2026-01-31 12:00:00.000000001``, with ``Z`` if of UTC: all of them|
| truncate | as refuse; nanoseconds are cut off, a time beyond Spark's range is its limit|
"""


def checked_nanoseconds(value: object) -> Nanoseconds:
    """The value; ``ValueError`` if it is none of ``Nanoseconds``."""
    if value in get_args(Nanoseconds):
        return cast("Nanoseconds", value)
    raise ValueError(
        f"nanoseconds is {value!r}, expected one of {', '.join(get_args(Nanoseconds))}"
    )


_MAX_NANO_SECONDS = (1 << 63) // NANOS_PER_SECOND - 1
_MAX_MICRO_SECONDS = (1 << 63) // 1_000_000 - 1
_FIRST_SHOWN, _BEHIND_SHOWN = -62_167_219_200, 253_402_300_800  # the years 0 to 9999

_SHORT = r"^(?P<seconds>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(?P<nanos>\d{1,9}))?(?P<zone>Z?)$"
_LONG = re.compile(
    r"([+-]?\d{4,10})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z?)", re.ASCII
)


def precise_type(zone: str | None = None) -> pa.DataType:
    """The type of precise times; ``zone`` is ``UTC`` or None."""
    seconds = pa.field(SECONDS, pa.timestamp("s", zone), nullable=False)
    return pa.struct([seconds, pa.field(NANOS, pa.int32(), nullable=False)])


_TYPES = (precise_type(), precise_type("UTC"))


def is_precise(data_type: pa.DataType) -> bool:
    """Whether a type has precise times."""
    return data_type in _TYPES


def zone_of(data_type: pa.DataType) -> str | None:
    """The zone of a type of precise times."""
    return data_type.field(0).type.tz  # type: ignore[no-any-return]


def _made(seconds: pa.Array, nanos: pa.Array, zone: str | None) -> pa.StructArray:
    """Precise times of integers; null where the seconds are."""
    wanted = precise_type(zone)
    columns = [
        seconds.cast(pa.int64()).fill_null(0).view(wanted[0].type),
        nanos.cast(pa.int32()).fill_null(0),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(wanted), mask=seconds.is_null())


def precise_times(timestamps: pa.Array) -> pa.StructArray:
    """Timestamps of any unit as precise times."""
    per_second = times.PER_SECOND[timestamps.type.unit]
    counts = timestamps.view(pa.int64()).fill_null(0).to_numpy()
    seconds, rest = np.divmod(counts, per_second)
    is_null = timestamps.is_null().to_numpy(zero_copy_only=False)
    nanos = pa.array(rest * (NANOS_PER_SECOND // per_second), pa.int64())
    return _made(pa.array(seconds, pa.int64(), mask=is_null), nanos, timestamps.type.tz)


def timestamps_of(values: pa.StructArray, unit: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Precise times as timestamps of a unit, and which of them changed.

    Digits that the unit does not have are cut off. Times beyond its range become its limit.
    """
    seconds, nanos = seconds_and_nanos(values)
    per_second = times.PER_SECOND[unit]
    limit = _MAX_NANO_SECONDS if unit == "ns" else _MAX_MICRO_SECONDS
    is_beyond = (seconds > limit) | (seconds < -limit)
    per_unit = NANOS_PER_SECOND // per_second
    counts = np.clip(seconds, -limit, limit) * per_second + nanos // per_unit
    counts[seconds > limit], counts[seconds < -limit] = (1 << 63) - 1, -(1 << 63)
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    timestamps = pa.array(counts, pa.int64(), mask=is_null)
    is_other = (is_beyond | (nanos % per_unit != 0)) & ~is_null
    return timestamps.view(pa.timestamp(unit, zone_of(values.type))), is_other


def seconds_and_nanos(values: pa.StructArray) -> tuple[Longs, Longs]:
    """The seconds and the nanoseconds; 0 for nulls."""
    seconds, nanos = values.flatten()
    return (
        seconds.view(pa.int64()).fill_null(0).to_numpy(),
        nanos.fill_null(0).to_numpy().astype(np.int64),
    )


def texts_of(values: pa.StructArray) -> pa.Array:
    """Precise times as texts."""
    seconds, nanos = seconds_and_nanos(values)
    is_shown = (seconds >= _FIRST_SHOWN) & (seconds < _BEHIND_SHOWN)
    shown = pa.array(np.where(is_shown, seconds, 0), pa.int64()).view(pa.timestamp("s"))
    digits = pc.utf8_lpad(pa.array(nanos, pa.int64()).cast(pa.utf8()), 9, "0")
    zone = "Z" if zone_of(values.type) else ""
    texts = pc.binary_join_element_wise(shown.cast(pa.utf8()), digits, ".")
    texts = pc.binary_join_element_wise(texts, pa.scalar(zone), "")
    texts = pc.if_else(values.is_null(), pa.scalar(None, pa.utf8()), texts)
    others = np.flatnonzero(~is_shown)
    if not len(others):
        return texts
    pairs = zip(seconds[others].tolist(), nanos[others].tolist(), strict=True)
    far = pa.array([_far_text(*pair) + zone for pair in pairs], pa.utf8())
    return pc.replace_with_mask(texts, pa.array(~is_shown), far)


def _far_text(seconds: int, nanos: int) -> str:
    days, second = divmod(seconds, SECONDS_PER_DAY)
    year, month, day = times.date_from_days(days)
    date = times.date_text(abs(year), month, day)
    return f"{'-' if year < 0 else '+'}{date} {times.clock_text(second)}.{nanos:09}"


def from_texts(texts: pa.Array, zone: str | None) -> pa.StructArray:
    """The mirror of ``texts_of``; texts may have fewer digits, and a ``T`` behind the date.

    Raises ``pa.ArrowInvalid`` if a text is no time.
    """
    texts = texts.cast(pa.utf8())
    matches = pc.extract_regex(texts, _SHORT)
    is_far = pc.fill_null(pc.and_(matches.is_null(), texts.is_valid()), False)
    seconds, fraction, end = matches.flatten()
    _check_zone(end, zone)
    digits = pc.utf8_rpad(fraction, 9, "0")
    counts = seconds.cast(pa.timestamp("s")).view(pa.int64())
    nanos = digits.cast(pa.int64())
    if pc.any(is_far).as_py():
        far = [_of_far_text(text, zone) for text in texts.filter(is_far).to_pylist()]
        far_seconds, far_nanos = (pa.array(column, pa.int64()) for column in zip(*far, strict=True))
        counts = pc.replace_with_mask(counts, is_far, far_seconds)
        nanos = pc.replace_with_mask(nanos, is_far, far_nanos)
    return _made(counts, nanos, zone)


def _check_zone(zones: pa.Array, zone: str | None) -> None:
    wanted = "Z" if zone else ""
    if pc.any(pc.not_equal(zones.drop_null(), wanted)).as_py():
        expected = "Z behind it, for UTC" if zone else "no Z behind it: the time has no zone"
        raise pa.ArrowInvalid(f"a time with nanoseconds, expected {expected}")


def _of_far_text(text: str, zone: str | None) -> tuple[int, int]:
    """Seconds and nanoseconds; the text does not have a year of 0 to 9999."""
    match = _LONG.fullmatch(text)
    if match is None:
        example = f"2026-01-31 12:00:00.000000001{'Z' if zone else ''}"
        raise pa.ArrowInvalid(f"{text!r} is no time such as {example}")
    *numbers, digits, end = match.groups()
    year, month, day, hour, minute, second = map(int, numbers)
    _check_zone(pa.array([end]), zone)
    try:
        days = times.days_from_date(year, month, day)
    except ValueError as error:
        raise pa.ArrowInvalid(f"{text!r}: {error}") from error
    if hour > 23 or minute > 59 or second > 59:
        raise pa.ArrowInvalid(f"{text!r} is no time of a day")
    return days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second, int(f"{digits or 0:0<9}")


def as_precise(values: pa.Array, wanted: pa.DataType) -> pa.StructArray:
    """Timestamps, dates, texts, or structs of seconds and nanoseconds, as precise times.

    Raises ``pa.ArrowInvalid`` if a text is no time, or nanoseconds are not below a second.
    """
    zone = zone_of(wanted)
    if values.type == wanted:
        return values
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), wanted)
    if pa.types.is_timestamp(values.type):
        return precise_times(values.cast(pa.timestamp(values.type.unit, zone)))
    if pa.types.is_struct(values.type):
        return _of_struct(values, zone)
    if pa.types.is_date(values.type):
        return precise_times(values.cast(pa.timestamp("s")).cast(pa.timestamp("s", zone)))
    return from_texts(values, zone)


def _of_struct(values: pa.StructArray, zone: str | None) -> pa.StructArray:
    if sorted(field.name for field in values.type) != sorted((SECONDS, NANOS)):
        raise pa.ArrowInvalid(f"a {values.type}, expected a struct of {SECONDS} and {NANOS}")
    seconds, nanos = (
        values.flatten()[values.type.get_field_index(name)] for name in (SECONDS, NANOS)
    )
    if pa.types.is_timestamp(seconds.type):
        # Python's datetime has microseconds, which must not count as seconds.
        seconds = seconds.cast(pa.timestamp("s", seconds.type.tz))
    is_wrong = pc.or_(pc.less(nanos, 0), pc.greater_equal(nanos, NANOS_PER_SECOND))
    is_half = pc.and_(values.is_valid(), pc.or_(seconds.is_null(), nanos.is_null()))
    if pc.any(is_wrong).as_py() or pc.any(is_half).as_py():
        raise pa.ArrowInvalid("a time whose seconds are null, or its nanoseconds none of a second")
    return _made(seconds, nanos, zone)


def times_of_day(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Texts such as ``01:02:03.000000004`` as times of day; seconds are optional, as in Java.

    Raises ``pa.ArrowInvalid`` if a text is no time.
    """
    whole = pc.replace_substring_regex(texts, r"^(\d\d:\d\d)$", r"\1:00")
    is_time = pc.match_substring_regex(whole, r"^\d\d:\d\d:\d\d(\.\d{1,9})?$")
    if not pc.all(pc.fill_null(is_time, True)).as_py():
        wrong = texts.filter(pc.fill_null(pc.invert(is_time), False))[0].as_py()
        raise pa.ArrowInvalid(f"{wrong!r} is no time of day such as 01:02:03.000000004")
    moments = from_texts(pc.binary_join_element_wise("1970-01-01 ", whole, ""), None)
    counts = timestamps_of(moments, "ns")[0].view(pa.int64())
    return counts.view(pa.time64("ns")).cast(wanted)


def mapped(data_type: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type, with ``leaf`` applied to all types inside; a precise time counts as a leaf."""

    def inner(field: pa.Field) -> pa.Field:
        return field.with_type(mapped(field.type, leaf))

    if is_precise(data_type):
        return leaf(data_type)
    if pa.types.is_list(data_type):
        return pa.list_(inner(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(inner(data_type.key_field).type, inner(data_type.item_field))
    if pa.types.is_struct(data_type):
        return pa.struct([inner(field) for field in data_type])
    return leaf(data_type)
