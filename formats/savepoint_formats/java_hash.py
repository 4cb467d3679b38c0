"""The hash codes that Java gives to keys, which decide on their key groups.

All sums and products wrap to 32 bits; fold(x) is the low half of a long, xor its high half.

| layout                                | hash code                                              |
|---------------------------------------|--------------------------------------------------------|
| Byte, Short, Int, Char                | the number                                             |
| Boolean                               | true 1231, false 1237                                  |
| Long                                  | fold                                                   |
| Float, Double                         | the IEEE bits, with one NaN; of a double their fold    |
| Text, MutableText, JavaUtf            | 31-chain of the UTF-16 units, from 0                   |
| BigInteger                            | 31-chain of the 32-bit words, from 0, times the sign   |
| BigDecimal, DecimalData               | 31 x (hash of the unscaled number) + scale             |
| JavaDate, SqlTimestamp                | fold of the milliseconds                               |
| Instant                               | fold of the seconds + 51 x nanoseconds                 |
| LocalDate                             | of year, month and day                                 |
| LocalTime                             | fold of the nanoseconds of the day                     |
| LocalDateTime                         | date xor time                                          |
| TimestampData                         | 31 x (fold of the milliseconds) + nanoseconds          |
| Struct f0, f1...: a tuple             | 31-chain of the fields from the first                  |
| Struct _1, _2...: a case class        | MurmurHash3 of the fields                              |
| Nullable, flag 1 = present: an Option | as a case class; None is the text "None"               |
| MaskedStruct: a Row                   | 31 x kind + deep 31-chain of the fields                |
| Tagged left, right: an Either         | that of the value                                      |
| Repeated: a list                      | 31-chain of the elements, from 1                       |
| MapOf                                 | sum of (key xor value)                                 |
| BinaryRow, BinaryArray, BinaryMap     | MurmurHash3 of the bytes                               |
| Utf8: StringData; Framed: RawValue    | MurmurHash3 of the bytes                               |
| Kryo of some classes of the JDK       | as above; UUID: fold of both halves' xor               |

The rest has hash codes of the user's making, or of none: enums and arrays differ in each JVM. A
layout does not tell ``LongValue`` from ``Long`` (43 more), nor ``DoubleValue`` (31 more) and
``BooleanValue`` (1 and 0), a Scala Either from a Java one, a Row of named fields from one of
positions, nor a class behind an ``ExternalSerializer`` from its row; where such keys can occur,
compare with the key groups of keys that the savepoint has.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from uuid import UUID

from savepoint_formats import layout as layouts
from savepoint_formats.columns import moments, times, unbounded
from savepoint_formats.columns.arrow_types import ROW_KIND, ROW_KINDS
from savepoint_formats.columns.entries import pairs_of
from savepoint_formats.columns.scalars import canonical, unscaled_at
from savepoint_formats.columns.values import write_value
from savepoint_formats.data_view import DataOutputView, utf16_units
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.key_groups import finish, mix_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from savepoint_formats.columns.codec import Value
    from savepoint_formats.layout import Layout, LogicalType

_WORD = 0xFFFFFFFF
_LONG = 0xFFFFFFFFFFFFFFFF
_SIGN = 0x80000000

_TRUE, _FALSE = 1231, 1237
_NULL_VALUE = 53
_MURMUR_SEED = 42
_PRODUCT_SEED = 0xCAFEBABE
_YEAR_BITS = 0xFFFFF800

_PRIMITIVES = (
    layouts.Boolean,
    layouts.Byte,
    layouts.Short,
    layouts.Int,
    layouts.Long,
    layouts.Float,
    layouts.Double,
    layouts.Char,
)


def java_hash(layout: Layout, value: Value) -> int:  # noqa: PLR0912 - the table of layouts
    """The hash code of a key, in the form that ``columns.read_value`` gives.

    Raises:
        UnstableHashError: It does not depend on the value alone, or on code of the user.
    """
    rule = _RULES.get(type(layout))
    if rule is not None:
        return 0 if value is None else _signed(rule(value))
    match layout:
        case layouts.Marker(marker):
            # NullValue has no bytes; null and the empty tuple hash to 0.
            return _NULL_VALUE if marker is None else 0
        case layouts.Nullable(inner, is_null):
            return java_hash(inner, value) if is_null else _option_hash(inner, value)
        case layouts.Struct(names, fields):
            return _struct_hash(names, fields, value)
        case layouts.MaskedStruct():
            return _row_hash(layout, value)
        case layouts.Tagged(_, ("left", "right") as names, fields):
            index = 0 if value[names[0]] is not None else 1
            return java_hash(fields[index], value[names[index]])
        case layouts.Repeated(layouts.Nullable()):
            raise UnstableHashError("a list, a set or an array; their hash codes differ")
        case layouts.Repeated(element) | layouts.MaskedRepeated(element):
            return _signed(_chain((java_hash(element, one) for one in value), 1))
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
        case layouts.Kryo(class_name) if class_name in _KRYO_RULES:
            return 0 if value is None else java_hash(*_KRYO_RULES[class_name](value))
        case _:
            raise UnstableHashError(_reason(layout))


def bytes_hash(data: bytes) -> int:
    """The hash code of a binary row, given without the size in front of it.

    Flink: ``MurmurHashUtil.hashUnsafeBytes``.
    """
    state = _MURMUR_SEED
    words_end = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:words_end]):
        state = mix_word(state, word)
    for byte in data[words_end:]:
        state = mix_word(state, byte | 0xFFFFFF00 if byte > 127 else byte)
    return _signed(finish(state ^ len(data)))


def _reason(layout: Layout) -> str:
    match layout:
        case layouts.Enum(class_name):
            return f"{class_name} is an enum: its hash codes differ in each JVM"
        case layouts.Bytes() | layouts.FixedBytes():
            return "an array: its hash codes differ in each JVM"
        case layouts.Pojo(class_name) | layouts.Kryo(class_name) | layouts.Opaque(class_name):
            return f"{class_name} has a hash code of its own making"
        case _:
            return f"the hash code of {type(layout).__name__} is not known"


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


def _struct_hash(names: tuple[str, ...], fields: tuple[Layout, ...], value: Value) -> int:
    if names == tuple(f"f{index}" for index in range(len(names))):
        hashes = (java_hash(field, value[name]) for name, field in zip(names, fields, strict=True))
        # The first field is not multiplied by 31, so that it is the start of the chain.
        return _signed(_chain(hashes, 0))
    if names == tuple(f"_{index + 1}" for index in range(len(names))):
        return _product_hash(
            [_scala_hash(field, value[name]) for name, field in zip(names, fields, strict=True)]
        )
    raise UnstableHashError(f"a structure of {', '.join(names)} has a hash code of its own making")


def _row_hash(row: layouts.MaskedStruct, value: dict[str, Value]) -> int:
    kind = ROW_KINDS.index(value.get(ROW_KIND) or ROW_KINDS[0])
    fields = zip(row.names, row.fields, strict=True)
    return _signed(31 * kind + _chain((_deep_hash(one, value[name]) for name, one in fields), 1))


def _deep_hash(layout: Layout, value: Value) -> int:
    """The part of a Row's hash code that a field has.

    Flink: ``RowUtils.deepHashCodeInternal``.
    """
    if value is None:
        return 0
    match layout:
        case layouts.Nullable(inner, is_null) if is_null:
            return _deep_hash(inner, value)
        case layouts.Bytes():
            return 31 + _chain((byte - 256 if byte > 127 else byte for byte in value), 1)
        case layouts.Repeated(element) if isinstance(element, _PRIMITIVES):
            raise UnstableHashError("a list or an array inside a row; their hash codes differ")
        case layouts.Repeated(layouts.Nullable(_, True)):
            raise UnstableHashError("a list or a set inside a row; their hash codes differ")
        case layouts.Repeated(layouts.Nullable(element, False)) | layouts.Repeated(element):
            return _chain((_deep_hash(element, one) for one in value), 1)
        case layouts.MapOf(key, item):
            pairs = pairs_of(value)
            return 1 + sum(_deep_hash(key, k) ^ _deep_hash(item, v) for k, v in pairs)
        case _:
            return 31 + java_hash(layout, value)


def _option_hash(inner: Layout, value: Value) -> int:
    return (
        _signed(_text_hash("None")) if value is None else _product_hash([_scala_hash(inner, value)])
    )


def _product_hash(field_hashes: list[int]) -> int:
    """Scala's ``MurmurHash3.productHash``, which case classes and tuples have."""
    state = _PRODUCT_SEED
    for one in field_hashes:
        state = mix_word(state, one & _WORD)
    return _signed(finish(state ^ len(field_hashes)))


def _scala_hash(layout: Layout, value: Value) -> int:
    """Scala's ``##``, which is the same for equal numbers of different types."""
    match layout:
        case layouts.Long() if -_SIGN <= value < _SIGN:
            return int(value)
        case layouts.Float() | layouts.Double():
            raise UnstableHashError("a case class with a float or a double")
        case _:
            return java_hash(layout, value)


# --- SQL --------------------------------------------------------------------------------------


def _content(layout: Layout, value: Value) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


def _check_nulls(types: Iterable[LogicalType], values: Iterable[Value]) -> None:
    for one, value in zip(types, values, strict=True):
        is_decimal = one.root == "DECIMAL" and one.precision > 18
        is_timestamp = one.root.startswith("TIMESTAMP") and one.precision > 3
        if value is None and (is_decimal or is_timestamp):
            raise UnstableHashError(
                f"a null {one.root}: its bytes depend on the code that wrote it"
            )
        if value is not None and one.root in ("ROW", "STRUCTURED_TYPE"):
            _check_nulls(one.children, [value[name] for name in one.names])


# --- tables -----------------------------------------------------------------------------------

_RULES: dict[type[Layout], Callable[[Value], int]] = {
    layouts.Boolean: lambda value: _TRUE if value else _FALSE,
    layouts.Byte: int,
    layouts.Short: int,
    layouts.Int: int,
    layouts.Char: ord,
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


def _plain(layout: Layout) -> Callable[[Value], tuple[Layout, Value]]:
    return lambda value: (layout, value)


def _of_uuid(value: str) -> tuple[Layout, Value]:
    number = UUID(value).int
    return layouts.Long(), number >> 64 ^ number & _LONG


def _of_duration(value: Value) -> tuple[Layout, Value]:
    return layouts.Instant(), times.from_duration(value, "ns")


_KRYO_RULES: dict[str, Callable[[Value], tuple[Layout, Value]]] = {
    "java.lang.Boolean": _plain(layouts.Boolean()),
    "java.lang.Byte": _plain(layouts.Byte()),
    "java.lang.Short": _plain(layouts.Short()),
    "java.lang.Integer": _plain(layouts.Int()),
    "java.lang.Long": _plain(layouts.Long()),
    "java.lang.Float": _plain(layouts.Float()),
    "java.lang.Double": _plain(layouts.Double()),
    "java.lang.Character": _plain(layouts.Char()),
    "java.lang.String": _plain(layouts.Text()),
    "java.util.UUID": _of_uuid,
    "java.time.Instant": _plain(layouts.Instant()),
    "java.time.Duration": _of_duration,
    "java.time.LocalDate": _plain(layouts.LocalDate()),
    "java.time.LocalTime": _plain(layouts.LocalTime()),
    "java.time.LocalDateTime": _plain(layouts.LocalDateTime()),
}
