"""Values that the general path writes: other forms of a value, and wrong ones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from support.value_layouts import (
    COLOR,
    EITHER,
    INT,
    LONG,
    POJO_WITH_TAGS,
    TEXT,
    framed_row,
    nanos,
    row_of,
    written,
)

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, LogicalType, MapOf, Repeated, Tagged


@pytest.mark.parametrize(
    ("layout", "value"),
    [
        (INT, 1 << 31),
        (INT, None),
        (layouts.Float(), 1e39),
        (layouts.Char(), "ab"),
        (COLOR, "PINK"),
        (Tagged((0, 1), ("a", "b"), (INT, LONG)), {"a": None, "b": None}),
        (EITHER, {"left": "a", "right": 1}),
        (Repeated(INT), None),
        (layouts.DecimalData(4, 2), Decimal("1.234")),
        (layouts.DecimalData(4, 2), Decimal("123")),
        (layouts.DecimalData(4, 2), Decimal("1E+1000000")),
        (layouts.BigInteger(), "1.5"),
        (layouts.BigDecimal(), "nan"),
        (layouts.BigDecimal(), "pi"),
        (layouts.TimestampData(3), datetime(2020, 1, 1, 0, 0, 0, 1)),
        (layouts.LocalTime(), 86_400_000_000_000),
        (layouts.Marker(), 1),
        (layouts.FixedBytes(2), b"abc"),
        (layouts.Kryo("A"), "text"),
        (framed_row(("f0",), (LogicalType("BIGINT", is_nullable=False),)), {"f0": None}),
        (POJO_WITH_TAGS, {"$class": "Other"}),
    ],
)
def test_what_the_layout_cannot_express_is_refused(layout: Layout, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        written(layout, value)


@pytest.mark.parametrize(
    ("layout", "value", "same"),
    [
        (layouts.BigInteger(), 12, "12"),
        (layouts.BigDecimal(), Decimal("1.50"), "1.50"),
        (MapOf(TEXT, INT), {"a": 1}, [("a", 1)]),
        (layouts.LocalTime(), "01:02:03.000000004", nanos(3723, 4)),
        (layouts.Instant(), datetime(1970, 1, 1, 0, 0, 1, 5, UTC), nanos(1, 5000)),
        (layouts.LocalDate(), 0, date(1970, 1, 1)),
        (layouts.DecimalData(5, 2), "1.5", Decimal("1.50")),
        (row_of(f0=INT), {"f0": 1}, {"f0": 1, "$row_kind": "+I"}),
    ],
)
def test_other_forms_of_a_value_are_written_alike(layout: Layout, value: Any, same: Any) -> None:
    assert written(layout, value) == written(layout, same)
