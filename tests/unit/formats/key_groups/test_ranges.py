"""Key groups against those of Flink's own classes, and the laws that ranges obey."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.java_hash import murmur

from savepoint_formats.key_groups.ranges import (
    EMPTY,
    MAX_PARALLELISM,
    KeyGroupRange,
    key_group,
    key_groups_of,
    murmurs,
    prefix_size,
    subtasks_of,
)

# hash code, its group of 128, its group of 1000; from the classes of Flink 2.2
FROM_FLINK = [
    (0, 94, 54),
    (-1, 80, 648),
    (123456789, 81, 449),
    (256, 54, 790),
    (-1097262577, 59, 219),
    (1231, 77, 765),
    (1073217536, 65, 177),
    (1078523331, 73, 401),
    (99162322, 35, 179),
    (54959989, 60, 508),
    (-32, 48, 56),
    (4145309, 30, 286),
    (-1957109072, 58, 514),
    (-101922419, 92, 908),
]

JAVA_INTS = st.integers(-(1 << 31), (1 << 31) - 1)


@st.composite
def parallelisms(draw: st.DrawFn) -> tuple[int, int]:
    """A parallelism and a max parallelism that allows it."""
    max_parallelism = draw(st.integers(1, MAX_PARALLELISM))
    return draw(st.integers(1, min(max_parallelism, 200))), max_parallelism


@pytest.mark.parametrize(("java_hash", "of_128", "of_1000"), FROM_FLINK)
def test_a_key_group_is_that_of_flink(java_hash: int, of_128: int, of_1000: int) -> None:
    assert (key_group(java_hash, 128), key_group(java_hash, 1000)) == (of_128, of_1000)


@given(st.lists(JAVA_INTS), st.integers(1, MAX_PARALLELISM))
def test_a_column_of_hashes_has_the_groups_of_each(hashes: list[int], max_parallelism: int) -> None:
    groups = key_groups_of(np.array(hashes, dtype=np.int32), max_parallelism)
    assert groups.dtype == np.uint16
    assert groups.tolist() == [key_group(one, max_parallelism) for one in hashes]


def test_the_hash_that_mixes_to_the_smallest_int_is_0() -> None:
    # The steps of the mix are bijections, so exactly one hash code gets there.
    smallest = _unmix(1 << 31)
    assert murmur(smallest) == 0
    assert murmurs(np.array([smallest], dtype=np.int32)).tolist() == [0]


def _unmix(mixed: int) -> int:
    word = 1 << 32
    mixed ^= mixed >> 16
    mixed = mixed * pow(0xC2B2AE35, -1, word) % word
    mixed ^= mixed >> 13 ^ mixed >> 26
    mixed = mixed * pow(0x85EBCA6B, -1, word) % word
    mixed ^= mixed >> 16 ^ 4
    mixed = (mixed - 0xE6546B64) * pow(5, -1, word) % word
    mixed = (mixed >> 13 | mixed << 19) % word
    mixed = mixed * pow(0x1B873593, -1, word) % word
    mixed = (mixed >> 15 | mixed << 17) % word
    mixed = mixed * pow(0xCC9E2D51, -1, word) % word
    return mixed - word if mixed >> 31 else mixed


@given(parallelisms())
def test_the_ranges_of_all_subtasks_cover_each_key_group_once(case: tuple[int, int]) -> None:
    parallelism, max_parallelism = case
    ranges = [
        KeyGroupRange.of_subtask(index, parallelism, max_parallelism)
        for index in range(parallelism)
    ]
    assert [group for one in ranges for group in one] == list(range(max_parallelism))


@given(parallelisms(), st.data())
def test_the_subtask_of_a_key_group_has_it_in_its_range(
    case: tuple[int, int], data: st.DataObject
) -> None:
    groups = data.draw(st.lists(st.integers(0, case[1] - 1)))
    found = subtasks_of(np.array(groups, np.uint16), *case)
    for group, subtask in zip(groups, found.tolist(), strict=True):
        assert group in KeyGroupRange.of_subtask(subtask, *case)


def test_a_subtasks_range_is_rounded_as_in_flink() -> None:
    ranges = [KeyGroupRange.of_subtask(index, 3, 10) for index in range(3)]
    assert ranges == [KeyGroupRange(0, 3), KeyGroupRange(4, 6), KeyGroupRange(7, 9)]


def test_a_range_counts_contains_and_prints_its_groups() -> None:
    groups = KeyGroupRange(3, 5)
    assert (len(groups), list(groups), str(groups)) == (3, [3, 4, 5], "3 to 5")
    assert 5 in groups
    assert 6 not in groups
    assert "5" not in groups


def test_ranges_intersect() -> None:
    assert KeyGroupRange(0, 5).intersection(KeyGroupRange(4, 9)) == KeyGroupRange(4, 5)
    assert KeyGroupRange(0, 3).intersection(KeyGroupRange(4, 9)) == EMPTY
    assert not EMPTY
    assert str(EMPTY) == "none"


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (5, 3), (0, MAX_PARALLELISM)])
def test_an_impossible_range_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="expected a range"):
        KeyGroupRange(start, end)


def test_a_prefix_is_one_byte_up_to_128_key_groups() -> None:
    assert [prefix_size(count) for count in (1, 128, 129, MAX_PARALLELISM)] == [1, 1, 2, 2]


@pytest.mark.parametrize("count", [-1, 0, MAX_PARALLELISM + 1])
def test_an_impossible_max_parallelism_is_refused(count: int) -> None:
    for call in (prefix_size, lambda m: key_group(1, m)):
        with pytest.raises(ValueError, match="parallelism"):
            call(count)


@pytest.mark.parametrize("arguments", [(5, 4), (0, 4)])
def test_a_parallelism_out_of_bounds_is_refused(arguments: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        subtasks_of(np.array([0], np.uint16), *arguments)


def test_a_column_with_a_key_group_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="key group 4, expected 0 to 3"):
        subtasks_of(np.array([0, 4], np.uint16), 2, 4)


def test_a_subtask_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="subtask 2, expected 0 to 1"):
        KeyGroupRange.of_subtask(2, 2, 4)


@given(st.sets(st.integers(0, MAX_PARALLELISM - 1) | st.integers(0, 20)))
def test_runs_have_each_key_group_once_and_do_not_touch(key_groups: set[int]) -> None:
    runs = list(KeyGroupRange.runs_of(key_groups))
    assert [group for run in runs for group in run] == sorted(key_groups)
    assert all(first.end + 1 < second.start for first, second in pairwise(runs))
