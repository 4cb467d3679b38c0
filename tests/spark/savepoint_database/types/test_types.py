"""Types of new state: what they are made of, and what columns they are."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from savepoint_database.types.types import TypeInformation, Types
from savepoint_formats.layout import Long, MapOf, Nullable, Repeated, Struct, Text
from savepoint_formats.snapshots import constructed
from savepoint_formats.values.kinds.precise_times import precise_type

EXPRESSIONS = [
    "Types.LONG()",
    "Types.LIST(Types.STRING())",
    "Types.SET(Types.INT())",
    "Types.MAP(Types.STRING(), Types.LIST(Types.LONG()))",
    "Types.NULLABLE(Types.INSTANT())",
    "Types.EITHER(Types.STRING(), Types.LONG())",
    "Types.PRIMITIVE_ARRAY(Types.BYTE())",
    "Types.BASIC_ARRAY(Types.LONG())",
    "Types.OBJECT_ARRAY(Types.BIG_DEC(), 'java.math.BigDecimal')",
    "Types.TUPLE([Types.LONG(), Types.STRING()])",
    "Types.ROW([Types.LONG(), Types.LOCAL_DATE()])",
    "Types.ROW_NAMED(['id', 'day'], [Types.LONG(), Types.LOCAL_DATE()])",
    "Types.ROW_DATA([('id', 'BIGINT NOT NULL'), ('tags', 'ARRAY<STRING>')])",
    "Types.POJO('com.example.Order', {'id': Types.LONG()})",
    "Types.ENUM('com.example.Color', ['RED', 'GREEN'])",
    "Types.TIME_WINDOW()",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_type_is_shown_as_the_call_that_makes_it(expression: str) -> None:
    assert repr(eval(expression)) == expression


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_type_goes_to_an_executor(expression: str) -> None:
    found = eval(expression)
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(eval(expression))


@pytest.mark.parametrize(
    ("expression", "arrow", "spark"),
    [
        ("Types.LONG()", pa.int64(), "BIGINT"),
        ("Types.BIG_DEC()", pa.utf8(), "STRING"),
        ("Types.INSTANT()", precise_type("UTC"), "TIMESTAMP"),
        ("Types.LOCAL_DATE_TIME()", precise_type(), "TIMESTAMP_NTZ"),
        ("Types.PRIMITIVE_ARRAY(Types.BYTE())", pa.binary(), "BINARY"),
        ("Types.PRIMITIVE_ARRAY(Types.INT())", pa.list_(pa.int32()), "ARRAY<INT>"),
        (
            "Types.MAP(Types.INT(), Types.FLOAT())",
            pa.map_(pa.int32(), pa.float32()),
            "MAP<INT, FLOAT>",
        ),
        (
            "Types.TUPLE([Types.LONG(), Types.BOOLEAN()])",
            pa.struct({"f0": pa.int64(), "f1": pa.bool_()}),
            "STRUCT<f0: BIGINT, f1: BOOLEAN>",
        ),
        (
            "Types.POJO('a.P', {'z': Types.INT(), 'a': Types.STRING()})",
            pa.struct({"a": pa.utf8(), "z": pa.int32()}),
            "STRUCT<a: STRING, z: INT>",
        ),
    ],
)
def test_a_type_is_a_column(expression: str, arrow: pa.DataType, spark: str) -> None:
    found = eval(expression)
    assert found.arrow_type == arrow
    assert found.spark_type == spark


def test_rows_with_names_are_structs_of_these_names() -> None:
    row = Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.LOCAL_DATE()])
    struct = "STRUCT<id: BIGINT, day: DATE, `$row_kind`: STRING>"
    assert row.spark_type == struct
    assert Types.LIST(row).spark_type == f"ARRAY<{struct}>"


def test_rows_of_sql_have_the_names_and_types_that_they_are_given() -> None:
    row = Types.ROW_DATA([("id", "BIGINT NOT NULL"), ("price", "DECIMAL(10, 2)")])
    assert row.spark_type == "STRUCT<id: BIGINT, price: DECIMAL(10, 2), `$row_kind`: STRING>"


def test_the_layout_is_that_of_the_snapshot() -> None:
    found = Types.MAP(Types.STRING(), Types.LIST(Types.TUPLE([Types.LONG()])))
    assert found.layout == MapOf(Text(), Nullable(Repeated(Struct(("f0",), (Long(),)))))


def test_a_type_of_existing_state_equals_the_same_type_made_new() -> None:
    found = TypeInformation.of(constructed.list_of(constructed.long()))
    assert found == Types.LIST(Types.LONG())
    assert repr(found) == "<ListSerializer of ARRAY<BIGINT>>"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Types.LIST(Types.LONG),  # type: ignore[arg-type]
        lambda: Types.TUPLE([Types.LONG]),  # type: ignore[list-item]
        lambda: Types.POJO("a.P", {"a": Types.LONG}),  # type: ignore[dict-item]
    ],
)
def test_a_type_without_its_parentheses_is_a_clear_error(make: object) -> None:
    with pytest.raises(TypeError, match=r"is no type, expected a call such as Types.LONG\(\)"):
        make()  # type: ignore[operator]


def test_what_java_has_no_type_for_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a primitive type"):
        Types.PRIMITIVE_ARRAY(Types.STRING())
    with pytest.raises(ValueError, match="expected a basic type"):
        Types.BASIC_ARRAY(Types.INSTANT())
    with pytest.raises(ValueError, match="a tuple of 26 fields, expected 25 at most"):
        Types.TUPLE([Types.LONG()] * 26)
    with pytest.raises(ValueError, match="'BIGNT' is no SQL type"):
        Types.ROW_DATA([("id", "BIGNT")])
