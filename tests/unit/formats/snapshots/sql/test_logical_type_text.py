"""SQL types as text: what is understood, and what is said of the rest."""

from __future__ import annotations

import pytest

from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type

MAX = 2**31 - 1
INT = LogicalType("INTEGER")

TYPES = {
    "CHAR": LogicalType("CHAR", length=1),
    "CHAR(5)": LogicalType("CHAR", length=5),
    "VARCHAR(20)": LogicalType("VARCHAR", length=20),
    "STRING": LogicalType("VARCHAR", length=MAX),
    "BINARY(4)": LogicalType("BINARY", length=4),
    "VARBINARY": LogicalType("VARBINARY", length=1),
    "BYTES": LogicalType("VARBINARY", length=MAX),
    "BOOLEAN": LogicalType("BOOLEAN"),
    "TINYINT": LogicalType("TINYINT"),
    "SMALLINT": LogicalType("SMALLINT"),
    "INT": INT,
    "integer": INT,
    "BIGINT NULL": LogicalType("BIGINT"),
    "BIGINT NOT NULL": LogicalType("BIGINT", is_nullable=False),
    "FLOAT": LogicalType("FLOAT"),
    "DOUBLE PRECISION": LogicalType("DOUBLE"),
    "DECIMAL": LogicalType("DECIMAL", precision=10),
    "DEC(5)": LogicalType("DECIMAL", precision=5),
    "NUMERIC ( 38 , 18 )": LogicalType("DECIMAL", precision=38, scale=18),
    "DATE": LogicalType("DATE"),
    "TIME": LogicalType("TIME_WITHOUT_TIME_ZONE"),
    "TIME(3) WITHOUT TIME ZONE": LogicalType("TIME_WITHOUT_TIME_ZONE", precision=3),
    "TIMESTAMP": LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=6),
    "TIMESTAMP(9) WITHOUT TIME ZONE": LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=9),
    "TIMESTAMP_LTZ(0)": LogicalType("TIMESTAMP_WITH_LOCAL_TIME_ZONE"),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": LogicalType("TIMESTAMP_WITH_LOCAL_TIME_ZONE", precision=3),
    "ARRAY<INT NOT NULL> NOT NULL": LogicalType(
        "ARRAY", is_nullable=False, children=(LogicalType("INTEGER", is_nullable=False),)
    ),
    "MULTISET<INT>": LogicalType("MULTISET", children=(INT,)),
    "MAP<INT, MAP<INT, INT>>": LogicalType(
        "MAP", children=(INT, LogicalType("MAP", children=(INT, INT)))
    ),
    "ROW<a INT, `b ``c` INT>": LogicalType("ROW", names=("a", "b `c"), children=(INT, INT)),
    "ROW(a INT)": LogicalType("ROW", names=("a",), children=(INT,)),
    "ROW<>": LogicalType("ROW"),
}


@pytest.mark.parametrize(("text", "expected"), TYPES.items(), ids=TYPES)
def test_a_text_means_a_type(text: str, expected: LogicalType) -> None:
    assert parse_logical_type(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the end, expected a type such as BIGINT"),
        ("BIGNT", "'BIGNT', expected a type such as BIGINT"),
        ("DECIMAL(40, 2)", "'40', expected a number of 1 to 38"),
        ("DECIMAL(5, 6)", "'6', expected a number of 0 to 5"),
        ("CHAR(0)", "'0', expected a number of 1 to 2147483647"),
        ("TIMESTAMP(10)", "'10', expected a number of 0 to 9"),
        ("ARRAY<INT", "the end, expected '>'"),
        ("MAP<INT>", "'>', expected ','"),
        ("ROW INT", "'INT', expected '<' or '\\('"),
        ("ROW<1 INT>", "'1', expected the name of a field"),
        ("ROW<a INT b INT>", "'b', expected ','"),
        ("INT NOT", "'NOT', expected the end"),
        ("INT; DROP", "'; DROP' is not understood"),
        ("ARRAY<" * 60 + "INT" + ">" * 60, "nests deeper than 50"),
    ],
)
def test_another_text_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_logical_type(text)
