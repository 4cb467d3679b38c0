"""Java's hash codes of columns of keys, which decide on their key groups.

All sums and products wrap to 32 bits; fold(x) is the low half of a long, xor its high half.

| layout                                | hash code                                              |
|---------------------------------------|--------------------------------------------------------|
| Byte, Short, Int                      | the number                                             |
| Char                                  | the number of its one UTF-16 unit                      |
| Boolean                               | true 1231, false 1237                                  |
| Long                                  | fold                                                   |
| Float, Double                         | the IEEE bits, with one NaN; fold of those of a double |
| Text, MutableText, JavaUtf            | 31-chain of the UTF-16 units, from 0                   |
| BigInteger                            | 31-chain of the 32-bit words, from 0, times the sign   |
| BigDecimal, DecimalData               | 31 x (hash of the unscaled number) + scale             |
| JavaDate, SqlTimestamp                | fold of the milliseconds                               |
| Instant                               | fold of the seconds + 51 x nanoseconds                 |
| LocalDate                             | a mix of year, month and day                           |
| LocalTime                             | fold of the nanoseconds of the day                     |
| LocalDateTime                         | date xor time                                          |
| TimestampData                         | 31 x (fold of the milliseconds) + nanoseconds          |
| Struct f0, f1...: a tuple             | 31-chain of the fields from the first                  |
| Struct _1, _2...: a case class        | MurmurHash3 of the fields                              |
| CaseClass, of Scala 2.13 and 3        | MurmurHash3 of its name and the fields                 |
| Nullable, flag 1 = present: an Option | as a case class; None is the text "None"               |
| OfScala: an Option, an Either         | as the case classes Some, Left and Right               |
| MaskedStruct: a Row                   | 31 x kind + deep 31-chain of the fields                |
| Tagged left, right: an Either         | hash of the value                                      |
| Repeated: a list                      | 31-chain of the elements, from 1                       |
| MapOf                                 | sum of (key xor value)                                 |
| BinaryRow, BinaryArray, BinaryMap     | MurmurHash3 of the bytes                               |
| Utf8: StringData; Framed: RawValue    | MurmurHash3 of the bytes                               |
| Kryo of some classes of the JDK       | as above; UUID: fold of both halves' xor               |

Hash codes of other classes come from user code, or are unstable: those of enums and arrays differ in
each JVM. A layout does not tell ``LongValue`` from ``Long`` (43 more), ``DoubleValue`` (31 more) or
``BooleanValue`` (1 and 0); a Scala Either from a Java one; a Row with names from one with positions;
a class behind an ``ExternalSerializer`` from its row. If such keys can occur, compare with the key
groups of keys in the savepoint.

``BigInteger``, ``BigDecimal`` and UUIDs are hashed one by one. SQL's rows, arrays and maps are encoded
first, because their hash code is that of their bytes. Null has the hash code 0, as in Java's tuples.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import utf16_units
from savepoint_formats.errors import HashCodeError, UnstableHashError
from savepoint_formats.hashing.scalar_hashes import (
    SCALAR_HASHES,
    framed_hashes,
    list_hashes,
    scalar_hashes,
    uuid_hashes,
)
from savepoint_formats.hashing.unstable_hashes import (
    check_field_of_case_class,
    check_field_of_row,
    check_null,
    unstable,
)
from savepoint_formats.key_groups import finish_words, key_groups_of, mix_words
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS, arrow_type
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.kinds.precise_times import precise_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout, LogicalType
    from savepoint_formats.values.kinds.codec import Value

    Hashes = NDArray[np.int32]
    HashesOf = Callable[[Layout, pa.Array], Hashes]

    HashKeys = Callable[[pa.Array], NDArray[np.int32]]

_INT = np.iinfo(np.int32)

NULL_VALUE = 53
NONE_HASH = 2433880
"""The hash code of Scala's ``None``, which is that of its name."""

PRODUCT_SEED = 0xCAFEBABE

KRYO_LAYOUTS: dict[str, Layout] = {
    "java.lang.Boolean": layouts.Boolean(),
    "java.lang.Byte": layouts.Byte(),
    "java.lang.Short": layouts.Short(),
    "java.lang.Integer": layouts.Int(),
    "java.lang.Long": layouts.Long(),
    "java.lang.Float": layouts.Float(),
    "java.lang.Double": layouts.Double(),
    "java.lang.Character": layouts.Char(),
    "java.lang.String": layouts.Text(),
    "java.time.Instant": layouts.Instant(),
    "java.time.LocalDate": layouts.LocalDate(),
    "java.time.LocalTime": layouts.LocalTime(),
    "java.time.LocalDateTime": layouts.LocalDateTime(),
}
"""Class that Kryo writes -> a layout with values of the same class."""


def key_hashes(layout: Layout, column: pa.Array) -> Hashes:
    """The hash code of each key of a column; its rows may lack their kind.

    Raises:
        UnstableHashError: A hash code depends on more than the value, or on user code.
        ColumnTypeError: The column has another type than the layout.
    """
    try:
        return _hashes(layout, column)
    except UnstableHashError as error:
        raise UnstableHashError(
            f"{error}; give a function that computes the hash codes of keys, or the key groups"
            " that they have in an existing savepoint"
        ) from error


def java_hash(layout: Layout, value: Value) -> int:
    """The hash code of one key as ``values.read_value`` returns it; raises like ``key_hashes``."""
    return int(_hashes(layout, pa.array([value], arrow_type(layout)))[0])


def given_hashes(hash_keys: HashKeys, keys: pa.Array) -> Hashes:
    """The hash code of each key by a user function, which may return any integer type.

    Raises ``HashCodeError`` if the result is not one Java ``int`` per key.
    """
    codes = np.asarray(hash_keys(keys))
    if codes.shape != (len(keys),) or (codes.dtype.kind not in "iu" and len(keys)):
        raise HashCodeError(
            f"hash codes are {codes.dtype} of shape {codes.shape},"
            f" expected int32 for each of {len(keys)} keys"
        )
    (wrong,) = np.nonzero((codes < _INT.min) | (codes > _INT.max))
    if len(wrong):
        index = int(wrong[0])
        raise HashCodeError(
            f"the hash code of key {keys[index].as_py()!r} is {codes[index]},"
            f" expected {_INT.min} to {_INT.max}, as Java's int"
        )
    return codes.astype(np.int32, copy=False)


def hashed_key_groups(
    layout: Layout, keys: pa.Array, max_parallelism: int, hash_keys: HashKeys | None
) -> NDArray[np.uint16]:
    """The key group of each key, by the user function or else by the layout.

    Raises like ``key_hashes`` and ``given_hashes``.
    """
    hashes = key_hashes(layout, keys) if hash_keys is None else given_hashes(hash_keys, keys)
    return key_groups_of(hashes, max_parallelism)


def _hashes(layout: Layout, column: pa.Array) -> Hashes:
    match layout:
        case layouts.Marker(marker, None):
            return np.full(len(column), NULL_VALUE if marker is None else 0, np.int32)
        case layouts.Nullable(inner, is_null):
            return _hashes(inner, column) if is_null else _option_hashes(inner, column)
        case layouts.OfScala(layouts.Marker(_, "()")):
            return np.zeros(len(column), np.int32)
        case layouts.OfScala(layouts.Nullable(inner, False)):
            return _option_hashes(inner, column, product_start("Some"))
    return _of_present(column, partial(_hashes_of_values, layout))


def _of_present(column: pa.Array, hashes_of: Callable[[pa.Array], Hashes]) -> Hashes:
    """Hash codes of a column; 0 for null."""
    if not column.null_count and len(column):
        return hashes_of(column)
    hashes = np.zeros(len(column), np.int32)
    if column.null_count < len(column):
        hashes[_is_valid(column)] = hashes_of(column.drop_null())
    return hashes


def _hashes_of_values(layout: Layout, column: pa.Array) -> Hashes:  # noqa: PLR0912 - a table
    if type(layout) in SCALAR_HASHES:
        return scalar_hashes(layout, column)
    match layout:
        case layouts.Struct(names) if is_tuple(names):
            # The first field is not multiplied by 31, so that it is the start of the chain.
            return _chained((_hashes(*field) for field in _fields(layout, column)), len(column), 0)
        case layouts.Struct(names) if is_case_class(names):
            return _product_hashes([_scala_hashes(*field) for field in _fields(layout, column)])
        case layouts.CaseClass(class_name):
            fields = [_scala_hashes(*field) for field in _fields(layout, column)]
            return _product_hashes(fields, product_start(class_name))
        case layouts.OfScala(layouts.Tagged() as either):
            return _either_hashes(either, column)
        case layouts.MaskedStruct():
            return _row_hashes(layout, column)
        case layouts.Tagged(_, ("left", "right")):
            (left, lefts), (right, rights) = _fields(layout, column)
            return np.where(_is_valid(lefts), _hashes(left, lefts), _hashes(right, rights))
        case layouts.Repeated(_, True) | layouts.Repeated(layouts.Nullable()):
            raise unstable(layout)
        case layouts.Repeated(element) | layouts.MaskedRepeated(element):
            return _list_hashes(_hashes, element, column)
        case layouts.MapOf():
            return _entry_sums(_hashes, layout, column)
        case layouts.BinaryRow(names, types) | layouts.Framed(layouts.BinaryRow(names, types)):
            _check_nulls(types, _columns(names, column))
            return _content_hashes(layout, column)
        case layouts.BinaryArray() | layouts.BinaryMap() | layouts.Framed():
            return _content_hashes(layout, column)
        case layouts.Kryo(class_name) if class_name in KRYO_LAYOUTS:
            return _hashes(KRYO_LAYOUTS[class_name], column)
        case layouts.Kryo("java.util.UUID") | layouts.ScalaValue("Uuid"):
            return uuid_hashes(column)
        case layouts.Kryo("java.time.Duration"):
            return _hashes(layouts.Instant(), precise_times(column.view(pa.timestamp("ns", "UTC"))))
        case _:
            raise unstable(layout)


def is_tuple(names: tuple[str, ...]) -> bool:
    """Whether a structure with these fields is a Flink tuple."""
    return names == tuple(f"f{index}" for index in range(len(names)))


def is_case_class(names: tuple[str, ...]) -> bool:
    """Whether a structure with these fields is a Scala tuple or case class."""
    return names == tuple(f"_{index + 1}" for index in range(len(names)))


def _columns(names: Iterable[str], column: pa.StructArray) -> list[pa.Array]:
    """The fields with these names; null if the structure is null."""
    fields = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    return [fields[name] for name in names]


def _fields(
    layout: layouts.Struct | layouts.MaskedStruct | layouts.Tagged | layouts.CaseClass,
    column: pa.StructArray,
) -> Iterator[tuple[Layout, pa.Array]]:
    return zip(layout.fields, _columns(layout.names, column), strict=True)


def _chained(hashes: Iterable[Hashes], count: int, start: int) -> Hashes:
    state = np.full(count, start, np.int32)
    for code in hashes:
        state = 31 * state + code
    return state


def _row_hashes(row: layouts.MaskedStruct, column: pa.StructArray) -> Hashes:
    chain = _chained((_deep_hashes(*field) for field in _fields(row, column)), len(column), 1)
    if column.type.get_field_index(ROW_KIND) < 0:
        return chain
    (kinds,) = _columns([ROW_KIND], column)
    positions = pc.index_in(kinds, value_set=pa.array(ROW_KINDS)).fill_null(0)
    numbers: Hashes = positions.to_numpy().astype(np.int32)
    return 31 * numbers + chain


def _deep_hashes(layout: Layout, column: pa.Array) -> Hashes:
    """A field's contribution to a Row's hash code."""
    return _of_present(column, partial(_deep_hashes_of_values, layout))


def _deep_hashes_of_values(layout: Layout, column: pa.Array) -> Hashes:
    check_field_of_row(layout)
    match layout:
        case layouts.Nullable(inner, is_null) if is_null:
            return _deep_hashes(inner, column)
        case layouts.Bytes():
            return 31 + _byte_chains(column)
        case layouts.Repeated(layouts.Nullable(element, False)) | layouts.Repeated(element):
            return _list_hashes(_deep_hashes, element, column)
        case layouts.MapOf():
            return 1 + _entry_sums(_deep_hashes, layout, column)
        case _:
            return 31 + _hashes(layout, column)


def product_start(class_name: str) -> int:
    """The state before the fields of a case class since Scala 2.13, which hashes its name first.

    The name is that of the declaration, without package and enclosing objects.
    """
    code = 0
    for unit in utf16_units(class_name.replace("$", ".").rpartition(".")[2]):
        code = (31 * code + unit) & 0xFFFFFFFF
    return int(mix_words(np.uint32(PRODUCT_SEED), np.array([code], np.uint32))[0])


def _either_hashes(either: layouts.Tagged, column: pa.StructArray) -> Hashes:
    """Hash codes of Scala's Left and Right, which are case classes."""
    (left, lefts), (right, rights) = _fields(either, column)
    return np.where(
        _is_valid(lefts),
        _product_hashes([_scala_hashes(left, lefts)], product_start("Left")),
        _product_hashes([_scala_hashes(right, rights)], product_start("Right")),
    )


def _option_hashes(inner: Layout, column: pa.Array, start: int = PRODUCT_SEED) -> Hashes:
    codes = _product_hashes([_scala_hashes(inner, column)], start)
    return np.where(_is_valid(column), codes, np.int32(NONE_HASH))


def _product_hashes(fields: Sequence[Hashes], start: int = PRODUCT_SEED) -> Hashes:
    """Scala's ``MurmurHash3.productHash``, which case classes and tuples have."""
    state = np.full(len(fields[0]), start, np.uint32)
    for codes in fields:
        state = mix_words(state, codes.view(np.uint32))
    return finish_words(state ^ np.uint32(len(fields))).view(np.int32)


def _scala_hashes(layout: Layout, column: pa.Array) -> Hashes:
    """Scala's ``##``, which is the same for equal numbers of different types."""
    codes = _hashes(layout, column)
    if column.null_count < len(column):
        check_field_of_case_class(layout)
    return as_scala_numbers(layout, column, codes)


def as_scala_numbers(layout: Layout, column: pa.Array, hashes: Hashes) -> Hashes:
    """Replaces hash codes of longs that are ints, which Scala hashes like ints."""
    if not isinstance(layout, layouts.Long):
        return hashes
    numbers = column.fill_null(0).to_numpy()
    short = numbers.astype(np.int32)
    return np.where(short == numbers, short, hashes)


def _is_valid(column: pa.Array) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _list_hashes(hashes_of: HashesOf, element: Layout, column: pa.ListArray) -> Hashes:
    """The 31-chain of the elements of each list."""
    lists = Collections(column)
    return list_hashes(hashes_of(element, lists.elements), lists.lengths)


def _entry_sums(hashes_of: HashesOf, layout: layouts.MapOf, column: pa.Array) -> Hashes:
    """The sum of key xor value of each map, or of each list of pairs."""
    maps = Collections(column)
    keys, items = maps.elements.flatten()
    hashes = hashes_of(layout.key, keys) ^ hashes_of(layout.value, items)
    totals = np.zeros(len(hashes) + 1, np.int32)
    np.cumsum(hashes, dtype=np.int32, out=totals[1:])
    ends = np.cumsum(maps.lengths)
    sums: Hashes = totals[ends] - totals[ends - maps.lengths]
    return sums


def _byte_chains(column: pa.BinaryArray) -> Hashes:
    """The 31-chain of the signed bytes of each array."""
    offsets, data = column.buffers()[1:]
    borders = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data or b"", np.int8)[borders[0] : borders[-1]]
    return list_hashes(content.astype(np.int32), np.diff(borders))


def _content_hashes(layout: Layout, column: pa.Array) -> Hashes:
    framed = layout if isinstance(layout, layouts.Framed) else layouts.Framed(layout)
    if isinstance(framed.inner, layouts.BinaryRow):
        column = _with_kinds(column)
    return framed_hashes(Encoder(framed).encode(column))


def _with_kinds(rows: pa.StructArray) -> pa.StructArray:
    if rows.type.get_field_index(ROW_KIND) >= 0:
        return rows
    kinds = pa.repeat(ROW_KINDS[0], len(rows))
    fields = [*rows.type, pa.field(ROW_KIND, kinds.type)]
    return pa.StructArray.from_arrays([*rows.flatten(), kinds], fields=fields)


def _check_nulls(types: Iterable[LogicalType], columns: Iterable[pa.Array]) -> None:
    for sql_type, column in zip(types, columns, strict=True):
        if column.null_count:
            check_null(sql_type)
        if sql_type.root in ("ROW", "STRUCTURED_TYPE"):
            _check_nulls(sql_type.children, _columns(sql_type.names, column.drop_null()))
