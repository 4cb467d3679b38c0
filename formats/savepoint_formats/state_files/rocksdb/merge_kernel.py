"""The loops that merge the entries of several tables, compiled by numba.

The newest entry of a key has the greatest trailer. A put hides all that is older, and so does a
deletion; a merge operand is appended to what is older, with a comma. Nothing here allocates, or
raises.

RocksDB: ``ValueType``, ``MergingIterator``, ``DBIter``, ``StringAppendTESTOperator``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray  # noqa: TC002  # NamedTuple evaluates annotations

from savepoint_formats.program.kernel.key_rows import are_equal
from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import load_long, load_native_long
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    ENTRY_WORK,
    OK,
    UNKNOWN,
    WORD_SIZE,
    Entries,
    copy,
    wide,
)

DELETION = 0
VALUE = 1
MERGE = 2
SINGLE_DELETION = 7

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
def compare_keys(entries: Entries, first: int, other: int) -> int:
    """Below 0, 0 or above 0 as the key of an entry is less than, equal to or above another's."""
    data, spans = entries.data, entries.spans
    start, other_start = spans[0, first], spans[0, other]
    size, other_size = spans[1, first] - start, spans[1, other] - other_start
    least, same = min(size, other_size), 0
    address, other_address = data.ctypes.data + start, data.ctypes.data + other_start
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
        difference = wide(data[start + index]) - wide(data[other_start + index])
        if difference != 0:
            return difference
    return int(size - other_size)


@part
def is_below(entries: Entries, entry: int, bound: NDArray[np.uint8]) -> bool:
    """Whether the key of an entry is less than a bound."""
    start, end = entries.spans[0, entry], entries.spans[1, entry]
    for index in range(min(end - start, len(bound))):
        byte = entries.data[start + index]
        if byte != bound[index]:
            return bool(byte < bound[index])
    return bool(end - start < len(bound))


@light_entry(lambda *_: ENTRY_WORK)
def first_not_below(entries: Entries, first: int, last: int, bound: NDArray[np.uint8]) -> int:
    """The first of the sorted entries from ``first`` to ``last`` whose key is not below a bound."""
    while first < last:
        middle = (first + last) // 2
        if is_below(entries, middle, bound):
            first = middle + 1
        else:
            last = middle
    return first


@part
def has_same_key(entries: Entries, first: int, other: int) -> bool:
    """Whether two entries are of the same key."""
    data, spans = entries.data, entries.spans
    size = spans[1, first] - spans[0, first]
    if size != spans[1, other] - spans[0, other]:
        return False
    return are_equal(data.ctypes.data + spans[0, first], data.ctypes.data + spans[0, other], size)


@light_entry(lambda _, __, ___, merged: ENTRY_WORK * len(merged))
def merge_two(
    entries: Entries,
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    merged: NDArray[np.int64],
) -> None:
    """Merges two sorted lists of entries: by key, and the newest first within a key."""
    left = right = 0
    for index in range(len(merged)):
        if left < len(first) and right < len(other):
            order = compare_keys(entries, first[left], other[right])
            is_newer = entries.trailers[first[left]] > entries.trailers[other[right]]
            takes_left = order < 0 or (order == 0 and is_newer)
        else:
            takes_left = left < len(first)
        if takes_left:
            merged[index] = first[left]
            left += 1
        else:
            merged[index] = other[right]
            right += 1


@light_entry(lambda _, survivors: ENTRY_WORK * len(survivors.order))
def resolve(entries: Entries, survivors: Survivors) -> tuple[int, int, int]:
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
            kind = wide(entries.trailers[entry] & np.uint64(0xFF))
            if kind not in (VALUE, MERGE, DELETION, SINGLE_DELETION):
                return UNKNOWN, entry, 0
            is_hidden = kind != MERGE
            if kind in (VALUE, MERGE):
                values += 1
                size += entries.spans[3, entry] - entries.spans[2, entry] + 1
        if values > 0:
            survivors.kept[count] = index
            survivors.operands[count] = values
            count += 1
            if values > 1:
                joined_size += size
        index = following
    return OK, count, joined_size


@light_entry(lambda _, survivors, *__: ENTRY_WORK * len(survivors.kept))
def select(
    entries: Entries, survivors: Survivors, joined_at: int, selected: NDArray[np.int64]
) -> None:
    """The spans of the survivors; the joined values go to the end of the data."""
    data, spans = entries.data, entries.spans
    for index in range(len(survivors.kept)):
        newest = survivors.kept[index]
        for side in range(4):
            selected[side, index] = spans[side, survivors.order[newest]]
        if survivors.operands[index] > 1:
            selected[2, index] = joined_at
            for operand in range(survivors.operands[index] - 1, -1, -1):
                entry = survivors.order[newest + operand]
                size = spans[3, entry] - spans[2, entry]
                copy(data, spans[2, entry], size, data, joined_at)
                joined_at += size
                if operand > 0:
                    data[joined_at] = _COMMA
                    joined_at += 1
            selected[3, index] = joined_at
