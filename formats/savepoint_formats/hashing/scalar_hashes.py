"""Hash codes of columns of single values: numbers, texts, times.

Each function applies a rule of ``key_hash`` to a column without nulls.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from savepoint_formats import layout as layouts
from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.hashing.unstable_hashes import half_a_pair
from savepoint_formats.program.kernel import REFUSED, HashJob, hash_bytes, hash_lists, hash_texts
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kinds import times, unbounded
from savepoint_formats.values.kinds.precise_times import is_precise
from savepoint_formats.values.kinds.texts import rows_of_halves

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout

    Hashes = NDArray[np.int32]
    Entry = Callable[[HashJob], tuple[int, int]]
    Longs = NDArray[np.int64]
    Rule = Callable[[Layout, pa.Array], Hashes]


_MURMUR_SEED = 42
_FRAME_SIZE = 4


def text_hashes(texts: pa.Array) -> Hashes:
    """Hash codes of Java's strings. Raises ``ValueError`` if a text is not in UTF-8."""
    return _of_items(hash_texts, texts.cast(pa.large_utf8()))


def bytes_hashes(items: pa.Array) -> Hashes:
    """Hash codes of binary rows without the size in front."""
    return _of_items(hash_bytes, items.cast(pa.large_binary()), start=_MURMUR_SEED)


def framed_hashes(items: pa.Array) -> Hashes:
    """Hash codes of binary rows as serializers write them: i32 size, then the row.

    Raises ``ValueError`` if a row is null or has no size in front.
    """
    framed = items.cast(pa.large_binary())
    return _of_items(hash_bytes, framed, start=_MURMUR_SEED, skip=_FRAME_SIZE)


def list_hashes(elements: Hashes, sizes: NDArray[np.int64], start: int = 1) -> Hashes:
    """The 31-chains of lists, given the hash codes of all elements and the lengths of the lists.

    ``start`` is the hash code of an empty list.
    """
    elements = np.ascontiguousarray(elements, np.int32)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return _run(hash_lists, elements.ctypes.data, len(elements), offsets, start=start)


def _of_items(entry: Entry, items: pa.Array, start: int = 0, skip: int = 0) -> Hashes:
    _, offsets, data = items.buffers()
    offsets_of_items = np.frombuffer(offsets, np.int64)[
        items.offset : items.offset + len(items) + 1
    ]
    if items.null_count and skip:
        raise ValueError(f"{items.null_count} nulls among serialized keys")
    address, size = (0, 0) if data is None else (data.address, data.size)
    return _run(entry, address, size, offsets_of_items, start=start, skip=skip)


def _run(
    entry: Entry, address: int, size: int, offsets: NDArray[np.int64], *, start: int, skip: int = 0
) -> Hashes:
    hashes = np.empty(len(offsets) - 1, np.int32)
    job = HashJob(
        data=address,
        size=size,
        offsets=offsets.ctypes.data,
        skip=skip,
        start=start,
        total=len(hashes),
        hashes=hashes.ctypes.data,
    )
    status, item = entry(job)
    if status == REFUSED:
        raise ValueError(f"item {item} is damaged: bytes {offsets[item]} to {offsets[item + 1]}")
    return hashes


_TRUE, _FALSE = np.int32(1231), np.int32(1237)
_YEAR_BITS = np.int64(0xFFFFF800)


def scalar_hashes(layout: Layout, column: pa.Array) -> Hashes:
    """The hash codes of a column with a layout of ``SCALAR_HASHES``.

    Raises ``ColumnTypeError`` if the column has another type than the layout.
    """
    expected = arrow_type(layout)
    is_large = column.type == pa.large_utf8() and expected == pa.utf8()
    if column.type != expected and not is_large:
        raise ColumnTypeError(f"keys of type {column.type}, expected {expected}")
    return SCALAR_HASHES[type(layout)](layout, column)


def fold(numbers: Longs) -> Hashes:
    """The low half of each long, xor its high half."""
    return (numbers ^ numbers >> 32).astype(np.int32)


def _numbers(column: pa.Array) -> Longs:
    """The integers in Arrow's buffer."""
    integers = column.view(pa.int64() if column.type.bit_width == 64 else pa.int32())
    return _values(integers).astype(np.int64, copy=False)


def _values(column: pa.Array) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _integers(_: Layout, column: pa.Array) -> Hashes:
    return _values(column).astype(np.int32)


def _longs(_: Layout, column: pa.Array) -> Hashes:
    return fold(_values(column))


def _booleans(_: Layout, column: pa.Array) -> Hashes:
    return np.where(_values(column), _TRUE, _FALSE)


def _floats(_: Layout, column: pa.Array) -> Hashes:
    return _canonical(column, np.float32).view(np.int32)


def _doubles(_: Layout, column: pa.Array) -> Hashes:
    return fold(_canonical(column, np.float64).view(np.int64))


def _canonical(column: pa.Array, kind: type[np.floating]) -> NDArray[np.floating]:
    """The numbers with Java's only NaN."""
    values = _values(column)
    return np.where(np.isnan(values), kind(np.nan), values)


def _texts(_: Layout, column: pa.Array) -> Hashes:
    if len(rows_of_halves(column)):
        raise half_a_pair()
    return text_hashes(column)


def _utf8(_: Layout, column: pa.Array) -> Hashes:
    return bytes_hashes(column.cast(pa.large_utf8()))


def _big_integer_hash(value: str | int) -> int:
    number = unbounded.from_integer_text(value)
    magnitude, state = abs(number), 0
    data = magnitude.to_bytes((magnitude.bit_length() + 31) // 32 * 4, "big")
    for (word,) in struct.iter_unpack(">I", data):
        state = 31 * state + word
    return -state if number < 0 else state


def _big_integers(_: Layout, column: pa.Array) -> Hashes:
    return _one_by_one(_big_integer_hash, column)


def _big_decimals(_: Layout, column: pa.Array) -> Hashes:
    def hash_of(value: str) -> int:
        unscaled, scale = unbounded.unscaled_and_scale(value)
        return 31 * _big_integer_hash(unscaled) + scale

    return _one_by_one(hash_of, column)


def uuid_hashes(column: pa.Array) -> Hashes:
    """Hash codes of UUIDs, given their texts."""

    def hash_of(value: str) -> int:
        number = UUID(value).int
        folded = number >> 64 ^ number
        return folded >> 32 ^ folded

    return _one_by_one(hash_of, column)


def _one_by_one(hash_of: Callable[[Any], int], column: pa.Array) -> Hashes:
    words = (hash_of(value) & 0xFFFFFFFF for value in column.to_pylist())
    return np.fromiter(words, np.uint32, len(column)).view(np.int32)


# --- times ------------------------------------------------------------------------------------


def _millis(_: Layout, column: pa.Array) -> Hashes:
    return fold(_numbers(column))


def _sql_timestamps(_: Layout, column: pa.Array) -> Hashes:
    return fold(_millis_and_nanos(column)[0])


def _seconds_and_nanos(column: pa.StructArray) -> tuple[Longs, Longs]:
    seconds, nanos = map(_numbers, column.flatten())
    return seconds, nanos


def _millis_and_nanos(column: pa.StructArray) -> tuple[Longs, Longs]:
    """The milliseconds of precise times, and the nanoseconds of the last millisecond."""
    seconds, nanos = _seconds_and_nanos(column)
    return seconds * 1_000 + nanos // 1_000_000, nanos % 1_000_000


def _instants(_: Layout, column: pa.Array) -> Hashes:
    seconds, nanos = _seconds_and_nanos(column)
    return fold(seconds) + 51 * nanos.astype(np.int32)


def _dates(_: Layout, column: pa.Array) -> Hashes:
    return _days_hashes(_numbers(column))


def _times(_: Layout, column: pa.Array) -> Hashes:
    return fold(_numbers(column))


def _date_times(_: Layout, column: pa.Array) -> Hashes:
    seconds, nanos = _seconds_and_nanos(column)
    days, seconds_of_day = np.divmod(seconds, times.SECONDS_PER_DAY)
    nanos_of_day = seconds_of_day * times.NANOS_PER_SECOND + nanos
    return _days_hashes(days) ^ fold(nanos_of_day)


def _days_hashes(days: Longs) -> Hashes:
    dates = days.astype("M8[D]")
    first_days = dates.astype("M8[M]")
    months = first_days.astype(np.int64) + 12 * 1970
    years, days_of_month = months // 12, (dates - first_days).astype(np.int64) + 1
    sums = (years << 11) + (months % 12 + 1 << 6) + days_of_month
    hashes: Hashes = ((years & _YEAR_BITS) ^ sums).astype(np.int32)
    return hashes


# --- SQL --------------------------------------------------------------------------------------


def _timestamp_data(_: Layout, column: pa.Array) -> Hashes:
    if is_precise(column.type):
        millis, nanos = _millis_and_nanos(column)
        return 31 * fold(millis) + nanos.astype(np.int32)
    per_milli = times.PER_SECOND[column.type.unit] // 1_000
    millis, rest = np.divmod(_numbers(column), per_milli)
    return 31 * fold(millis) + rest.astype(np.int32) * np.int32(1_000_000 // per_milli)


def _decimals(_: Layout, column: pa.Array) -> Hashes:
    count, end = len(column), column.offset + len(column)
    # Four words each, the lowest first.
    words = np.frombuffer(column.buffers()[1], np.uint32, 4 * end).reshape(-1, 4)[-count:]
    is_negative = words[:, 3] >> 31 == 1
    hashes, carry = np.zeros(count, np.uint32), np.ones(count, np.uint32)
    for place in range(4):
        negated = ~words[:, place] + carry
        carry = carry & (negated == 0)
        magnitude = np.where(is_negative, negated, words[:, place])
        hashes += magnitude * np.uint32(31**place)
    signed = hashes.view(np.int32)
    return 31 * np.where(is_negative, -signed, signed) + np.int32(column.type.scale)


SCALAR_HASHES: dict[type[Layout], Rule] = {
    layouts.Boolean: _booleans,
    layouts.Byte: _integers,
    layouts.Short: _integers,
    layouts.Int: _integers,
    layouts.Long: _longs,
    layouts.Float: _floats,
    layouts.Double: _doubles,
    layouts.Char: _texts,
    layouts.Text: _texts,
    layouts.MutableText: _texts,
    layouts.JavaUtf: _texts,
    layouts.BigInteger: _big_integers,
    layouts.BigDecimal: _big_decimals,
    layouts.DecimalData: _decimals,
    layouts.JavaDate: _millis,
    layouts.SqlTimestamp: _sql_timestamps,
    layouts.Instant: _instants,
    layouts.LocalDate: _dates,
    layouts.LocalTime: _times,
    layouts.LocalDateTime: _date_times,
    layouts.TimestampData: _timestamp_data,
    layouts.Utf8: _utf8,
}
