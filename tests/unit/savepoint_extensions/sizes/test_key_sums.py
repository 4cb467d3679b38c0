"""Numbers are added up by key, however keys come, and equal hashes are found wherever they lie."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.sizes.key_sums import Distinct, KeySums, joined
from savepoint_formats.bytes import Chunk
from savepoint_formats.program.byte_ranges import Ranges

# Few values per half, so that halves are equal where hashes are not.
HASHES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(HASHES)
def test_equal_hashes_have_one_number(given_hashes: list[tuple[int, int]]) -> None:
    found = Distinct.of(np.array(given_hashes, np.uint64))
    assert len(found.firsts) == len(set(given_hashes))
    for number, first in enumerate(found.firsts.tolist()):
        own = [index for index, one in enumerate(given_hashes) if one == given_hashes[first]]
        assert np.flatnonzero(found.of_entry == number).tolist() == own


@given(HASHES)
def test_sums_are_those_of_equal_hashes(given_hashes: list[tuple[int, int]]) -> None:
    found = Distinct.of(np.array(given_hashes, np.uint64))
    numbers = np.arange(len(given_hashes), dtype=np.int64) + (1 << 40)
    expected: dict[tuple[int, int], int] = {}
    for one, number in zip(given_hashes, numbers.tolist(), strict=True):
        expected[one] = expected.get(one, 0) + number
    told = [given_hashes[first] for first in found.firsts.tolist()]
    assert dict(zip(told, found.sums(numbers).tolist(), strict=True)) == expected


Entry = tuple[int, bytes, int]
"""Key group, key and a number."""

ENTRIES = st.lists(
    st.tuples(st.integers(0, 2), st.binary(min_size=1, max_size=2), st.integers(0, 9)), max_size=12
)


def summed(chunks: list[list[Entry]], *, has_prefix: bool) -> KeySums:
    """Sums of entries whose keys lie behind their key group, in a byte, or behind another byte."""
    sums = KeySums()
    for entries in chunks:
        data = b"".join(bytes([group]) + key for group, key, _ in entries)
        sizes = np.array([len(key) for _, key, _ in entries], np.int64)
        ends = np.cumsum(sizes + 1)
        groups = np.array([group for group, _, _ in entries], np.uint16)
        numbers = np.array([number for *_, number in entries], np.int64)
        chunk = Chunk(np.frombuffer(data, np.uint8))
        sums.add(chunk, int(has_prefix), Ranges(ends - sizes, ends), groups, [numbers])
    return sums


def expected_sums(chunks: list[list[Entry]]) -> dict[bytes, int]:
    totals: dict[bytes, int] = {}
    for _, key, number in (entry for entries in chunks for entry in entries):
        totals[key] = totals.get(key, 0) + number
    return totals


def in_own_groups(chunks: list[list[Entry]], *, is_sorted: bool) -> list[list[Entry]]:
    """The same keys, each in the one key group that its bytes decide."""
    placed = [[(key[0] % 3, key, number) for _, key, number in entries] for entries in chunks]
    if is_sorted:
        borders = np.cumsum([0, *map(len, placed)]).tolist()
        whole = sorted(entry for entries in placed for entry in entries)
        placed = [whole[start:end] for start, end in pairwise(borders)]
    return placed


@given(st.lists(ENTRIES, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_numbers_are_added_up_by_key_in_all_chunks(
    chunks: list[list[Entry]], has_prefix: bool, is_sorted: bool
) -> None:
    placed = in_own_groups(chunks, is_sorted=is_sorted)
    expected = expected_sums(placed)
    if not expected:
        return
    found = summed(placed, has_prefix=has_prefix).by_key()
    assert len(found) == len(expected)
    told = dict(zip(found.data.to_pylist(), found.numbers[0].tolist(), strict=True))
    assert told == expected
    assert [key[0] % 3 for key in found.data.to_pylist()] == found.groups.tolist()


@given(st.lists(ENTRIES, min_size=1, max_size=3), st.lists(ENTRIES, min_size=1, max_size=3))
def test_keys_of_several_states_are_joined(
    chunks: list[list[Entry]], others: list[list[Entry]]
) -> None:
    states = [in_own_groups(each, is_sorted=False) for each in (chunks, others, chunks)]
    states = [each for each in states if expected_sums(each)]
    if not states:
        return
    found = joined([summed(each, has_prefix=True).by_key() for each in states])
    told = dict(zip(found.data.to_pylist(), found.numbers[0].tolist(), strict=True))
    assert told == expected_sums([entries for each in states for entries in each])


def test_a_key_in_two_key_groups_is_two_however_chunks_lie() -> None:
    """A damaged savepoint may have one; equal bytes alone would make it one where chunks overlap."""
    ascending: list[list[Entry]] = [[(0, b"a", 1), (1, b"a", 2)]]
    overlapping: list[list[Entry]] = [[(0, b"a", 1), (1, b"a", 2)], [(0, b"b", 4)]]
    assert len(summed(ascending, has_prefix=True).by_key()) == 2
    whole = summed(overlapping, has_prefix=True).by_key()
    assert sorted(zip(whole.groups.tolist(), whole.numbers[0].tolist(), strict=True)) == [
        (0, 1),
        (0, 4),
        (1, 2),
    ]
    first = summed([[(0, b"a", 1)]], has_prefix=True).by_key()
    other = summed([[(1, b"a", 2)]], has_prefix=True).by_key()
    assert joined([first, other]).numbers[0].tolist() == [1, 2]
