"""The order of rows is that of key groups, then of the bytes of keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from savepoint_formats.columns.key_hash import key_groups_of, key_hashes
from state_processor import Types
from state_processor.jobs.sorted_inputs import (
    KEY,
    KEY_GROUP,
    ORDER,
    KeyEncoding,
    key_groups_in,
    leading_bits,
)


@given(st.lists(st.binary(max_size=12), min_size=1))
@example([b"", b"\0", b"\0\0", b"\xff" * 8, b"\xff" * 9, b"\0" * 7 + b"\1"])
def test_leading_bits_are_in_the_order_of_the_bytes(keys: list[bytes]) -> None:
    keys.sort()
    found = leading_bits(pa.array(keys, pa.binary()))
    assert (np.diff(found) >= 0).all()
    assert (found >= 0).all()
    assert (found < 1 << 48).all()


@given(st.lists(st.integers(0, 2**40 - 1), unique=True, min_size=1))
def test_leading_bits_tell_numbers_of_40_bits_apart(numbers: list[int]) -> None:
    keys = pa.array([number.to_bytes(8, "big") for number in numbers], pa.binary())
    assert len(set(leading_bits(keys).tolist())) == len(numbers)


def test_leading_bits_of_a_slice_are_those_of_its_keys() -> None:
    keys = pa.array([b"a", b"bb", b"ccc", b"dddd"], pa.binary())
    assert leading_bits(keys[1:3]).tolist() == leading_bits(keys).tolist()[1:3]


def test_an_order_has_the_key_group_of_its_key() -> None:
    keys = pa.array(range(-500, 500), pa.int64())
    encoding = KeyEncoding(Types.LONG().layout, 128, None)
    batch = pa.RecordBatch.from_pydict({KEY: keys})
    (ordered,), (plain,) = encoding.ordered([batch]), encoding.run([batch])
    wanted = key_groups_of(key_hashes(Types.LONG().layout, keys), 128).tolist()
    assert key_groups_in(ordered.column(ORDER)).tolist() == wanted
    assert plain.column(KEY_GROUP).to_pylist() == wanted
    assert ordered.column(KEY) == plain.column(KEY)


def test_key_groups_that_are_given_are_taken_or_wrapped_where_they_are_not_stored() -> None:
    batch = pa.RecordBatch.from_pydict(
        {KEY: pa.array([1, 2], pa.int64()), KEY_GROUP: pa.array([7, 9], pa.int32())}
    )
    for max_parallelism, wraps, wanted in ((128, False, [7, 9]), (8, True, [7, 1])):
        encoding = KeyEncoding(Types.LONG().layout, max_parallelism, None, wraps=wraps)
        (found,) = encoding.ordered([batch])
        assert key_groups_in(found.column(ORDER)).tolist() == wanted
