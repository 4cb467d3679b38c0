"""Structs go by the names of their fields, in any order; only tuples without names go by position."""

from __future__ import annotations

from collections import namedtuple
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row
from support.nightly import examples

from savepoint_database.types.named_fields import all_places, arranged, field_places
from savepoint_database.types.python_conversion import OutputRows, python_values
from savepoint_database.types.records import record_maker

if TYPE_CHECKING:
    from collections.abc import Callable

POINT = pa.struct([("alpha", pa.int64()), ("mid", pa.int64()), ("zeta", pa.int64())])
VALUES = {"alpha": 2, "mid": 3, "zeta": 1}
PAIR = pa.struct([("f0", pa.int64()), ("f1", pa.int64())])
SQL_ROW = pa.struct([*PAIR, ("$row_kind", pa.utf8())])
ORDERS = list(permutations(VALUES))


named: Any = namedtuple


class Backwards(NamedTuple):
    zeta: int
    mid: int
    alpha: int


FORMS: dict[str, Callable[[tuple[str, ...]], Any]] = {
    "dict": lambda names: {name: VALUES[name] for name in names},
    "Row": lambda names: Row(**{name: VALUES[name] for name in names}),
    "namedtuple": lambda names: named("Given", names)._make(VALUES[name] for name in names),
    "Record": lambda names: record_maker(names)([VALUES[name] for name in names]),
}


def written(value: Any, data_type: pa.DataType) -> Any:
    """What a value of a function is as one of a type."""
    rows = OutputRows(pa.schema({"column": data_type}), "Function")
    return pa.Table.from_batches(rows.batches([("key 1", (value,))])).column("column")[0].as_py()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", ORDERS, ids=" ".join)
def test_a_value_with_names_goes_by_them_in_any_order(form: str, names: tuple[str, ...]) -> None:
    value = FORMS[form](names)
    assert written(value, POINT) == VALUES
    assert written([value], pa.list_(POINT)) == [VALUES]
    assert written({"a": value}, pa.map_(pa.utf8(), POINT)) == [("a", VALUES)]
    assert written([(value, 1)], pa.map_(POINT, pa.int64())) == [(VALUES, 1)]


def test_an_entry_of_a_map_goes_by_its_names() -> None:
    entries = [{"value": 1, "key": "a"}, Row(value=2, key="b"), ("c", 3)]
    assert written(entries, pa.map_(pa.utf8(), pa.int64())) == [("a", 1), ("b", 2), ("c", 3)]


def test_a_field_that_comes_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="a field comes twice: 'x', 'x'"):
        field_places(("x", "x"), ("x",))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", ORDERS, ids=" ".join)
def test_a_whole_row_goes_by_its_names_in_any_order(form: str, names: tuple[str, ...]) -> None:
    rows = OutputRows(pa.schema(list(POINT)), "Function")
    (batch,) = rows.batches([("key 1", FORMS[form](names))])
    assert batch.to_pylist() == [VALUES]


def test_a_struct_column_of_a_row_goes_by_its_names() -> None:
    stored = pa.array(
        [VALUES], pa.struct([POINT.field("zeta"), POINT.field("alpha"), POINT.field("mid")])
    )
    assert written(python_values(stored)[0], POINT) == VALUES


@pytest.mark.parametrize("value", [(2, 3, 1), [2, 3, 1]])
def test_a_value_without_names_goes_by_position(value: Any) -> None:
    assert written(value, POINT) == VALUES


@pytest.mark.parametrize(
    "value",
    [(1, 2), Row(a=1, b=2), Row(f1=2, f0=1), record_maker(("b", "a"))([1, 2]), {"f1": 2, "f0": 1}],
)
def test_numbered_fields_are_positions_for_other_names(value: Any) -> None:
    assert written(value, PAIR) == {"f0": 1, "f1": 2}


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        (1, 2, "+I"),
        Row(a=1, b=2),
        {"f1": 2, "f0": 1},
        {"$row_kind": "+I", "f1": 2, "f0": 1},
    ],
)
def test_a_row_of_sql_without_a_kind_is_an_insert(value: Any) -> None:
    assert written(value, SQL_ROW) == {"f0": 1, "f1": 2, "$row_kind": "+I"}


def test_bytes_of_a_value_that_was_not_read_may_be_left_out() -> None:
    assert all_places(["currency", "amount"], ["amount", "currency", "$undecoded"]) == (1, 0, None)
    with pytest.raises(ValueError, match="missing: 'currency'"):
        all_places(["amount"], ["amount", "currency", "$undecoded"])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Row(zeta=1, alpha=2, middle=3), "no field 'middle'; missing: 'mid'"),
        (Backwards(1, 2, 3)._asdict() | {"more": 1}, "no field 'more'"),
        (record_maker(("a", "alpha", "mid"))([1, 2, 3]), "no field 'a'; missing: 'zeta'"),
        ({"a": 1, "b": 2, "c": 3}, "no fields 'a', 'b', 'c'; missing: 'alpha', 'mid', 'zeta'"),
    ],
)
def test_other_names_are_an_error_that_shows_the_difference(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=rf": {problem}$"):
        written(value, POINT)


def test_numbered_fields_that_lie_elsewhere_are_an_error() -> None:
    with pytest.raises(ValueError, match="no field 'a'; missing: 'f1'"):
        field_places(("a", "f0"), ("f0", "f1"))


_KINDS = st.sampled_from([(pa.int32(), pa.int64()), (pa.utf8(), pa.utf8())])


@st.composite
def struct_pairs(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, pa.DataType]:
    """A struct, and the same with the fields of all its structs in another order."""
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True))
    nested = _KINDS if depth == 0 else st.one_of(_KINDS, collections(depth - 1))
    fields = {name: draw(nested) for name in names}
    order = draw(st.permutations(names))
    given_type = pa.struct([(name, fields[name][0]) for name in order])
    return given_type, pa.struct([(name, fields[name][1]) for name in names])


@st.composite
def collections(draw: st.DrawFn, depth: int) -> tuple[pa.DataType, pa.DataType]:
    given_type, wanted = draw(struct_pairs(depth))
    kind = draw(st.sampled_from(["struct", "list", "map"]))
    if kind == "list":
        return pa.list_(given_type), pa.list_(wanted)
    if kind == "map":
        return pa.map_(pa.utf8(), given_type), pa.map_(pa.utf8(), wanted)
    return given_type, wanted


def any_value(data_type: pa.DataType, draw: Callable[[Any], Any]) -> Any:
    if draw(st.integers(0, 5)) == 0:
        return None
    if pa.types.is_struct(data_type):
        return {field.name: any_value(field.type, draw) for field in data_type}
    if pa.types.is_map(data_type):
        return [
            (key, any_value(data_type.item_type, draw))
            for key in draw(st.sets(st.sampled_from("xyz")))
        ]
    if pa.types.is_list(data_type):
        return [any_value(data_type.value_type, draw) for _ in range(draw(st.integers(0, 3)))]
    return (
        draw(st.integers(0, 99)) if pa.types.is_integer(data_type) else draw(st.sampled_from("pq"))
    )


@settings(max_examples=examples(100))
@given(struct_pairs(), st.data())
def test_a_column_is_arranged_by_names_at_any_depth(
    types: tuple[pa.DataType, pa.DataType], data: st.DataObject
) -> None:
    given_type, wanted = types
    values = [any_value(given_type, data.draw) for _ in range(3)]
    column = pa.array([None, *values], given_type).slice(1)
    expected = pa.array([_by_name(value, wanted) for value in values], wanted)
    assert arranged(column, wanted).equals(expected)


def _by_name(value: Any, wanted: pa.DataType) -> Any:
    """The value, whose dicts have the fields in the order of the type."""
    if value is None:
        return None
    if pa.types.is_struct(wanted):
        return {field.name: _by_name(value[field.name], field.type) for field in wanted}
    if pa.types.is_map(wanted):
        return [(key, _by_name(item, wanted.item_type)) for key, item in value]
    if pa.types.is_list(wanted):
        return [_by_name(item, wanted.value_type) for item in value]
    return value


def test_numbered_fields_of_a_column_are_positions() -> None:
    other = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    column = pa.array([[{"x": 1, "y": 2}], None], pa.list_(other))
    assert arranged(column, pa.list_(SQL_ROW)).to_pylist() == [
        [{"f0": 1, "f1": 2, "$row_kind": None}],  # which is written as an insert
        None,
    ]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["zeta", "alpha", "middle"], "no field 'middle'; missing: 'mid'"),
        (["zeta", "alpha"], "missing: 'mid'"),
        (["a", "b", "c"], "no fields 'a', 'b', 'c'; missing: 'alpha', 'mid', 'zeta'"),
    ],
)
def test_a_column_with_other_names_is_an_error(names: list[str], problem: str) -> None:
    column = pa.array([dict.fromkeys(names, 1)], pa.struct([(name, pa.int64()) for name in names]))
    with pytest.raises(ValueError, match=f"^{problem}$"):
        arranged(column, POINT)
