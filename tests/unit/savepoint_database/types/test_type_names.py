"""Types as text are those that ``Types`` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.plug_ins import INTERVAL, MONEY, example_in, on_path

from savepoint_database.types.type_names import parse_parts, parse_type
from state_processor import MissingPackageError, TypeInformation, Types

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {
    "LONG": Types.LONG(),
    "string": Types.STRING(),
    " local_date_time ": Types.LOCAL_DATE_TIME(),
    "LIST<STRING>": Types.LIST(Types.STRING()),
    "MAP<STRING, LIST<LONG>>": Types.MAP(Types.STRING(), Types.LIST(Types.LONG())),
    "SET<INT>": Types.SET(Types.INT()),
    "NULLABLE<LONG>": Types.NULLABLE(Types.LONG()),
    "EITHER<INT, STRING>": Types.EITHER(Types.INT(), Types.STRING()),
    "PRIMITIVE_ARRAY<BYTE>": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "BASIC_ARRAY<LONG>": Types.BASIC_ARRAY(Types.LONG()),
    "OBJECT_ARRAY<LONG, a.B>": Types.OBJECT_ARRAY(Types.LONG(), "a.B"),
    "OBJECT_ARRAY<STRING>": Types.OBJECT_ARRAY(Types.STRING()),
    "TUPLE<LONG, STRING>": Types.TUPLE([Types.LONG(), Types.STRING()]),
    "ROW<LONG, INT>": Types.ROW([Types.LONG(), Types.INT()]),
    "ROW<long LONG, `a b` INT>": Types.ROW_NAMED(["long", "a b"], [Types.LONG(), Types.INT()]),
    "POJO<a.Order$Line, id LONG, tags LIST<STRING>>": Types.POJO(
        "a.Order$Line", {"id": Types.LONG(), "tags": Types.LIST(Types.STRING())}
    ),
    "ENUM<a.Color, RED, GREEN>": Types.ENUM("a.Color", ["RED", "GREEN"]),
    "LIST<ROW_DATA<id BIGINT NOT NULL, p ARRAY<DECIMAL(10, 2)>>>": Types.LIST(
        Types.ROW_DATA([("id", "BIGINT NOT NULL"), ("p", "ARRAY<DECIMAL(10, 2)>")])
    ),
}


@pytest.mark.parametrize(("text", "expected"), TYPES.items(), ids=list(TYPES))
def test_a_text_is_the_type_of_its_name(text: str, expected: TypeInformation) -> None:
    found = parse_type(text)
    assert found == expected
    assert found.arrow_type == expected.arrow_type


def test_the_parts_of_lists_and_maps_are_types() -> None:
    assert parse_parts("LIST<LONG>", "LIST") == (Types.LONG(),)
    assert parse_parts("map<STRING, INT>", "MAP") == (Types.STRING(), Types.INT())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the end, expected one of STRING, CHAR"),
        ("LNG", "'LNG', expected one of STRING, CHAR"),
        ("LIST", "the end, expected '<'"),
        ("LIST<LONG", "the end, expected '>'"),
        ("MAP<LONG>", "'>', expected ','"),
        ("LONG LONG", "'LONG', expected the end"),
        ("ROW<a LONG, INT>", "expected fields with different names"),
        ("ROW<a LONG, a INT>", "expected fields with different names"),
        ("POJO<5>", "expected the name of a class"),
        ("ENUM<a.B, 5>", "expected the name of a constant"),
        ("ROW_DATA<id INT", "the end, expected '>'"),
        ("ROW_DATA<id INTEGRAL>", "is no SQL type"),
        ("PRIMITIVE_ARRAY<STRING>", "expected a primitive"),
        ("LIST<" * 60 + "LONG" + ">" * 60, "nests deeper than 50"),
    ],
)
def test_what_is_no_type_is_told(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_type(text)


def test_a_list_is_no_map() -> None:
    with pytest.raises(ValueError, match="'LIST', expected MAP<…>"):
        parse_parts("LIST<LONG>", "MAP")


def test_a_type_of_a_plug_in_has_its_class_and_nested_types(tmp_path: Path) -> None:
    with on_path(example_in(tmp_path)):
        money = Types.custom(MONEY)
        span = Types.custom(INTERVAL, money)
        assert parse_type(f"CUSTOM<{INTERVAL}, CUSTOM<{MONEY}>>").snapshot == span.snapshot
        assert money.spark_type == "STRUCT<amount: DECIMAL(18, 2), currency: STRING>"
        assert repr(span) == f"Types.custom({INTERVAL!r}, Types.custom({MONEY!r}))"
    with pytest.raises(MissingPackageError, match="its plug-in is not installed here"):
        parse_type("CUSTOM<a.b.Nobody>")
