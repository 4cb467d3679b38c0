"""Java's hash codes value by value, by which tests judge those of columns."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from uuid import UUID

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView, utf16_units
from savepoint_formats.hashing.key_hash import (
    KRYO_LAYOUTS,
    NONE_HASH,
    NULL_VALUE,
    PRODUCT_SEED,
    is_case_class,
    is_tuple,
)
from savepoint_formats.hashing.unstable_hashes import (
    check_field_of_case_class,
    check_field_of_row,
    check_null,
    half_a_pair,
    unstable,
)
from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS
from savepoint_formats.values.kinds import moments, times, unbounded
from savepoint_formats.values.kinds.codec import pairs_of
from savepoint_formats.values.kinds.scalars import canonical, unscaled_at
from savepoint_formats.values.value_writer import write_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.layout import Layout, LogicalType
    from savepoint_formats.values.kinds.codec import Value

_WORD = 0xFFFFFFFF
_LONG = 0xFFFFFFFFFFFFFFFF
_SIGN = 0x80000000

_TRUE, _FALSE = 1231, 1237
_SIDES = ("Left", "Right")
_NULLS = (layouts.Marker, layouts.Nullable, layouts.OfScala)
_MURMUR_SEED = 42
_YEAR_BITS = 0xFFFFF800


def java_hash(layout: Layout, value: Value) -> int:  # noqa: PLR0912 - the table of layouts
    """The hash code of a key that ``values.read_value`` gives.

    Raises:
        UnstableHashError: The hash code depends on more than the value, or on code of the user.
    """
    if value is None and not isinstance(layout, _NULLS):
        return 0
    rule = _RULES.get(type(layout))
    if rule is not None:
        return _signed(rule(value))
    match layout:
        case layouts.Marker(_, str()) if value is None:
            return 0
        case layouts.Marker(marker, None):
            # NullValue has no bytes; null and the empty tuple hash to 0.
            return NULL_VALUE if marker is None else 0
        case layouts.Nullable(inner, is_null):
            return java_hash(inner, value) if is_null else _option_hash(inner, value)
        case layouts.Struct(names) if is_tuple(names):
            # The first field is not multiplied by 31, so that it is the start of the chain.
            return _signed(_chain((java_hash(*field) for field in _fields(layout, value)), 0))
        case layouts.Struct(names) if is_case_class(names):
            return _product_hash([_scala_hash(*field) for field in _fields(layout, value)])
        case layouts.CaseClass(class_name):
            fields = [_scala_hash(*field) for field in _fields(layout, value)]
            return _product_hash(fields, product_start(class_name))
        case layouts.OfScala(layouts.Marker(_, "()")):
            return 0
        case layouts.OfScala(layouts.Nullable(inner, False)):
            return _option_hash(inner, value, product_start("Some"))
        case layouts.OfScala(layouts.Tagged(_, names, fields)):
            index = 0 if value[names[0]] is not None else 1
            code = _scala_hash(fields[index], value[names[index]])
            return _product_hash([code], product_start(_SIDES[index]))
        case layouts.ScalaValue("Uuid"):
            return java_hash(layouts.Kryo("java.util.UUID"), value)
        case layouts.MaskedStruct():
            return _row_hash(layout, value)
        case layouts.Tagged(_, ("left", "right") as names, fields):
            index = 0 if value[names[0]] is not None else 1
            return java_hash(fields[index], value[names[index]])
        case layouts.Repeated(_, True) | layouts.Repeated(layouts.Nullable()):
            raise unstable(layout)
        case layouts.Repeated(element) | layouts.MaskedRepeated(element):
            return _signed(_chain((java_hash(element, part) for part in value), 1))
        case layouts.MapOf(key, item):
            pairs = pairs_of(value)
            return _signed(sum(java_hash(key, k) ^ java_hash(item, v) for k, v in pairs))
        case layouts.DecimalData(precision, scale):
            unscaled = unscaled_at(value, precision, scale)
            return _signed(31 * _big_integer_hash(unscaled) + scale)
        case layouts.TimestampData(precision):
            millis, nanos = moments.millis_and_nanos(value, precision)
            return _signed(31 * _fold(millis) + nanos)
        case layouts.BinaryRow(_, types):
            _check_nulls(types, [value[name] for name in layout.names])
            return bytes_hash(_content(layout, value))
        case layouts.BinaryArray() | layouts.BinaryMap():
            return bytes_hash(_content(layout, value))
        case layouts.Framed(layouts.BinaryRow() as inner):
            return java_hash(inner, value)
        case layouts.Framed(inner):
            return bytes_hash(_content(inner, value))
        case layouts.Kryo(class_name) if class_name in KRYO_LAYOUTS:
            return java_hash(KRYO_LAYOUTS[class_name], value)
        case layouts.Kryo("java.util.UUID"):
            number = UUID(value).int
            return _signed(_fold(number >> 64 ^ number))
        case layouts.Kryo("java.time.Duration"):
            return _signed(_seconds_hash(times.from_duration(value, "ns")))
        case _:
            raise unstable(layout)


def bytes_hash(data: bytes) -> int:
    """The hash code of a binary row without the size in front.

    Flink: ``MurmurHashUtil.hashUnsafeBytes``.
    """
    state = _MURMUR_SEED
    words_end = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:words_end]):
        state = mix_word(state, word)
    for byte in data[words_end:]:
        state = mix_word(state, byte | 0xFFFFFF00 if byte > 127 else byte)
    return _signed(finish(state ^ len(data)))


# --- numbers and texts ------------------------------------------------------------------------


def _signed(number: int) -> int:
    number &= _WORD
    return number - (_WORD + 1) if number & _SIGN else number


def _fold(number: int) -> int:
    number &= _LONG
    return (number ^ number >> 32) & _WORD


def _chain(numbers: Iterable[int], start: int) -> int:
    state = start
    for number in numbers:
        state = (31 * state + number) & _WORD
    return state


def _float_hash(value: float) -> int:
    (bits,) = struct.unpack(">i", struct.pack(">f", canonical(value)))
    return int(bits)


def _double_hash(value: float) -> int:
    (bits,) = struct.unpack(">q", struct.pack(">d", canonical(value)))
    return _fold(bits)


def _text_hash(value: str) -> int:
    if "\ufffd\\u" in value:
        raise half_a_pair()
    return _chain(utf16_units(value), 0)


def _big_integer_hash(value: str | int) -> int:
    number = unbounded.from_integer_text(value)
    magnitude = abs(number)
    data = magnitude.to_bytes((magnitude.bit_length() + 31) // 32 * 4, "big")
    chain = _chain((word for (word,) in struct.iter_unpack(">I", data)), 0)
    return -chain if number < 0 else chain


def _big_decimal_hash(value: Value) -> int:
    unscaled, scale = unbounded.unscaled_and_scale(value)
    return 31 * _big_integer_hash(unscaled) + scale


# --- times ------------------------------------------------------------------------------------


def _millis_hash(value: Value) -> int:
    return _fold(times.from_timestamp(value, "ms"))


def _sql_timestamp_hash(value: Value) -> int:
    return _fold(times.from_timestamp(value, "ns") // 1_000_000)


def _seconds_hash(total_nanos: int) -> int:
    seconds, nanos = divmod(total_nanos, times.NANOS_PER_SECOND)
    return _fold(seconds) + 51 * nanos


def _instant_hash(value: Value) -> int:
    return _seconds_hash(times.from_timestamp(value, "ns"))


def _days_hash(days: int) -> int:
    year, month, day = times.date_from_days(days)
    return (year & _YEAR_BITS) ^ ((year << 11) + (month << 6) + day)


def _date_hash(value: Value) -> int:
    return _days_hash(times.from_date(value))


def _time_hash(value: Value) -> int:
    return _fold(times.from_time(value, "ns"))


def _date_time_hash(value: Value) -> int:
    days, nanos_of_day = divmod(times.from_timestamp(value, "ns"), times.NANOS_PER_DAY)
    return _days_hash(days) ^ _fold(nanos_of_day)


# --- composites -------------------------------------------------------------------------------


def _fields(
    layout: layouts.Struct | layouts.MaskedStruct | layouts.CaseClass, value: dict[str, Value]
) -> Iterator[tuple[Layout, Value]]:
    for name, field in zip(layout.names, layout.fields, strict=True):
        yield field, value[name]


def _row_hash(row: layouts.MaskedStruct, value: dict[str, Value]) -> int:
    kind = ROW_KINDS.index(value.get(ROW_KIND) or ROW_KINDS[0])
    return _signed(31 * kind + _chain((_deep_hash(*field) for field in _fields(row, value)), 1))


def _deep_hash(layout: Layout, value: Value) -> int:
    """A field's contribution to a Row's hash code.

    Flink: ``RowUtils.deepHashCodeInternal``.
    """
    if value is None:
        return 0
    check_field_of_row(layout)
    match layout:
        case layouts.Nullable(inner, is_null) if is_null:
            return _deep_hash(inner, value)
        case layouts.Bytes():
            return 31 + _chain((byte - 256 if byte > 127 else byte for byte in value), 1)
        case layouts.Repeated(layouts.Nullable(element, False)) | layouts.Repeated(element):
            return _chain((_deep_hash(element, part) for part in value), 1)
        case layouts.MapOf(key, item):
            pairs = pairs_of(value)
            return 1 + sum(_deep_hash(key, k) ^ _deep_hash(item, v) for k, v in pairs)
        case _:
            return 31 + java_hash(layout, value)


def product_start(class_name: str) -> int:
    return mix_word(PRODUCT_SEED, _text_hash(class_name.replace("$", ".").rpartition(".")[2]))


def _option_hash(inner: Layout, value: Value, start: int = PRODUCT_SEED) -> int:
    return NONE_HASH if value is None else _product_hash([_scala_hash(inner, value)], start)


def _product_hash(field_hashes: list[int], start: int = PRODUCT_SEED) -> int:
    """Scala's ``MurmurHash3.productHash``, which case classes and tuples have."""
    state = start
    for code in field_hashes:
        state = mix_word(state, code & _WORD)
    return _signed(finish(state ^ len(field_hashes)))


def _scala_hash(layout: Layout, value: Value) -> int:
    """Scala's ``##``, which is the same for equal numbers of different types."""
    if value is not None:
        check_field_of_case_class(layout)
        if isinstance(layout, layouts.Long) and -_SIGN <= value < _SIGN:
            return int(value)
    return java_hash(layout, value)


# --- SQL --------------------------------------------------------------------------------------


def _content(layout: Layout, value: Value) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


def _check_nulls(types: Iterable[LogicalType], values: Iterable[Value]) -> None:
    for sql_type, value in zip(types, values, strict=True):
        if value is None:
            check_null(sql_type)
        elif sql_type.root in ("ROW", "STRUCTURED_TYPE"):
            _check_nulls(sql_type.children, [value[name] for name in sql_type.names])


# --- tables -----------------------------------------------------------------------------------

_RULES: dict[type[Layout], Callable[[Value], int]] = {
    layouts.Boolean: lambda value: _TRUE if value else _FALSE,
    layouts.Byte: int,
    layouts.Short: int,
    layouts.Int: int,
    layouts.Char: _text_hash,
    layouts.Long: _fold,
    layouts.Float: _float_hash,
    layouts.Double: _double_hash,
    layouts.Text: _text_hash,
    layouts.MutableText: _text_hash,
    layouts.JavaUtf: _text_hash,
    layouts.BigInteger: _big_integer_hash,
    layouts.BigDecimal: _big_decimal_hash,
    layouts.JavaDate: _millis_hash,
    layouts.SqlTimestamp: _sql_timestamp_hash,
    layouts.Instant: _instant_hash,
    layouts.LocalDate: _date_hash,
    layouts.LocalTime: _time_hash,
    layouts.LocalDateTime: _date_time_hash,
    layouts.Utf8: lambda value: bytes_hash(value.encode("utf-8")),
}


# --- MurmurHash3 ------------------------------------------------------------------------------


def murmur(java_hash: int) -> int:
    """The hash code, mixed by Flink's ``MathUtils.murmurHash``: 0 to 2^31 - 1."""
    mixed = mix_word(0, java_hash & _WORD) ^ 4
    mixed = finish(mixed)
    if mixed & _SIGN:
        # The smallest number has no absolute value in Java.
        return 0 if mixed == _SIGN else (_WORD + 1) - mixed
    return mixed


def mix_word(state: int, word: int) -> int:
    """A round of MurmurHash3 of 32 bits: ``state`` after one more word."""
    word = word * 0xCC9E2D51 & _WORD
    word = (word << 15 | word >> 17) & _WORD
    state ^= word * 0x1B873593 & _WORD
    state = (state << 13 | state >> 19) & _WORD
    return (state * 5 + 0xE6546B64) & _WORD


def finish(state: int) -> int:
    """The last step of MurmurHash3 of 32 bits, after the length was mixed in."""
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16
