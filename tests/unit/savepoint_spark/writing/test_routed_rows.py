"""Numbers whose hash in Spark is the number of a partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_spark.writing.routed_rows import hashed_to


# Each hash is what a Spark 3.5.9 gave: SELECT hash(number).
@pytest.mark.parametrize(
    ("partition", "number"),
    [(0, -1693959553), (1, -1910889132), (2, -1382833682), (3, -876271479), (4, 2110009390)],
)
def test_spark_hashes_them_to_it(partition: int, number: int) -> None:
    assert hashed_to(partition) == number


def forward(number: int) -> int:
    """Murmur3 of four bytes with seed 42."""
    mask = 2**32 - 1
    mixed = number * 0xCC9E2D51 & mask
    mixed = (mixed << 15 | mixed >> 17) & mask
    mixed = 42 ^ (mixed * 0x1B873593 & mask)
    mixed = (mixed << 13 | mixed >> 19) & mask
    mixed = (mixed * 5 + 0xE6546B64 & mask) ^ 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & mask
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & mask
    return mixed ^ mixed >> 16


@given(st.integers(0, 2**31 - 1))
def test_it_is_murmur_turned_round(partition: int) -> None:
    number = hashed_to(partition)
    assert -(2**31) <= number < 2**31
    assert forward(number & 2**32 - 1) == partition
