"""The times of values with a time to live are hidden, and put back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from savepoint_formats.layout import Layout, Long, MapOf, Nullable, Repeated, Text, Ttl, without_ttl
from savepoint_formats.tables.visible import with_times, without_times
from savepoint_formats.values.arrow_types import arrow_type


@pytest.mark.parametrize("key", [Text(), Nullable(Text())])
@pytest.mark.parametrize("is_nullable", [False, True])
def test_maps_come_without_the_times_of_their_values(key: Layout, is_nullable: bool) -> None:
    value: Layout = Nullable(Ttl(Long())) if is_nullable else Ttl(Long())
    stored = MapOf(key, value)
    entries = [("a", {"timestamp": 0, "value": 1}), ("b", {"timestamp": 5, "value": None})]
    as_maps = isinstance(key, Text)
    shown = [entries, None, []] if as_maps else [[_entry(*one) for one in entries], None, []]
    values = without_times(pa.array(shown, arrow_type(stored)), stored)
    assert values.type == arrow_type(without_ttl(stored))
    expected = [("a", 1), ("b", None)]
    assert values.to_pylist() == [
        expected if as_maps else [_entry(*one) for one in expected],
        None,
        [],
    ]


def _entry(key: str, value: object) -> dict[str, object]:
    return {"key": key, "value": value}


TIMED: list[tuple[Layout, list[Any]]] = [
    (Ttl(Long()), [1, None, 3]),
    (Repeated(Ttl(Text())), [["a", "b"], [], ["c"]]),
    (MapOf(Text(), Nullable(Ttl(Long()))), [[("a", 1)], [], [("b", 2), ("c", 3)]]),
]


@pytest.mark.parametrize(("stored", "values"), TIMED, ids=["value", "list", "map"])
def test_what_is_put_back_is_hidden_again(stored: Layout, values: list[Any]) -> None:
    column = pa.array(values, arrow_type(without_ttl(stored)))
    timed = with_times(column, pa.array([5, 6, 7], pa.int64()), stored)
    assert timed.type == arrow_type(stored)
    assert without_times(timed, stored).equals(column)


def test_each_part_of_a_row_has_the_time_of_the_row() -> None:
    stored = Repeated(Ttl(Text()))
    column = pa.array([["a", "b"], ["c"]], arrow_type(without_ttl(stored)))
    timed = with_times(column, pa.array([5, 6], pa.int64()), stored)
    times = timed.values.field("timestamp").cast(pa.int64())
    assert times.to_pylist() == [5, 5, 6]


def test_what_has_no_time_to_live_takes_no_times() -> None:
    with pytest.raises(ValueError, match="has no time to live"):
        with_times(pa.array([1]), pa.array([5], pa.int64()), Long())
