"""Scalars as texts, and texts as scalars, in bulk.

| Arrow                        | text                                                     |
|------------------------------|----------------------------------------------------------|
| timestamp                    | ``2026-01-31 12:00:00.000``, with ``Z`` behind it if UTC |
| date32, time32, time64       | ``2026-01-31``, ``12:00:00.000``                         |
| duration                     | its number, in its unit: milliseconds                    |
| decimal                      | its digits, ``12.50``                                    |
| binary                       | hexadecimal digits                                       |
| float, double                | ``0.1``, ``nan``, ``inf``, ``-inf``; read in any case    |
| utf8                         | as it is                                                 |
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = np.frombuffer(bytes.hex(bytes(range(256))).encode(), np.uint8).reshape(256, 2)
_HEXADECIMAL = "^([0-9A-Fa-f]{2})*$"


def texts_of(array: pa.Array) -> pa.Array:
    """Scalars as texts."""
    if pa.types.is_binary(array.type):
        return _hexadecimal(array)
    if pa.types.is_duration(array.type):
        return array.cast(pa.int64()).cast(pa.utf8())
    return array.cast(pa.utf8())


def values_of(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Texts as scalars; times of day remain texts, as in Spark.

    Raises:
        pa.ArrowInvalid: A text does not fit the type.
    """
    if pa.types.is_binary(wanted):
        return _bytes(texts.cast(pa.utf8()))
    if pa.types.is_duration(wanted):
        return texts.cast(pa.int64()).cast(wanted)
    if pa.types.is_null(wanted):
        return pa.nulls(len(texts))
    if pa.types.is_time(wanted):
        return texts.cast(pa.utf8())
    return texts.cast(wanted)


def read_type(data_type: pa.DataType) -> pa.DataType:
    """Type of the scalars that ``values_of`` gives."""
    return pa.utf8() if pa.types.is_time(data_type) else data_type


def _hexadecimal(array: pa.Array) -> pa.Array:
    offsets, data = _parts(array.cast(pa.large_binary()))
    digits = _DIGITS[data].reshape(-1)
    texts = _array_of(pa.large_utf8(), offsets * 2, digits)
    return _with_nulls_of(array, texts).cast(pa.utf8())


def _bytes(texts: pa.Array) -> pa.Array:
    is_wrong = pc.invert(pc.match_substring_regex(texts, _HEXADECIMAL))
    wrong = texts.filter(pc.fill_null(is_wrong, False))
    if len(wrong):
        raise pa.ArrowInvalid(f"{wrong[0].as_py()!r} is no text of hexadecimal digits")
    offsets, digits = _parts(texts.cast(pa.large_utf8()))
    # A letter is 0x41 to 0x46 or 0x61 to 0x66, a digit 0x30 to 0x39.
    values = (digits & 0x0F) + 9 * (digits >> 6)
    data = (values[0::2] << 4) | values[1::2]
    return _with_nulls_of(texts, _array_of(pa.large_binary(), offsets // 2, data)).cast(pa.binary())


def _parts(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets, from 0, and the bytes of an array of large texts or bytes."""
    _, offset_buffer, data_buffer = array.buffers()
    if not len(array):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    return offsets - offsets[0], data


def _array_of(data_type: pa.DataType, offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(data_type, len(offsets) - 1, buffers)


def _with_nulls_of(array: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(array.is_null(), pa.scalar(None, values.type), values)
