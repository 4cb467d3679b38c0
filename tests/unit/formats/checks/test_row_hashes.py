"""Values have the same hash exactly if they are equal to a reader."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.checks.entry_digests import value_hashes

small = st.none() | st.integers(0, 2)
texts = st.none() | st.sampled_from(["", "a", "b", "ab"])
lists = st.none() | st.lists(small, max_size=3)
TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int32(), small),
    (pa.int64(), small),
    (pa.bool_(), st.none() | st.booleans()),
    (pa.float64(), st.none() | st.sampled_from([0.0, 1.5, math.inf])),
    (pa.string(), texts),
    (pa.binary(), st.none() | st.binary(max_size=2)),
    (pa.decimal128(30, 2), st.none() | st.integers(0, 2).map(Decimal)),
    (pa.timestamp("us"), small),
    (pa.list_(pa.int32()), lists),
    (pa.list_(pa.list_(pa.string())), st.none() | st.lists(st.none() | st.lists(texts, max_size=2), max_size=3)),
    (
        pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]),
        st.none() | st.fixed_dictionaries({"a": small, "b": st.none() | st.lists(texts, max_size=2)}),
    ),
    (
        pa.map_(pa.string(), pa.int32()),
        st.none() | st.dictionaries(st.sampled_from("abc"), small, max_size=3).map(lambda one: list(one.items())),
    ),
]  # fmt: skip


def meaning(value: Any, kind: pa.DataType) -> str:
    return repr(sorted(value) if pa.types.is_map(kind) and value is not None else value)


@pytest.mark.parametrize(
    ("kind", "values"), TYPES, ids=lambda one: str(one) if isinstance(one, pa.DataType) else ""
)
@given(data=st.data())
def test_equal_values_have_equal_hashes(
    kind: pa.DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    found = data.draw(st.lists(values, min_size=1, max_size=12))
    offset = data.draw(st.integers(0, len(found) - 1))
    column = pa.array(found, kind).slice(offset)
    hashes = value_hashes(column)
    assert hashes.shape == (len(found) - offset, 2)
    meanings = [meaning(one, kind) for one in column.to_pylist()]
    for i, one in enumerate(meanings):
        for j, other in enumerate(meanings):
            assert bool((hashes[i] == hashes[j]).all()) == (one == other), (one, other)


def test_every_nan_is_the_same() -> None:
    bits = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], np.uint64)
    hashes = value_hashes(pa.array(bits.view(np.float64)))
    assert len(np.unique(hashes, axis=0)) == 1


def test_pieces_of_a_column_are_hashed_as_one() -> None:
    pieces = pa.chunked_array([pa.array(["a", "b"]), pa.array(["c"])])
    assert (value_hashes(pieces) == value_hashes(pa.array(["a", "b", "c"]))).all()
    assert value_hashes(pa.chunked_array([], pa.string())).shape == (0, 2)
