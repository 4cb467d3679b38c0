"""Entries of the same key get the same row, whatever the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.sources.keyed_batch import KeyRows, row_numbers

pytestmark = pytest.mark.usefixtures("both_ways")

KEYS = st.binary(max_size=20) | st.sampled_from([b"a", b"aa", bytes(8), bytes(9), bytes(16)])


def joined(states: list[list[bytes]], prefix_size: int = 0) -> tuple[list[list[int]], int]:
    """The rows of each state's entries, and how many rows there are.

    Keys of entries begin with their key group, of which ``prefix_size`` bytes are left out.
    """
    keys = [key for state in states for key in state]
    ends = np.cumsum([len(key) for key in keys], dtype=np.int64)
    starts = ends - np.array([len(key) for key in keys], np.int64)
    rows = KeyRows(Chunk(np.frombuffer(b"".join(keys), np.uint8)), prefix_size)
    found, first = [], 0
    for state in states:
        these = slice(first, first := first + len(state))
        numbers = rows.rows(starts[these], ends[these], prefix_size)
        found.append(row_numbers(numbers).tolist())
        assert isinstance(numbers, range) == (found[-1] == [*range(len(state))])
    assert len(rows.key_starts) == len(rows.key_ends) == len(rows)
    return found, len(rows)


def expected(states: list[list[bytes]]) -> tuple[list[list[int]], int]:
    numbers: dict[bytes, int] = {}
    return [[numbers.setdefault(key, len(numbers)) for key in state] for state in states], len(
        numbers
    )


@given(st.lists(st.lists(KEYS, max_size=30), max_size=4))
def test_rows_are_distinct_keys_in_the_order_in_which_they_come(states: list[list[bytes]]) -> None:
    assert joined(states) == expected(states)


@given(st.lists(st.lists(KEYS, max_size=30).map(sorted), max_size=4))
def test_the_order_of_keys_changes_nothing_but_the_speed(states: list[list[bytes]]) -> None:
    assert joined(states) == expected(states)


@given(st.lists(KEYS, unique=True, max_size=30), st.data())
def test_states_in_the_order_of_the_first_may_lack_repeat_or_add_keys(
    keys: list[bytes], data: st.DataObject
) -> None:
    change = st.sampled_from([[], [0], [0, 0], [0, 1], [1, 0]])
    states = [keys]
    for _ in range(2):
        changed = list(keys)
        for place in data.draw(st.lists(st.integers(0, len(keys)), max_size=2)):
            pair = [*keys[place : place + 1], data.draw(KEYS)]
            changed[place : place + 1] = [pair[index % len(pair)] for index in data.draw(change)]
        states.append(changed)
    assert joined(states) == expected(states)
    assert joined(states[::-1]) == expected(states[::-1])


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from([b"\x01", b"\x81", b"\x02"]), st.binary(max_size=2)),
            max_size=20,
        ),
        max_size=3,
    ),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_the_key_group_in_front_of_a_key_belongs_to_it(
    entries: list[list[tuple[bytes, bytes]]], are_sorted: bool, prefix_size: int
) -> None:
    if are_sorted:
        entries = [sorted(state) for state in entries]
    more = bytes(prefix_size - 1)
    keys = [[group + more + key for group, key in state] for state in entries]
    # The first bit says that an entry is its state's last, and nothing of its key.
    bare = [[bytes([key[0] & 0x7F]) + key[1:] for key in state] for state in keys]
    assert joined(keys, prefix_size) == expected(bare)


@pytest.mark.parametrize("count", [1, 511, 512, 513, 5_000])
def test_the_table_grows_with_the_keys(count: int) -> None:
    keys = [number.to_bytes(8, "big") for number in range(count)]
    states = [keys, keys[::-1], keys[::2], [*keys, b"another"]]
    assert joined(states) == expected(states)
    assert joined([keys[::-1], keys]) == expected([keys[::-1], keys])


def test_a_key_outside_of_the_chunk_is_a_wrong_call() -> None:
    rows = KeyRows(Chunk(np.zeros(4, np.uint8)))
    for start, end in [(0, 5), (-1, 2), (3, 2)]:
        with pytest.raises(ValueError, match="outside of the chunk of 4 bytes"):
            rows.rows(np.array([start]), np.array([end]))
    for entries in ([(0, 1), (1, 5)], [(0, 1), (1, 2), (3, 2)], [(1, 2), (0, 1), (-1, 1)]):
        starts, ends = np.array(entries).T
        with pytest.raises(ValueError, match=f"key {len(entries) - 1} from"):
            KeyRows(Chunk(np.arange(4, dtype=np.uint8))).rows(starts, ends)
    with pytest.raises(ValueError, match="key 0 from 3 to 4"):
        rows.rows(np.array([3]), np.array([4]), distance=2)
