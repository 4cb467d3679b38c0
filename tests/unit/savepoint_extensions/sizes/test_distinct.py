"""Equal hashes of 128 bits are found wherever they lie, whatever their halves are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.sizes.keyed_statistics import Distinct

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
