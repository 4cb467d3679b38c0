"""Which types of a column hold all values of another type."""

from __future__ import annotations

import pytest

from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type
from savepoint_formats.snapshots.sql.wider_types import holds, type_text


@pytest.mark.parametrize(
    ("narrow", "wide", "is_wider"),
    [
        ("INT", "INT", True),
        ("INT NOT NULL", "INT", True),
        ("INT", "INT NOT NULL", False),
        ("INT", "BIGINT", True),
        ("BIGINT", "INT", False),
        ("INT", "DOUBLE", False),
        ("FLOAT", "DOUBLE", True),
        ("VARCHAR(3)", "STRING", True),
        ("STRING", "VARCHAR(3)", False),
        ("CHAR(3)", "VARCHAR(3)", True),
        ("CHAR(3)", "CHAR(5)", False),
        ("DECIMAL(10, 2)", "DECIMAL(12, 2)", True),
        ("DECIMAL(10, 2)", "DECIMAL(11, 4)", False),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", True),
        ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", False),
        ("ARRAY<INT>", "ARRAY<BIGINT>", False),
    ],
)
def test_a_type_holds_all_values_of_a_narrower_one(narrow: str, wide: str, is_wider: bool) -> None:
    assert holds(parse_logical_type(wide), parse_logical_type(narrow)) == is_wider


def test_reasons_show_sizes_and_what_is_never_null() -> None:
    assert type_text(parse_logical_type("DECIMAL(10, 2) NOT NULL")) == "DECIMAL(10, 2) NOT NULL"
    assert type_text(parse_logical_type("BIGINT")) == "BIGINT"
