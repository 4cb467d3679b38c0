from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from savepoint_extensions.privacy.field_walk import FieldWalk, field_types
from savepoint_extensions.privacy.mask_methods import FieldType
from savepoint_formats.errors import MaskError
from savepoint_formats.layout import (
    BigDecimal,
    Enum,
    Long,
    MapOf,
    Marker,
    Nullable,
    OfScala,
    Repeated,
    Struct,
    Text,
    Ttl,
)
from savepoint_formats.values.arrow_types import arrow_type

LAYOUT = Struct(
    ("name", "seen", "tags", "sizes"),
    (
        Nullable(Text()),
        Enum("Shape", ("ROUND", "FLAT")),
        Repeated(Text()),
        MapOf(Text(), BigDecimal()),
    ),
)


def test_fields_have_names_and_types() -> None:
    assert field_types(LAYOUT, arrow_type(LAYOUT), "value") == {
        "value.name": FieldType.TEXT,
        "value.seen": FieldType.ENUM,
        "value.tags": FieldType.TEXT,
        "value.sizes.key": FieldType.TEXT,
        "value.sizes.value": FieldType.DECIMAL,
    }


def test_the_one_text_of_a_scala_object_is_no_free_text() -> None:
    layout = OfScala(Marker(text="()"))
    assert field_types(layout, arrow_type(layout), "value") == {"value": FieldType.ENUM}


@pytest.mark.parametrize("layout", [Ttl(Long()), Repeated(Ttl(Long()))])
def test_the_time_of_a_ttl_is_no_field(layout: Ttl | Repeated) -> None:
    found = field_types(layout, arrow_type(layout), "value", is_timed=True)
    assert found == {"value": FieldType.INTEGER}


ROWS = [
    {"name": "Ada", "seen": "ROUND", "tags": ["x", "y"], "sizes": [("a", "1"), ("b", "2")]},
    None,
    {"name": None, "seen": "FLAT", "tags": None, "sizes": None},
    {"name": "Zoë", "seen": "FLAT", "tags": [], "sizes": [("a", "3")]},
]


def upper(_name: str, values: pa.Array) -> pa.Array:
    return pc.utf8_upper(values)


def test_only_wanted_leaves_change() -> None:
    column = pa.array(ROWS, arrow_type(LAYOUT))
    walk = FieldWalk(upper, frozenset(["value.name", "value.tags", "value.sizes.key"]))
    assert walk.values(column, "value").to_pylist() == [
        {"name": "ADA", "seen": "ROUND", "tags": ["X", "Y"], "sizes": [("A", "1"), ("B", "2")]},
        None,
        {"name": None, "seen": "FLAT", "tags": None, "sizes": None},
        {"name": "ZOË", "seen": "FLAT", "tags": [], "sizes": [("A", "3")]},
    ]


def test_equal_keys_of_a_map_are_refused() -> None:
    column = pa.array([[("a", 1), ("A", 2)], [("a", 3)]], pa.map_(pa.utf8(), pa.int64()))
    with pytest.raises(MaskError, match="1 keys of a map"):
        FieldWalk(upper, frozenset(["map_key"])).entries(column, "map_key", "value")
