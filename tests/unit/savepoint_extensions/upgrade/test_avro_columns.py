"""Columns of Avro by another schema are what fastavro reads by it."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from savepoint_extensions.upgrade.avro_columns import resolved, there
from savepoint_extensions.upgrade.compatibility.avro_resolution import AvroSchema
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.values import arrow_type
from state_processor import Types


def record(*fields: Any, name: str = "shop.R") -> dict[str, Any]:
    """A record of fields, each a name, a type, and perhaps a default or an alias."""
    made = []
    for field, kind, *rest in fields:
        made.append({"name": field, "type": kind, **(rest[0] if rest else {})})
    return {"type": "record", "name": name, "fields": made}


def default(value: Any) -> dict[str, Any]:
    return {"default": value}


INNER = record(("x", "int"), name="shop.Inner")
WIDER = record(("y", "string", default("new")), ("x", "long"), name="shop.Inner")
KIND = {"type": "enum", "name": "shop.Kind", "symbols": ["A", "B", "C"]}
FEWER = {"type": "enum", "name": "shop.Kind", "symbols": ["B", "A"], "default": "A"}
CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "a field in the middle, one gone, one wider": (
        record(("a", "int"), ("b", "string"), ("c", "float")),
        record(("a", "long"), ("n", ["null", "string"], default(None)), ("c", "double")),
        [{"a": 1, "b": "x", "c": 0.5}, {"a": -7, "b": "", "c": 1.25}],
    ),
    "a field with another name, and another order": (
        record(("a", "int"), ("b", "string")),
        record(("second", "string", {"aliases": ["b"]}), ("a", "double")),
        [{"a": 1, "b": "x"}, {"a": 2, "b": "ü"}],
    ),
    "defaults of all kinds": (
        record(("a", "int")),
        record(
            ("a", "int"), ("s", "string", default("ä")), ("b", "bytes", default("\u00ff")),
            ("l", {"type": "array", "items": "int"}, default([1, 2])),
            ("m", {"type": "map", "values": "long"}, default({"k": 3})),
            ("r", WIDER, default({"x": 4, "y": "z"})), ("e", KIND, default("B")),
            ("u", ["int", "null"], default(5)), ("t", "boolean", default(True)),
        ),
        [{"a": 1}, {"a": 2}],
    ),
    "within lists, maps and records": (
        record(("l", {"type": "array", "items": INNER}), ("m", {"type": "map", "values": "shop.Inner"})),
        record(("l", {"type": "array", "items": WIDER}), ("m", {"type": "map", "values": "shop.Inner"})),
        [{"l": [{"x": 1}, {"x": 2}], "m": {"k": {"x": 3}}}, {"l": [], "m": {}}],
    ),
    "a type becomes a union": (
        record(("a", "int"), ("b", "string")),
        record(("a", ["null", "string", "long"]), ("b", ["null", "string"])),
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    ),
    "a union gets a branch, in another order": (
        record(("a", ["null", "int"]), ("r", ["null", INNER])),
        record(("a", ["string", "long", "null"]), ("r", [WIDER, "null"])),
        [{"a": None, "r": {"x": 1}}, {"a": 3, "r": None}, {"a": None, "r": None}],
    ),
    "a union of many becomes one wide type": (
        record(("a", ["int", "long", "float"])),
        record(("a", "double")),
        [{"a": 1}, {"a": 2.5}, {"a": 1 << 40}],
    ),
    "a nullable field that has no nulls is one no more": (
        record(("a", ["null", "int"])), record(("a", "long")), [{"a": 1}, {"a": 2}],
    ),
    "symbols that are gone are the default": (
        record(("e", KIND)), record(("e", FEWER)), [{"e": "A"}, {"e": "C"}, {"e": "B"}],
    ),
    "texts and bytes": (
        record(("s", "string"), ("b", "bytes")), record(("s", "bytes"), ("b", "string")),
        [{"s": "ü", "b": "ö".encode()}],
    ),
    "a fixed stays": (
        record(("f", {"type": "fixed", "name": "F", "size": 2})),
        record(("n", "int", default(1)), ("f", {"type": "fixed", "name": "F", "size": 2})),
        [{"f": b"ab"}],
    ),
}  # fmt: skip


def column_type(schema: Any) -> pa.DataType:
    return arrow_type(Types.AVRO(json.dumps(schema)).snapshot.layout())


def shown(value: Any, schema: AvroSchema) -> Any:
    """A value of fastavro as a column has it."""
    match schema.kind:
        case "union":
            branches = [branch for branch in schema.branches if branch.kind != "null"]
            if value is None:
                return None
            if len(branches) == 1:
                return shown(value, branches[0])
            fits = [it for it in branches if fastavro.validate(value, it.json, raise_errors=False)]
            exact = [it for it in fits if it.kind != "float" or isinstance(value, float)]
            chosen = exact[0]
            return {
                (it.name if it.kind in ("record", "enum") else it.kind): shown(value, it)
                if it is chosen
                else None
                for it in branches
            }
        case "record":
            return {
                part["name"]: shown(value[part["name"]], schema.part(part["type"]))
                for part in schema.json["fields"]
            }
        case "array":
            return [shown(item, schema.part(schema.json["items"])) for item in value]
        case "map":
            inside = schema.part(schema.json["values"])
            return [(key, shown(item, inside)) for key, item in value.items()]
        case "bytes" if isinstance(value, str):
            return value.encode("latin-1")  # fastavro leaves such a default as JSON has it
    return value


def by_fastavro(value: Any, writer: Any, reader: Any) -> Any:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(writer), value)
    data.seek(0)
    return fastavro.schemaless_reader(
        data, fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    )


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_that_fastavro_resolves(name: str) -> None:
    writer, reader, values = CASES[name]
    old, new = AvroSchema.of(writer), AvroSchema.of(reader)
    stored = pa.array([shown(value, old) for value in values], column_type(writer))
    target = column_type(reader)
    column = resolved(stored, old, new, target)
    assert column.type == target
    expected = [shown(by_fastavro(value, writer, reader), new) for value in values]
    assert column.to_pylist() == expected


@pytest.mark.parametrize(
    ("writer", "reader", "values", "message"),
    [
        (
            record(("a", ["null", "int"])),
            record(("a", "int")),
            [{"a": None}],
            "a: 1 values are null",
        ),
        (record(("a", ["int", "string"])), record(("a", "int")), [{"a": "x"}], "lacks"),
        (record(("e", KIND)), record(("e", {**FEWER, "default": None})), [], ""),
        (record(("a", "int")), record(("n", "int")), [{"a": 1}], "'n' is new, and has no default"),
        (record(("b", "bytes")), record(("b", "string")), [{"b": b"\xff"}], "no UTF-8"),
    ],
)
def test_a_value_that_the_schema_can_not_have_is_refused(
    writer: Any, reader: Any, values: list[Any], message: str
) -> None:
    old, new = AvroSchema.of(writer), AvroSchema.of(reader)
    stored = pa.array([shown(value, old) for value in values], column_type(writer))
    if not message:
        assert len(resolved(stored, old, new, column_type(reader))) == 0
        return
    with pytest.raises(SchemaChangeError, match=message):
        resolved(stored, old, new, column_type(reader))


def test_the_branch_of_the_same_type_comes_before_one_that_is_wider() -> None:
    writer, reader = record(("a", "int")), record(("a", ["null", "long", "int"]))
    schemas = AvroSchema.of(writer), AvroSchema.of(reader)
    column = resolved(pa.array([{"a": 1}], column_type(writer)), *schemas, column_type(reader))
    assert column.to_pylist() == [{"a": {"long": None, "int": 1}}]


@pytest.mark.parametrize("reader_name", [{}, {"name": "c.Y", "aliases": ["b.X"]}])
def test_the_branch_with_the_full_name_comes_before_one_with_the_same_short_name(
    reader_name: dict[str, Any],
) -> None:
    first, second = record(("v", "int"), name="a.X"), record(("v", "int"), name="b.X")
    third = record(("v", "int"), name="c.X")
    writer = record(("u", [first, second]), ("one", third))
    reader = record(("u", [first, {**second, **reader_name}]), ("one", ["null", "a.X", third]))
    stored = [{"u": {"a.X": None, "b.X": {"v": 1}}, "one": {"v": 2}}]
    schemas = AvroSchema.of(writer), AvroSchema.of(reader)
    column = resolved(pa.array(stored, column_type(writer)), *schemas, column_type(reader))
    (row,) = column.to_pylist()
    assert [*row["u"].values()] == [None, {"v": 1}]
    assert row["one"] == {"a.X": None, "c.X": {"v": 2}}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", None), ("string", 5), ("int", "x"), ("int", 1 << 31), ("int", 1.5), ("int", True),
        ("boolean", "x"), ("float", "x"), ("double", True), ("bytes", 3), ("bytes", "€"),
        (KIND, "Z"), ({"type": "fixed", "name": "F", "size": 2}, "abc"), (["null", "string"], 5),
        ({"type": "array", "items": "int"}, "x"), ({"type": "map", "values": "int"}, [1]), (WIDER, {}),
    ],
)  # fmt: skip
def test_a_default_that_is_no_value_of_its_type_is_refused(kind: Any, value: Any) -> None:
    reader = record(("a", "int"), ("n", kind, default(value)))
    schemas = AvroSchema.of(record(("a", "int"))), AvroSchema.of(reader)
    stored = pa.array([{"a": 1}], column_type(record(("a", "int"))))
    with pytest.raises(SchemaChangeError, match=r"'n' is new, and its default .* is no value"):
        resolved(stored, *schemas, column_type(reader))


def test_the_default_of_a_union_is_of_the_first_branch_that_has_it() -> None:
    reader = record(
        ("a", "int"),
        ("n", ["null", "string"], default("x")),
        ("m", ["string", "null"], default(None)),
        ("k", ["string", "int", "double"], default(3)),
    )
    schemas = AvroSchema.of(record(("a", "int"))), AvroSchema.of(reader)
    stored = pa.array([{"a": 1}], column_type(record(("a", "int"))))
    (row,) = resolved(stored, *schemas, column_type(reader)).to_pylist()
    assert row == {"a": 1, "n": "x", "m": None, "k": {"string": None, "int": 3, "double": None}}


def test_only_values_that_are_there_are_changed() -> None:
    changed = there(pa.array([1, None, 3]), lambda column: pa.array([len(column)] * len(column)))
    assert changed.to_pylist() == [2, None, 2]
