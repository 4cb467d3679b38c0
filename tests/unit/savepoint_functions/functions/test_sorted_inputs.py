"""The order of rows is that of key groups, then one that keeps the rows of a key together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.key_groups.ranges import key_groups_of
from savepoint_functions.functions.sorted_inputs import (
    KEY,
    KEY_GROUP,
    ORDER,
    KeyEncoding,
    hashed_bits,
    key_groups_in,
)
from state_processor import Types

if TYPE_CHECKING:
    from savepoint_database.types.types import TypeInformation


@given(st.lists(st.binary(max_size=12), min_size=1))
def test_hashed_bits_are_those_of_equal_keys(keys: list[bytes]) -> None:
    found = hashed_bits(pa.array(keys + keys, pa.binary())).tolist()
    assert found[: len(keys)] == found[len(keys) :]
    assert len(set(found)) == len(set(keys))
    assert all(0 <= bits < 1 << 48 for bits in found)


@pytest.mark.parametrize(
    ("key_type", "keys"),
    [
        (Types.LONG(), pa.array(range(-500, 500), pa.int64())),
        (Types.STRING(), pa.array([f"customer-{number}" for number in range(1000)])),
    ],
)
def test_an_order_has_the_key_group_of_its_key(key_type: TypeInformation, keys: pa.Array) -> None:
    layout = key_type.layout
    encoding = KeyEncoding(layout, 128, None)
    batch = pa.RecordBatch.from_pydict({KEY: keys})
    (ordered,), (plain,) = encoding.ordered([batch]), encoding.run([batch])
    assert len(set(ordered.column(ORDER).to_pylist())) == len(keys)
    wanted = key_groups_of(key_hashes(layout, keys), 128).tolist()
    assert key_groups_in(ordered.column(ORDER)).tolist() == wanted
    assert plain.column(KEY_GROUP).to_pylist() == wanted
    assert ordered.column(KEY) == plain.column(KEY)


def test_key_groups_that_are_given_are_taken_or_wrapped_where_they_are_not_stored() -> None:
    batch = pa.RecordBatch.from_pydict(
        {KEY: pa.array([1, 2], pa.int64()), KEY_GROUP: pa.array([7, 9], pa.int32())}
    )
    # Only the class knows the hash code of its objects.
    batch = batch.set_column(0, KEY, pa.array([{"id": 1}, {"id": 2}]))
    layout = Types.POJO("com.acme.Key", {"id": Types.LONG()}).layout
    for max_parallelism, wraps, wanted in ((128, False, [7, 9]), (8, True, [7, 1])):
        encoding = KeyEncoding(layout, max_parallelism, None, wraps=wraps)
        (found,) = encoding.ordered([batch])
        assert key_groups_in(found.column(ORDER)).tolist() == wanted
