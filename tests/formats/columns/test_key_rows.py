"""Entries of the same key get the same row, whatever the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from savepoint_formats.columns.chunk import Chunk
from savepoint_formats.columns.key_rows import KeyRows

COMPILED = settings(deadline=None)  # the first call may compile

KEYS = st.binary(max_size=20) | st.sampled_from([b"a", b"aa", bytes(8), bytes(9), bytes(16)])


def joined(states: list[list[bytes]], *, are_unique: bool = False) -> tuple[list[list[int]], int]:
    """The rows of each state's entries, and how many rows there are."""
    keys = [key for state in states for key in state]
    ends = np.cumsum([len(key) for key in keys], dtype=np.int64)
    starts = ends - np.array([len(key) for key in keys], np.int64)
    rows = KeyRows(Chunk(np.frombuffer(b"".join(keys), np.uint8)))
    found, first = [], 0
    for state in states:
        these = slice(first, first := first + len(state))
        found.append(rows.rows(starts[these], ends[these], are_unique=are_unique).tolist())
    assert len(rows.key_starts) == len(rows.key_ends) == len(rows)
    return found, len(rows)


def expected(states: list[list[bytes]]) -> tuple[list[list[int]], int]:
    numbers: dict[bytes, int] = {}
    return [[numbers.setdefault(key, len(numbers)) for key in state] for state in states], len(
        numbers
    )


@COMPILED
@given(st.lists(st.lists(KEYS, max_size=30), max_size=4))
def test_rows_are_distinct_keys_in_the_order_in_which_they_come(states: list[list[bytes]]) -> None:
    assert joined(states) == expected(states)


@COMPILED
@given(st.lists(st.lists(KEYS, max_size=30, unique=True), max_size=4))
def test_that_they_are_unique_changes_nothing_but_the_speed(states: list[list[bytes]]) -> None:
    assert joined(states, are_unique=True) == expected(states)


@pytest.mark.parametrize("count", [1, 511, 512, 513, 5_000])
def test_the_table_grows_with_the_keys(count: int) -> None:
    keys = [number.to_bytes(8, "big") for number in range(count)]
    states = [keys, keys[::-1], keys[::2], [*keys, b"another"]]
    assert joined(states) == expected(states)
    assert joined(states, are_unique=True) == expected(states)


def test_a_key_outside_of_the_chunk_is_a_wrong_call() -> None:
    rows = KeyRows(Chunk(np.zeros(4, np.uint8)))
    for start, end in [(0, 5), (-1, 2), (3, 2)]:
        with pytest.raises(ValueError, match="outside of the chunk of 4 bytes"):
            rows.rows(np.array([start]), np.array([end]))
