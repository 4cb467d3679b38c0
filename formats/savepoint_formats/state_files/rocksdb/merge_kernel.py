"""The loops that merge the entries of several tables, compiled by numba.

The newest entry of a key has the greatest trailer. A put hides all that is older, and so does a
deletion; a merge operand is appended to what is older, with a comma. Nothing here allocates, or
raises.

RocksDB: ``ValueType``, ``MergingIterator``, ``DBIter``, ``StringAppendTESTOperator``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np  # noqa: TC002  # NamedTuple evaluates annotations
from numpy.typing import NDArray  # noqa: TC002  # NamedTuple evaluates annotations

from savepoint_formats.program.kernel.key_rows import are_equal
from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_long,
    load_native_long,
    store_byte,
)
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    DELETION,
    ENTRY_WORK,
    MERGE,
    OK,
    SINGLE_DELETION,
    UNKNOWN,
    VALUE,
    WORD_SIZE,
    EntryAddresses,
    copy,
)

MIN_LONG = -(1 << 63)
"""What makes signed numbers compare as unsigned ones do."""

_COMMA = 0x2C


class Survivors(NamedTuple):
    """The keys that are alive.

    Key i has the entry ``order[kept[i]]``, and if ``operands[i]`` is more than 1, its value is
    that of so many entries of ``order``, from the last of them to the first.
    """

    order: NDArray[np.int64]
    kept: NDArray[np.int64]
    operands: NDArray[np.int64]


@part
def key_at(entries: EntryAddresses, entry: int) -> tuple[int, int]:
    """The address of the key of an entry, and its size."""
    start = load_native_long(entries.key_starts + 8 * entry)
    return entries.data + start, load_native_long(entries.key_ends + 8 * entry) - start


@part
def compare_keys(entries: EntryAddresses, first: int, other: int) -> int:
    """Below 0, 0 or above 0 as the key of an entry is less than, equal to or above another's."""
    address, size = key_at(entries, first)
    other_address, other_size = key_at(entries, other)
    least, same = min(size, other_size), 0
    while least - same >= WORD_SIZE and (
        load_native_long(address + same) == load_native_long(other_address + same)
    ):
        same += WORD_SIZE
    if least >= WORD_SIZE and same < least:
        # All before is equal; the last word ends with the bytes.
        same = min(same, least - WORD_SIZE)
        word = load_long(address + same) ^ MIN_LONG
        other_word = load_long(other_address + same) ^ MIN_LONG
        if word != other_word:
            return 1 if word > other_word else -1
        same += WORD_SIZE
    for index in range(same, least):
        difference = load_byte(address + index) - load_byte(other_address + index)
        if difference != 0:
            return difference
    return size - other_size


@part
def is_below(entries: EntryAddresses, entry: int, bound: NDArray[np.uint8]) -> bool:
    """Whether the key of an entry is less than a bound."""
    key, size = key_at(entries, entry)
    for index in range(min(size, len(bound))):
        byte = load_byte(key + index)
        if byte != bound[index]:
            return bool(byte < bound[index])
    return bool(size < len(bound))


@light_entry(lambda *_: ENTRY_WORK)
def first_not_below(
    entries: EntryAddresses, first: int, last: int, bound: NDArray[np.uint8]
) -> int:
    """The first of the sorted entries from ``first`` to ``last`` whose key is not below a bound."""
    while first < last:
        middle = (first + last) // 2
        if is_below(entries, middle, bound):
            first = middle + 1
        else:
            last = middle
    return first


@part
def has_same_key(entries: EntryAddresses, first: int, other: int) -> bool:
    """Whether two entries are of the same key."""
    key, size = key_at(entries, first)
    other_key, other_size = key_at(entries, other)
    return size == other_size and are_equal(key, other_key, size)


@part
def is_newer(entries: EntryAddresses, first: int, other: int) -> bool:
    """Whether an entry was written after another one."""
    trailer = load_native_long(entries.trailers + 8 * first)
    # The sequence number is unsigned.
    return trailer ^ MIN_LONG > load_native_long(entries.trailers + 8 * other) ^ MIN_LONG


@light_entry(lambda _, __, ___, merged: ENTRY_WORK * len(merged))
def merge_two(
    entries: EntryAddresses,
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    merged: NDArray[np.int64],
) -> bool:
    """Merges two sorted lists of entries: by key, and the newest first within a key.

    Returns:
        Whether no entry of the one list has the key of an entry of the other.
    """
    left = right = index = 0
    has_own_keys = True
    while left < len(first) and right < len(other):
        order = compare_keys(entries, first[left], other[right])
        if order == 0:
            has_own_keys = False
            order = -1 if is_newer(entries, first[left], other[right]) else 1
        if order < 0:
            merged[index] = first[left]
            left += 1
        else:
            merged[index] = other[right]
            right += 1
        index += 1
    for rest in range(left, len(first)):
        merged[index] = first[rest]
        index += 1
    for rest in range(right, len(other)):
        merged[index] = other[rest]
        index += 1
    return has_own_keys


@light_entry(lambda _, survivors: ENTRY_WORK * len(survivors.order))
def resolve(entries: EntryAddresses, survivors: Survivors) -> tuple[int, int, int]:
    """Finds the keys that are alive, and notes them in ``survivors``.

    Returns:
        A status; the number of keys, or the entry that the status is about; the bytes that the
        values of more than one operand have when they are joined.
    """
    order = survivors.order
    count = joined_size = index = 0
    while index < len(order):
        newest = order[index]
        following = index
        values = 0
        size = -1
        is_hidden = False
        while following < len(order) and (
            following == index or has_same_key(entries, newest, order[following])
        ):
            entry = order[following]
            following += 1
            if is_hidden:
                continue
            kind = load_byte(entries.trailers + 8 * entry)
            if kind not in (VALUE, MERGE, DELETION, SINGLE_DELETION):
                return UNKNOWN, entry, 0
            is_hidden = kind != MERGE
            if kind in (VALUE, MERGE):
                values += 1
                start = load_native_long(entries.value_starts + 8 * entry)
                size += load_native_long(entries.value_ends + 8 * entry) - start + 1
        if values > 0:
            survivors.kept[count] = index
            survivors.operands[count] = values
            count += 1
            if values > 1:
                joined_size += size
        index = following
    return OK, count, joined_size


@light_entry(lambda _, survivors, *__: ENTRY_WORK * len(survivors.kept))
def join_operands(
    entries: EntryAddresses, survivors: Survivors, joined_at: int, spans: NDArray[np.int64]
) -> None:
    """Joins the values of operands, from ``joined_at`` on, where the spans of survivors then lead."""
    for index in range(len(survivors.kept)):
        if survivors.operands[index] > 1:
            newest = survivors.kept[index]
            spans[2, index] = joined_at
            for operand in range(survivors.operands[index] - 1, -1, -1):
                entry = survivors.order[newest + operand]
                start = load_native_long(entries.value_starts + 8 * entry)
                size = load_native_long(entries.value_ends + 8 * entry) - start
                copy(entries.data + start, entries.data + joined_at, size)
                joined_at += size
                if operand > 0:
                    store_byte(entries.data + joined_at, _COMMA)
                    joined_at += 1
            spans[3, index] = joined_at
