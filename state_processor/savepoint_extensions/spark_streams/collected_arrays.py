"""The arrays of ``collect_list`` and ``collect_set`` in Spark's state, as columns of lists.

A buffer is an ``UnsafeRow`` with one field, an array. Numbers are little endian.

| bytes            | meaning                                                           |
|------------------|-------------------------------------------------------------------|
| i64              | bits of null fields: 0                                            |
| i32, i32         | size of the array in bytes, its position in the row: 16           |
| i64              | number of elements n                                              |
| i64 × ⌈n / 64⌉   | bits of null elements                                             |
| n × element      | numbers by their size, then padding to 8 bytes; of a text or of   |
|                  | bytes the size (i32) and the position in the array (i32)          |
| …                | texts and bytes, each padded to 8 bytes                           |

The type of the elements is stored nowhere. One of another size is noticed, since the sizes must fit.

Spark: ``UnsafeRow``, ``UnsafeArrayData``, ``Collect.serialize``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import ColumnTypeError, FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

_WORD, _ARRAY = 8, 16
_WHERE = "state of Spark"
_SIZED = ("string", "binary")
_NUMBERS: dict[str, tuple[str, pa.DataType]] = {
    "boolean": ("u1", pa.bool_()),
    "tinyint": ("i1", pa.int8()),
    "smallint": ("<i2", pa.int16()),
    "int": ("<i4", pa.int32()),
    "bigint": ("<i8", pa.int64()),
    "float": ("<f4", pa.float32()),
    "double": ("<f8", pa.float64()),
    "date": ("<i4", pa.date32()),
    "timestamp": ("<i8", pa.timestamp("us", "UTC")),
    "timestamp_ntz": ("<i8", pa.timestamp("us")),
}
DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_LONG_DIGITS = 18


def element_type(name: str) -> pa.DataType:
    """The Arrow type of elements that a user names as in DDL, such as ``BIGINT``.

    Raises:
        ColumnTypeError: Arrays of such elements are not read.
    """
    word = name.strip().lower()
    if word in _SIZED:
        return pa.string() if word == "string" else pa.binary()
    if word in _NUMBERS:
        return _NUMBERS[word][1]
    decimal = DECIMAL.fullmatch(word)
    if decimal and int(decimal[1]) <= _LONG_DIGITS:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    raise ColumnTypeError(
        f"elements of type {name!r} are not read from a collected array; these are:"
        f" {', '.join((*_NUMBERS, *_SIZED)).upper()}, DECIMAL(p, s) up to {_LONG_DIGITS} digits"
    )


def with_lists(
    types: Mapping[str, pa.DataType],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for ``mapInArrow`` that decodes columns; ``types`` has those of their elements."""

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                lists(column, types[name]) if name in types else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, batch.schema.names)

    return decoded


def lists(rows: pa.Array, element: pa.DataType) -> pa.Array:
    """The arrays in buffers, as lists of elements.

    Raises:
        FormatError: A buffer is no array of such elements.
    """
    rows = rows.cast(pa.large_binary()).fill_null(b"")
    starts = np.frombuffer(rows.buffers()[1], "<i8")[rows.offset : rows.offset + len(rows) + 1]
    data = np.frombuffer(rows.buffers()[2] or b"", np.uint8)
    lengths = np.diff(starts)
    is_there = lengths > 0
    begin, length = starts[:-1][is_there], lengths[is_there]
    _expect(bool((length >= _ARRAY + _WORD).all()), element)
    places = _words(data, begin + _WORD)
    _expect(bool(((places >> 32) == _ARRAY).all() and (_words(data, begin) == 0).all()), element)
    sizes = places & 0xFFFFFFFF
    _expect(bool((sizes + _ARRAY == length).all()), element)
    base = begin + _ARRAY
    counts = _words(data, base)
    _expect(bool(((counts >= 0) & (counts <= sizes)).all()), element)
    values = _elements(data, base, sizes, counts, element)
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:][is_there] = counts
    offsets = offsets.cumsum().astype(np.int32)
    mask = pa.array(~is_there) if not is_there.all() else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)


def _elements(
    data: NDArray[np.uint8],
    base: NDArray[np.int64],
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    element: pa.DataType,
) -> pa.Array:
    number = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
    of_array = np.repeat(base, counts)
    bits = (counts + 63) // 64 * _WORD
    fixed = np.repeat(base + _WORD + bits, counts)
    is_sized = pa.types.is_string(element) or pa.types.is_binary(element)
    dtype = np.dtype("<i8" if is_sized or pa.types.is_decimal(element) else _dtype(element))
    used = _WORD + bits + (counts * dtype.itemsize + 7) // _WORD * _WORD
    _expect(bool((used <= sizes).all() if is_sized else (used == sizes).all()), element)
    is_null = (data[of_array + _WORD + number // 8] >> (number % 8) & 1).astype(bool)
    raw = _gathered(data, fixed + number * dtype.itemsize, dtype.itemsize).view(dtype).ravel()
    if is_sized:
        return _sized(data, of_array, np.repeat(sizes, counts), raw, is_null, element)
    if pa.types.is_boolean(element):
        return pa.array(raw.astype(bool), element, mask=is_null)
    if pa.types.is_decimal(element):
        wide = np.column_stack([raw, raw >> 63])
        valid = pa.array(~is_null).buffers()[1]
        return pa.Array.from_buffers(element, len(raw), [valid, pa.py_buffer(wide.tobytes())])
    stored = pa.from_numpy_dtype(dtype)
    return pa.array(raw, stored, mask=is_null).cast(element)


def _sized(
    data: NDArray[np.uint8],
    base: NDArray[np.int64],
    sizes: NDArray[np.int64],
    words: NDArray[np.int64],
    is_null: NDArray[np.bool_],
    element: pa.DataType,
) -> pa.Array:
    """Texts or bytes whose sizes and positions are in ``words``."""
    words = np.where(is_null, 0, words)
    places, lengths = words >> 32, words & 0xFFFFFFFF
    _expect(bool(((places >= 0) & (places + lengths <= sizes)).all()), element)
    ends = lengths.cumsum()
    inner = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    joined = data[np.repeat(base + places, lengths) + inner]
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    buffers = [pa.array(~is_null).buffers()[1], pa.py_buffer(offsets), pa.py_buffer(joined)]
    large = pa.large_string() if pa.types.is_string(element) else pa.large_binary()
    texts = pa.Array.from_buffers(large, len(words), buffers)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        _expect(False, element)
    return texts.cast(element)


def _dtype(element: pa.DataType) -> str:
    return next(dtype for dtype, arrow in _NUMBERS.values() if arrow == element)


def _words(data: NDArray[np.uint8], positions: NDArray[np.int64]) -> NDArray[np.int64]:
    words: NDArray[np.int64] = _gathered(data, positions, _WORD).view("<i8").ravel()
    return words


def _gathered(
    data: NDArray[np.uint8], positions: NDArray[np.int64], width: int
) -> NDArray[np.uint8]:
    """``width`` bytes at each position; positions need no alignment."""
    return np.ascontiguousarray(data[positions[:, None] + np.arange(width)])


def _expect(fits: bool, element: pa.DataType) -> None:
    if not fits:
        raise FormatError(
            f"a buffer that is no collected array of {element}: name the type of the elements as the"
            " query has it; sketches and percentiles have buffers, too, but can't be carried",
            _WHERE,
            -1,
        )
