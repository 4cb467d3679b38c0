"""Rows of single values as Avro's bytes, column by column.

| column                  | bytes of a value, behind the branch of its union: 00 for null, 02 otherwise |
|-------------------------|------------------------------------------------------------------------------|
| integers                | zigzag: 7 bits a byte, low bits first; 80 in all bytes but the last           |
| float, double, boolean  | 4 or 8 bytes, low byte first; one byte                                        |
| string, bytes           | the size as an integer, then the bytes                                        |
| null                    | nothing, not even a branch                                                    |

Columns of lists, maps, structs and decimals are not encoded here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes import Chunk
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, ranges_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Part = tuple[NDArray[np.uint8], Ranges]
    """Bytes, and the range of each row in them."""

_PRESENT = 2
_BITS = 7
_MORE = 0x80


def are_single(struct: pa.StructType) -> bool:
    """Whether rows of Avro's storage types can be encoded here."""
    return all(
        _is_number(field.type)
        or pa.types.is_string(field.type)
        or pa.types.is_binary(field.type)
        or pa.types.is_null(field.type)
        for field in struct
    )


def _is_number(data_type: pa.DataType) -> bool:
    is_integer = pa.types.is_signed_integer(data_type) or pa.types.is_boolean(data_type)
    return is_integer or data_type in (pa.float32(), pa.float64())


def encoded_rows(rows: pa.StructArray) -> pa.LargeBinaryArray:
    """The bytes of each row. Raises ``ArrowInvalid`` for a text that is no UTF-8."""
    parts = [part for column in rows.flatten() for part in _parts(column)] if len(rows) else []
    if not parts:  # nulls have no bytes
        return pa.array([b""] * len(rows), pa.large_binary())
    data, ranges, position = [], [], 0
    for content, own in parts:
        data.append(content)
        ranges.append(Ranges(own.starts + position, own.ends + position))
        position += len(content)
    return bytes_of(Chunk(np.concatenate(data)), *ranges)


def _parts(column: pa.Array) -> Iterator[Part]:
    if pa.types.is_null(column.type):
        return
    is_valid = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        column.validate(full=True)
        values = pc.fill_null(column.cast(pa.binary()), b"").cast(pa.large_binary())
        content, texts = ranges_in(values)
        yield _integers(texts.sizes, is_valid)
        first, end = int(texts.starts[0]), int(texts.ends[-1])
        yield content[first:end], Ranges(texts.starts - first, texts.ends - first)
        return
    numbers = pc.fill_null(column, False if pa.types.is_boolean(column.type) else 0)
    plain = numbers.to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        yield _integers(plain.astype(np.int64), is_valid)
    else:
        yield _fixed(plain.astype(plain.dtype.newbyteorder("<")), is_valid)


def _fixed(values: NDArray[np.generic], is_valid: NDArray[np.bool_]) -> Part:
    width = 1 + values.dtype.itemsize
    data = np.empty((len(values), width), np.uint8)
    data[:, 0] = is_valid * _PRESENT
    data[:, 1:] = values.view(np.uint8).reshape(len(values), width - 1)
    starts = np.arange(len(values), dtype=np.int64) * width
    return data.ravel(), Ranges(starts, starts + np.where(is_valid, width, 1))


def _integers(values: NDArray[np.int64], is_valid: NDArray[np.bool_]) -> Part:
    rest = (values << 1 ^ values >> 63).view(np.uint64)
    sizes = is_valid.astype(np.int64)
    largest = int(rest.max(initial=0)).bit_length()
    for bits in range(_BITS, largest, _BITS):
        sizes += is_valid & (rest >= np.uint64(1 << bits))
    ends = np.cumsum(sizes + 1)
    starts = ends - sizes - 1
    data = np.empty(int(ends[-1]), np.uint8)
    data[starts] = is_valid * _PRESENT
    for number in range(int(sizes.max(initial=0))):
        (rows,) = np.nonzero(sizes > number)
        digits = (rest[rows] >> np.uint64(_BITS * number)).astype(np.uint8) & (_MORE - 1)
        data[starts[rows] + 1 + number] = digits | (sizes[rows] > number + 1) * np.uint8(_MORE)
    return data, Ranges(starts, ends)


def encoded_integer(value: int) -> bytes:
    """A positive number, such as a count, without a branch in front."""
    data, _ = _integers(np.array([value], np.int64), np.ones(1, np.bool_))
    return data[1:].tobytes()
