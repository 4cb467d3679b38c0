"""Hashes of values, which show whether two snapshots have the same rows.

The hash of a value has 128 bits. Maps and sets are equal whatever their order. NaN equals NaN;
null equals only null. Two different values have the same hash once in 2^128.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from savepoint_formats.entries.stored_entries import distinct_hashes
from savepoint_formats.values.arrow_types import is_set
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Hashes: TypeAlias = NDArray[np.uint64]
"""Two numbers per value."""

_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
_STEPS = np.array([0xBF58476D1CE4E5B9, 0xFF51AFD7ED558CCD], np.uint64)
_LAST_STEPS = np.array([0x94D049BB133111EB, 0xC4CEB9FE1A85EC53], np.uint64)
_NULL = np.array([0x6A09E667F3BCC908, 0xBB67AE8584CAA73B], np.uint64)
_SHIFT, _LAST_SHIFT = np.uint64(30), np.uint64(31)


def mixed(hashes: Hashes) -> Hashes:
    """Mixes hashes: each bit then depends on all bits."""
    return _by_half(lambda half: _mixed(hashes[:, half].copy(), half), len(hashes))


def chained(hashes: Hashes, others: Hashes) -> Hashes:
    """Hashes of ordered pairs."""

    def pairs(half: int) -> NDArray[np.uint64]:
        return _mixed(hashes[:, half] * _FACTORS[half] + others[:, half], half)

    return _by_half(pairs, len(hashes))


def _by_half(numbers: Callable[[int], NDArray[np.uint64]], count: int) -> Hashes:
    """Computes both halves separately because NumPy is slow for rows of two numbers."""
    hashes = np.empty((count, 2), np.uint64)
    for half in range(2):
        hashes[:, half] = numbers(half)
    return hashes


def _mixed(numbers: NDArray[np.uint64], half: int) -> NDArray[np.uint64]:
    numbers ^= numbers >> _SHIFT
    numbers *= _STEPS[half]
    numbers ^= numbers >> _LAST_SHIFT
    numbers *= _LAST_STEPS[half]
    numbers ^= numbers >> _SHIFT
    return numbers


def are_same(hashes: Hashes, others: Hashes) -> NDArray[np.bool_]:
    """Whether hashes are equal, one by one."""
    return np.asarray((hashes[:, 0] == others[:, 0]) & (hashes[:, 1] == others[:, 1]))


def row_hashes(columns: Sequence[pa.Array], count: int) -> Hashes:
    """The hash of each of ``count`` rows; there may be no columns."""
    hashes = np.zeros((count, 2), np.uint64)
    for column in columns:
        hashes = chained(hashes, value_hashes(column))
    return hashes


def value_hashes(column: pa.Array | pa.ChunkedArray, *, has_no_order: bool = False) -> Hashes:
    """The hash of each value; with ``has_no_order``, the order of a list's elements does not count."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # no chunks, or too many bytes for one
        return np.concatenate(
            [np.zeros((0, 2), np.uint64), *(value_hashes(chunk) for chunk in column.chunks)]
        )
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    hashes = _hashes(column, has_no_order=has_no_order)
    if column.null_count:
        hashes[np.asarray(column.is_null())] = _NULL
    return hashes


def without_empty(column: pa.Array, hashes: Hashes) -> Hashes:
    """The hashes, with null's hash for empty collections."""
    return np.where((Collections(column).lengths == 0)[:, None], _NULL, hashes)


def is_nothing(hashes: Hashes) -> NDArray[np.bool_]:
    """Whether each hash is null's."""
    return are_same(hashes, _NULL[None, :])


def _hashes(column: pa.Array, *, has_no_order: bool) -> Hashes:
    kind = column.type
    if pa.types.is_null(kind):
        return np.tile(_NULL, (len(column), 1))
    if pa.types.is_dictionary(kind):
        return value_hashes(column.dictionary_decode())
    if pa.types.is_struct(kind):
        return row_hashes(column.flatten(), len(column))
    if pa.types.is_map(kind):
        return _of_elements(column, has_no_order=True)
    if pa.types.is_fixed_size_list(kind):
        return _of_elements(column.cast(pa.list_(kind.value_type)), has_no_order=False)
    if pa.types.is_large_list(kind):
        column = column.cast(pa.list_(kind.value_type))
    if pa.types.is_list(column.type):
        return _of_elements(column, has_no_order=has_no_order or is_set(column.type))
    if _is_of_bytes(kind):
        return _of_bytes(column)
    return _of_numbers(column)


def _is_of_bytes(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _of_bytes(column: pa.Array) -> Hashes:
    texts = column.cast(pa.large_binary())
    return distinct_hashes(texts.fill_null(b"") if texts.null_count else texts)


def _of_elements(column: pa.Array, *, has_no_order: bool) -> Hashes:
    collections = Collections(column)
    lengths = collections.lengths.astype(np.int64)
    elements = value_hashes(collections.elements)
    ends = np.cumsum(lengths)
    if not has_no_order:
        starts = np.repeat(ends - lengths, lengths)
        positions = (np.arange(len(elements)) - starts).astype(np.uint64)
        elements = elements + positions[:, None] * _FACTORS
    hashes = np.zeros((len(column), 2), np.uint64)
    is_filled = lengths > 0
    if len(elements):
        firsts = (ends - lengths)[is_filled]
        hashes[is_filled] = np.add.reduceat(mixed(elements), firsts, axis=0)
    return mixed(hashes + lengths.astype(np.uint64)[:, None])


def _of_numbers(column: pa.Array) -> Hashes:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_floating(kind):
        # There are many NaNs, which are all equal here.
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan")).cast(kind), column)
    numbers = pa.binary(column.type.bit_width // 8)
    buffers = [None, column.buffers()[1]]
    data = pa.Array.from_buffers(numbers, len(column), buffers, offset=column.offset)
    return distinct_hashes(data.cast(pa.large_binary()))
