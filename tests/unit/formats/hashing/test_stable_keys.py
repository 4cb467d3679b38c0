"""Keys are sorted by their bytes only where equal keys have equal bytes."""

from __future__ import annotations

import inspect
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnstableKeyError
from savepoint_formats.hashing.stable_keys import STABLE, UNSTABLE, expect_stable
from savepoint_formats.layout import BinaryRow, Layout, LogicalType, Nullable, Repeated
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type
from state_processor import Types

ALL = {
    one
    for one in vars(layouts).values()
    if inspect.isclass(one) and issubclass(one, Layout) and one is not Layout
}


def bytes_of(layout: Layout, values: list[Any]) -> list[bytes]:
    found: list[bytes] = Encoder(layout).encode(pa.array(values, arrow_type(layout))).to_pylist()
    return found


def text(value: Any) -> str:
    """Tells values apart as Java does: 0.0 from -0.0, regardless of the order of names."""
    return repr(sorted(value.items()) if isinstance(value, dict) else value)


def test_every_layout_is_known_to_be_stable_or_not() -> None:
    assert STABLE | UNSTABLE.keys() == ALL
    assert not STABLE & UNSTABLE.keys()


UNSTABLE_TYPES = {
    "map": Types.MAP(Types.STRING(), Types.LONG()).layout,
    "set": Types.SET(Types.STRING()).layout,
    "set in a tuple": Types.TUPLE([Types.LONG(), Types.SET(Types.LONG())]).layout,
    "map in a list": Types.LIST(Types.MAP(Types.LONG(), Types.LONG())).layout,
    "map of SQL": BinaryRow(("m",), (LogicalType("MAP", children=(LogicalType("BIGINT"),) * 2),)),
    "multiset of SQL": BinaryRow(
        ("a",),
        (
            LogicalType(
                "ARRAY", children=(LogicalType("MULTISET", children=(LogicalType("INT"),)),)
            ),
        ),
    ),
    "map of Avro": layouts.BlockMap(layouts.Long()),
    "map as binary data": layouts.BinaryMap(LogicalType("INT"), LogicalType("INT")),
    "class of Kryo": layouts.Kryo("com.example.Order"),
    "object of Java": layouts.JavaObject(),
    "unknown": layouts.Opaque("com.example.Order", "no such serializer"),
}


@pytest.mark.parametrize("layout", UNSTABLE_TYPES.values(), ids=UNSTABLE_TYPES)
def test_what_has_no_order_or_is_not_known_is_refused_with_the_reason(layout: Layout) -> None:
    with pytest.raises(UnstableKeyError, match=r"keys that are or hold .*, have no bytes to be"):
        expect_stable(layout)


def test_a_layout_that_nobody_has_looked_at_is_refused() -> None:
    class Novel(layouts.Long):
        """A layout of tomorrow."""

    with pytest.raises(UnstableKeyError, match="Novel, of which that is not known"):
        expect_stable(Novel())


STABLE_TYPES: dict[str, tuple[Layout, st.SearchStrategy[Any]]] = {
    "boolean": (Types.BOOLEAN().layout, st.booleans()),
    "long": (Types.LONG().layout, st.integers(-(2**63), 2**63 - 1)),
    "double": (Types.DOUBLE().layout, st.floats(allow_nan=False)),
    "text": (Types.STRING().layout, st.text()),
    # Their texts: 1.0 is not equal to 1.00.
    "decimal": (
        Types.BIG_DEC().layout,
        st.decimals(-(10**7), 10**7, places=2).map(lambda one: str(one.quantize(Decimal("0.01")))),
    ),
    "list": (Types.LIST(Types.LONG()).layout, st.lists(st.integers(-5, 5))),
    "tuple": (
        Types.TUPLE([Types.LONG(), Types.STRING()]).layout,
        st.fixed_dictionaries({"f0": st.integers(-5, 5), "f1": st.text(max_size=3)}),
    ),
    "named row": (
        Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.STRING()]).layout,
        st.fixed_dictionaries({"id": st.none() | st.integers(-5, 5), "day": st.none() | st.text()}),
    ),
    "nullable": (Nullable(layouts.Long()), st.none() | st.integers(-5, 5)),
    "list of Avro": (layouts.BlockRepeated(layouts.Utf8()), st.lists(st.text(max_size=3))),
}


@pytest.mark.parametrize("name", STABLE_TYPES)
def test_a_stable_layout_is_accepted(name: str) -> None:
    expect_stable(STABLE_TYPES[name][0])


@pytest.mark.parametrize("name", STABLE_TYPES)
@given(data=st.data())
def test_keys_are_equal_if_and_only_if_their_bytes_are(name: str, data: st.DataObject) -> None:
    layout, strategy = STABLE_TYPES[name]
    values = data.draw(st.lists(strategy, min_size=2, max_size=8))
    found = bytes_of(layout, values * 2)
    assert found[: len(values)] == found[len(values) :]
    for one, bytes_of_one in zip(values, found, strict=False):
        assert (text(one) == text(values[0])) == (bytes_of_one == found[0])


def test_nan_has_one_form_of_bytes() -> None:
    nans = pa.array([0x7FF8000000000000, 0x7FF8000000000001, -1], pa.int64()).view(pa.float64())
    assert len(set(Encoder(Types.DOUBLE().layout).encode(nans).to_pylist())) == 1


def test_a_list_that_cannot_be_told_from_a_set_is_refused() -> None:
    with pytest.raises(UnstableKeyError, match="or a list that looks the same"):
        expect_stable(Repeated(Nullable(layouts.Long())))
