"""Structs are tuples with names, wherever they come from."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from savepoint_database.types.python_conversion import python_values
from savepoint_database.types.records import record_class, record_maker

PAIR = pa.struct([("f0", pa.int64()), ("f1", pa.string())])


@pytest.fixture
def pair() -> Any:
    (value,) = python_values(pa.array([{"f0": 7, "f1": "a"}], PAIR))
    return value


def test_a_field_has_a_place_and_a_name(pair: Any) -> None:
    assert (pair[0], pair.f0, pair["f0"], pair[-1], pair[:1]) == (7, 7, 7, "a", (7,))
    assert pair == (7, "a")
    number, text = pair
    assert (number, text) == pair
    assert pair._replace(f0=8)["f0"] == 8
    assert repr(pair) == "Row(f0=7, f1='a')"


def test_a_field_that_is_not_there_is_told_with_those_that_are(pair: Any) -> None:
    with pytest.raises(KeyError, match="no field 'f2'; there are: f0, f1"):
        pair["f2"]
    with pytest.raises(AttributeError):
        _ = pair.f2


def test_names_that_are_none_of_python_go_in_brackets() -> None:
    value = record_maker(("class", "count", "_x", "a b"))((1, 2, 3, 4))
    assert [value[name] for name in ("class", "count", "_x", "a b")] == [1, 2, 3, 4]
    assert (value.count, value._0) == (2, 1)


def test_a_record_is_pickled_without_a_class_of_its_own(pair: Any) -> None:
    again = pickle.loads(pickle.dumps(pair))
    assert again == pair
    assert type(again) is record_class(("f0", "f1"))
