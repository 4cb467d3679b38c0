"""What a reader sees of decoded values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from savepoint_formats.layout import Layout, Long, MapOf, Nullable, Text, Ttl, without_ttl
from savepoint_formats.tables.visible import visible_values
from savepoint_formats.values.arrow_types import arrow_type


@pytest.mark.parametrize("key", [Text(), Nullable(Text())])
@pytest.mark.parametrize("is_nullable", [False, True])
def test_maps_come_without_the_times_of_their_values(key: Layout, is_nullable: bool) -> None:
    value: Layout = Nullable(Ttl(Long())) if is_nullable else Ttl(Long())
    stored = MapOf(key, value)
    entries = [("a", {"timestamp": 0, "value": 1}), ("b", {"timestamp": 5, "value": None})]
    as_maps = isinstance(key, Text)
    shown = [entries, None, []] if as_maps else [[_entry(*one) for one in entries], None, []]
    found = visible_values(pa.array(shown, arrow_type(stored)), stored)
    assert found.type == arrow_type(without_ttl(stored))
    expected = [("a", 1), ("b", None)]
    assert found.to_pylist() == [
        expected if as_maps else [_entry(*one) for one in expected],
        None,
        [],
    ]


def _entry(key: str, value: object) -> dict[str, object]:
    return {"key": key, "value": value}
