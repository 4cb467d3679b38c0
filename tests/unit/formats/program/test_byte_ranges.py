"""Bytes copied out of a chunk as they lie there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, ranges_in

pytestmark = pytest.mark.usefixtures("both_ways")

DATA = bytes(range(100))
CHUNK = Chunk(np.frombuffer(DATA, np.uint8))

ANY_SPAN = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted)
ROWS = st.integers(1, 4).flatmap(
    lambda parts: st.lists(st.tuples(*[ANY_SPAN] * parts), min_size=1, max_size=20)
)


def ranges_of(rows: list[tuple[list[int], ...]], part: int) -> Ranges:
    starts, ends = zip(*(row[part] for row in rows), strict=True)
    return Ranges(np.array(starts, np.int64), np.array(ends, np.int64))


@given(ROWS)
def test_the_parts_of_a_value_are_put_together(rows: list[tuple[list[int], ...]]) -> None:
    parts = [ranges_of(rows, part) for part in range(len(rows[0]))]
    found = bytes_of(CHUNK, *parts)
    found.validate(full=True)
    assert found.to_pylist() == [b"".join(DATA[start:end] for start, end in row) for row in rows]


@given(ROWS)
def test_where_values_lie_is_told_of_slices_too(rows: list[tuple[list[int], ...]]) -> None:
    values = bytes_of(CHUNK, ranges_of(rows, 0))[1:]
    data, ranges = ranges_in(values)
    found = [
        data[start:end].tobytes() for start, end in zip(ranges.starts, ranges.ends, strict=True)
    ]
    assert found == values.to_pylist()
    assert ranges.sizes.tolist() == [len(one) for one in found]


def test_there_may_be_no_values() -> None:
    nothing = Ranges(np.empty(0, np.int64), np.empty(0, np.int64))
    assert bytes_of(CHUNK, nothing, nothing).to_pylist() == []


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (99, 101), (5, 4)])
def test_bytes_outside_of_the_chunk_are_an_error(start: int, end: int) -> None:
    with pytest.raises(ValueError, match=f"bytes {start} to {end}, outside of the chunk of 100"):
        bytes_of(CHUNK, Ranges(np.array([0, start]), np.array([1, end])))
