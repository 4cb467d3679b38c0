"""Avro schemas as layouts: the types, how their names are found, and schemas that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import (
    BlockMap,
    BlockRepeated,
    Bytes,
    Enum,
    FixedBytes,
    IndexedUnion,
    Int,
    Layout,
    Long,
    Marker,
    Opaque,
    Struct,
    Utf8,
    Varying,
    nodes_of,
    serializer_length,
)
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot

CLASS = "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot"


def snapshot(schema: str, version: int = 3) -> bytes:
    view = DataOutputView()
    view.write_utf(CLASS)
    view.write_int(version)
    match version:
        case 1:
            view.write_utf(schema)
        case 2:
            view.write_utf("a.B")
            view.write_utf(schema)
        case _:
            view.write_string_value("a.B")
            view.write_string_value(schema)
    return view.to_bytes()


def layout(schema: Any) -> Layout:
    return TypeSerializerSnapshot.read(SnapshotView(snapshot(json.dumps(schema)))).layout()


def record(name: str, /, *fields: Any, **more: Any) -> dict[str, Any]:
    named = [{"name": f"f{index}", "type": field} for index, field in enumerate(fields)]
    return {"type": "record", "name": name, "fields": named, **more}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_holds_the_schema(version: int) -> None:
    data = snapshot('"long"', version)
    found = TypeSerializerSnapshot.read(SnapshotView(data))
    assert found.layout() == Varying(Long())
    view = DataOutputView()
    found.write(view)
    assert view.to_bytes() == data


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("null", Varying(Marker(None))),
        ("string", Utf8()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, Bytes()),
        ({"type": {"type": "string"}}, Utf8()),
        ({"type": "array", "items": "int"}, BlockRepeated(Int())),
        ({"type": "map", "values": "int"}, BlockMap(Int())),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, Varying(Enum("E", ("A", "B")))),
        ({"type": "fixed", "name": "F", "size": 16}, Varying(FixedBytes(16))),
        (["null", "long"], IndexedUnion(("null", "long"), (Marker(None), Long()))),
        (record("R", "int", "long"), Varying(Struct(("f0", "f1"), (Int(), Long())))),
    ],
)
def test_a_schema_is_a_layout(schema: Any, expected: Layout) -> None:
    assert layout(schema) == expected
    # AvroSerializer.getLength() is -1 for every schema.
    assert serializer_length(layout(schema)) == -1


def test_a_name_is_looked_for_in_the_namespace_around_it_then_in_none() -> None:
    inner = {"type": "enum", "name": "E", "symbols": ["A"]}
    inside = layout(record("R", inner, "E", "a.E", namespace="a"))
    assert inside == Varying(Struct(("f0", "f1", "f2"), (Enum("a.E", ("A",)),) * 3))
    outside = layout(record("R", {**inner, "namespace": ""}, "E", namespace="a"))
    assert outside == Varying(Struct(("f0", "f1"), (Enum("E", ("A",)),) * 2))


def test_a_dotted_name_brings_its_namespace_along() -> None:
    inner = record("b.S", {"type": "fixed", "name": "F", "size": 2}, "F", namespace="ignored")
    found = layout(record("a.R", inner, "b.F", "b.S"))
    fixed = FixedBytes(2)
    part = Struct(("f0", "f1"), (fixed, fixed))
    assert found == Varying(Struct(("f0", "f1", "f2"), (part, fixed, part)))


def test_a_record_that_contains_itself_ends_in_bytes() -> None:
    found = layout(record("Node", "long", ["null", "Node"], namespace="a"))
    end = Opaque("a.Node", "an Avro record that contains itself")
    union = IndexedUnion(("null", "Node"), (Marker(None), end))
    assert found == Struct(("f0", "f1"), (Long(), union))


def test_branches_of_the_same_simple_name_go_by_their_full_names() -> None:
    found = layout([record("a.R", "int"), record("b.R", "long")])
    assert isinstance(found, IndexedUnion)
    assert found.names == ("a.R", "b.R")


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "",
        "7",
        "null",
        '"Nowhere"',
        '{"type": "record"}',
        '{"type": "record", "name": "R"}',
        '{"type": "record", "name": 7, "fields": []}',
        '{"type": "record", "name": "R", "fields": [7]}',
        '{"type": "enum", "name": "E", "symbols": 7}',
        '{"type": "fixed", "name": "F", "size": -1}',
        '{"type": "fixed", "name": "F", "size": "x"}',
        "[" * 100_000,
        '{"type": "array", "items": ' * 2_000 + '"int"' + "}" * 2_000,
    ],
    ids=lambda schema: schema[:40],
)
def test_what_is_no_schema_is_bytes_with_the_reason(schema: str) -> None:
    found = TypeSerializerSnapshot.read(SnapshotView(snapshot(schema))).layout()
    assert isinstance(found, Opaque)
    assert found.class_name == CLASS
    assert "schema" in found.reason


def test_a_schema_that_grows_without_end_is_bytes() -> None:
    # Each record has the one before twice: 2 ** 40 fields.
    schema: Any = record("R0", "int")
    for index in range(1, 40):
        schema = record(f"R{index}", schema, f"R{index - 1}")
    assert list(nodes_of(layout(schema), Opaque))


SCHEMAS = st.recursive(
    st.sampled_from(["null", "int", "long", "string", "bytes", "R", "a.R"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda field: record("R", field), inner),
        st.builds(lambda field: record("R", field, namespace="a"), inner),
    ),
    max_leaves=12,
)


@given(SCHEMAS)
def test_no_schema_is_more_than_a_layout(schema: Any) -> None:
    found = layout(schema)
    assert isinstance(found, Layout)
    assert layouts.serializer_length(found) >= -1
