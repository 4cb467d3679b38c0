"""How the bytes of a value lie: the treaty between serializer snapshots and columns.

A snapshot (which knows Java) returns a layout; the columns (which know Arrow) read and write by
it. Neither knows the other. A layout is a frozen tree of the nodes below: hashable, comparable
and small to pickle. All numbers are big endian, but for the content of binary rows.

Nullness is a node of its own (``Nullable``) wherever it is a flag in front of the value; nodes
that carry a null inside their own encoding say so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Iterator

NodeT = TypeVar("NodeT")


@dataclass_transform(frozen_default=True)
def node(cls: type[NodeT]) -> type[NodeT]:
    """A frozen dataclass with slots; type checkers look through no other alias of it."""
    return dataclass(frozen=True, slots=True)(cls)


class Layout:
    """A node of the tree."""

    __slots__ = ()


# --- scalars of one size ----------------------------------------------------------------------


@node
class Boolean(Layout):
    """One byte; anything but 0 is true."""


@node
class Byte(Layout):
    """i8."""


@node
class Short(Layout):
    """i16."""


@node
class Int(Layout):
    """i32."""


@node
class Long(Layout):
    """i64."""


@node
class Float(Layout):
    """IEEE single."""


@node
class Double(Layout):
    """IEEE double."""


@node
class Char(Layout):
    """u16, a UTF-16 code unit."""


@node
class Enum(Layout):
    """i32; the constant's number. Without ``numbers`` it is the index in ``constants``."""

    class_name: str
    constants: tuple[str, ...]
    numbers: tuple[int, ...] = ()


@node
class JavaDate(Layout):
    """i64, milliseconds since the epoch; the smallest i64 is null."""


@node
class SqlTimestamp(Layout):
    """i64 milliseconds, i32 nanoseconds of the second; null is (smallest i64, 0)."""


@node
class Instant(Layout):
    """i64 seconds since the epoch, i32 nanoseconds; null is the smallest of both."""


@node
class LocalDate(Layout):
    """i32 year, i8 month, i8 day; null is (smallest i32, smallest i16)."""


@node
class LocalTime(Layout):
    """i8 hour, i8 minute, i8 second, i32 nanoseconds; null is (smallest i8, i16, i32)."""


@node
class LocalDateTime(Layout):
    """A ``LocalDate`` and a ``LocalTime``; both are null, or neither."""


@node
class TimerTimestamp(Layout):
    """i64 with its sign bit flipped, so that bytes sort as times do."""


@node
class TimestampData(Layout):
    """i64 milliseconds, then i32 nanoseconds of the millisecond if ``precision`` > 3."""

    precision: int


@node
class FixedBytes(Layout):
    """``size`` raw bytes."""

    size: int


@node
class Marker(Layout):
    """A value without content: the byte ``value``, or no byte at all. Always null."""

    value: int | None = 0


@node
class VoidNamespace(Layout):
    """One byte 0, although its serializer claims a length of 0."""


# --- scalars of any size ----------------------------------------------------------------------


@node
class Text(Layout):
    """varint of the UTF-16 code units + 1 (0 = null), then a varint per unit."""


@node
class MutableText(Layout):
    """varint of the UTF-16 code units, then a varint per unit."""


@node
class JavaUtf(Layout):
    """u16 size, modified UTF-8."""


@node
class Utf8(Layout):
    """i32 size, UTF-8."""


@node
class Bytes(Layout):
    """i32 size, raw bytes."""


@node
class BigInteger(Layout):
    """i32: 0 null, 1 to 3 the constants 0, 1, 10; else size + 4, then two's complement."""


@node
class BigDecimal(Layout):
    """A ``BigInteger``, the unscaled value, then i32 scale unless it is null."""


@node
class DecimalData(Layout):
    """Unscaled value: i64 if ``precision`` <= 18, else i32 size and two's complement."""

    precision: int
    scale: int


@node
class Variant(Layout):
    """i32 value size, i32 metadata size, value, metadata; open variant encoding, version 1."""


# --- composites -------------------------------------------------------------------------------


@node
class Nullable(Layout):
    """A flag byte, then the value if there is one.

    ``is_null`` is what a flag of 1 says: null, or present. A null is followed by
    ``padding`` zero bytes.
    """

    inner: Layout
    is_null: bool = True
    padding: int = 0


@node
class Repeated(Layout):
    """i32 count, then the elements."""

    element: Layout


@node
class MaskedRepeated(Layout):
    """i32 count, a null bit per element (first = highest bit), then the elements not null."""

    element: Layout


@node
class PackedTexts(Layout):
    """i32 count, i32 size of the rest, then each text as ``MutableText``."""


@node
class NullCount(Layout):
    """i32 count of nulls, and nothing else."""


@node
class MapOf(Layout):
    """i32 count, then key and value of each entry, in the order of the Java map."""

    key: Layout
    value: Layout


@node
class Struct(Layout):
    """The fields, one behind the other."""

    names: tuple[str, ...]
    fields: tuple[Layout, ...]


@node
class MaskedStruct(Layout):
    """Mask bits, first = highest, in whole bytes; then the fields that are not null.

    With ``has_kind`` two bits of the row kind (low, high) precede a null bit per field.
    """

    names: tuple[str, ...]
    fields: tuple[Layout, ...]
    has_kind: bool


@node
class Tagged(Layout):
    """u8 tag, then the alternative of that tag. One column per alternative, null but for one."""

    tags: tuple[int, ...]
    names: tuple[str, ...]
    fields: tuple[Layout, ...]


@node
class Pojo(Layout):
    """u8 flags, then by flag: 1 null; 2 the fields; 4 or 8 a value of a subclass.

    4 is followed by the subclass' name (u16 size, modified UTF-8), 8 by its u8 index in
    ``registered``; then the value by the subclass' own layout, with flags of its own.
    Each field has a null flag in front (the fields are ``Nullable``).
    """

    class_name: str
    names: tuple[str, ...]
    fields: tuple[Layout, ...]
    registered: tuple[tuple[str, Layout], ...] = ()
    unregistered: tuple[tuple[str, Layout], ...] = ()


@node
class Ttl(Layout):
    """i64 time of the last access in milliseconds since the epoch, then the value."""

    value: Layout


@node
class Framed(Layout):
    """i32 size, then exactly one value of that size."""

    inner: Layout


# --- binary rows of SQL -----------------------------------------------------------------------


@node
class LogicalType:
    """A SQL type, as binary rows and arrays are laid out by it.

    Attributes:
        root: The constant of ``LogicalTypeRoot``: ``BIGINT``, ``VARCHAR``, ``ROW``...
        is_nullable: Whether the type admits null.
        length: Of CHAR, VARCHAR, BINARY and VARBINARY.
        precision: Digits of DECIMAL, fractional digits of times and timestamps.
        scale: Of DECIMAL.
        names: Field names of ROW and STRUCTURED_TYPE.
        children: Fields of rows, element of ARRAY and MULTISET, key and value of MAP, source of
            DISTINCT_TYPE.
        class_name: Of RAW and STRUCTURED_TYPE, where it is known.
    """

    root: str
    is_nullable: bool = True
    length: int = 0
    precision: int = 0
    scale: int = 0
    names: tuple[str, ...] = ()
    children: tuple[LogicalType, ...] = ()
    class_name: str = ""


@node
class BinaryRow(Layout):
    """A ``BinaryRowData``: kind byte and null bits, an 8-byte slot per field, variable part."""

    names: tuple[str, ...]
    types: tuple[LogicalType, ...]


@node
class BinaryArray(Layout):
    """A ``BinaryArrayData``: count, null bits, elements, variable part."""

    element: LogicalType


@node
class BinaryMap(Layout):
    """A ``BinaryMapData``: i32 size of the key array, key array, value array."""

    key: LogicalType
    value: LogicalType


# --- Avro as Flink writes it ------------------------------------------------------------------


@node
class BlockRepeated(Layout):
    """Blocks of varint count and elements, up to a count of 0."""

    element: Layout


@node
class BlockMap(Layout):
    """Blocks of varint count and entries, up to a count of 0; keys are ``Utf8``."""

    value: Layout


@node
class IndexedUnion(Layout):
    """i32 index of the branch, then its value."""

    names: tuple[str, ...]
    branches: tuple[Layout, ...]


# --- what only the general path can read ------------------------------------------------------


@node
class KryoRegistration:
    """A class that Kryo writes as a number.

    ``serializer`` is the name of a custom serializer class, or empty.
    """

    class_name: str
    serializer: str = ""


@node
class Kryo(Layout):
    """An object graph of Kryo; its version (2.24 or 5.6) is that of the savepoint's Flink.

    ``registrations`` are the snapshot's, in order; their numbers follow the built-in ones.
    """

    class_name: str
    registrations: tuple[KryoRegistration, ...] = ()


@node
class JavaObject(Layout):
    """A Java serialization stream with a header of its own."""


@node
class Opaque(Layout):
    """Bytes up to the end of the value that holds them, because ``reason``."""

    class_name: str
    reason: str


# --- walks -------------------------------------------------------------------------------------


def parts(layout: Layout) -> Iterator[Layout]:
    """The layouts that a node holds, one level down."""
    for part in fields(layout):  # type: ignore[arg-type]  # every node is a dataclass
        yield from _layouts_in(getattr(layout, part.name))


def _layouts_in(value: object) -> Iterator[Layout]:
    if isinstance(value, Layout):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _layouts_in(item)


def opaque_parts(layout: Layout) -> Iterator[Opaque]:
    """Every ``Opaque`` in the tree."""
    if isinstance(layout, Opaque):
        yield layout
    for part in parts(layout):
        yield from opaque_parts(part)


# --- time to live ---------------------------------------------------------------------------


def without_ttl(layout: Layout) -> Layout:
    """The layout as a reader sees it, without the times of the last access.

    They lie around a value, each element of a list, or each value of a map.
    """
    match layout:
        case Ttl(value):
            return value
        case Repeated(Ttl(element)):
            return Repeated(element)
        case MapOf(key, Ttl(value)):
            return MapOf(key, value)
        case MapOf(key, Nullable(Ttl(value), is_null, padding)):
            return MapOf(key, Nullable(value, is_null, padding))
        case _:
            return layout


# --- lengths ----------------------------------------------------------------------------------

VARIABLE = -1

_LENGTHS: dict[type[Layout], int] = {
    Boolean: 1,
    Byte: 1,
    Short: 2,
    Int: 4,
    Long: 8,
    Float: 4,
    Double: 8,
    Char: 2,
    Enum: 4,
    JavaDate: 8,
    SqlTimestamp: 12,
    Instant: 12,
    LocalDate: 6,
    LocalTime: 7,
    LocalDateTime: 13,
    TimerTimestamp: 8,
    VoidNamespace: 0,
}


def serializer_length(layout: Layout) -> int:
    """What ``TypeSerializer.getLength`` says: the bytes of each value, or -1 where they vary.

    The backends decide by it whether keys and namespaces carry a suffix of their length. It is
    0 for a ``VoidNamespace``, which nevertheless is one byte.
    """
    match layout:
        case Marker(value):
            return 0 if value is None else 1
        case FixedBytes(size):
            return size
        case TimestampData(precision):
            return 8 if precision <= 3 else 12
        case Nullable(_, _, padding):
            return 1 + padding if padding else VARIABLE
        case Struct(_, fields):
            lengths = [serializer_length(part) for part in fields]
            return VARIABLE if VARIABLE in lengths else sum(lengths)
        case _:
            return _LENGTHS.get(type(layout), VARIABLE)
