"""Columns of classes that the user described, against bytes of both versions of Kryo."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.each import each
from support.kryo_vectors import COLORS, TEXT, VECTORS, layout_of, named

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import (
    Framed,
    Kryo,
    KryoClass,
    Layout,
    Long,
    Nullable,
    Repeated,
    Struct,
    TypeArgument,
    with_kryo_classes,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode, decode_sequence
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kryo.descriptions import (
    kryo_class,
    kryo_classes_json,
    kryo_classes_of,
)
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.state_entries import Delimited, EntryReader
from savepoint_formats.values.undecoded import notes
from savepoint_formats.values.values import read_value

FIELDS = {
    "name": TEXT,
    "age": "int",
    "tags": f"java.util.List<{TEXT}>",
    "any": "java.lang.Object",
    "arr": f"{TEXT}[]",
    "big": "java.lang.Long",
    "bytes": "byte[]",
    "ch": "char",
    "color": "GenKryo$Color",
    "d": "double",
    "f": "float",
    "flag": "boolean",
    "l": "long",
    "m": f"java.util.Map<{TEXT}, java.lang.Integer>",
    "next": "GenKryo$User",
    "objs": "java.util.List",
    "sh": "short",
}
CLASSES = (
    kryo_class("GenKryo$User", FIELDS),
    kryo_class("GenKryo$Fin", {"a": TEXT, "b": "int"}, is_final=True),
    kryo_class("GenKryo$Color", constants=COLORS),
)
OLD, NEW = (KryoDialect(version, CLASSES) for version in KryoVersion)
POINT = "com.acme.Point"


def described(layout: Layout, *classes: KryoClass) -> Layout:
    return with_kryo_classes(layout, classes)


def point(*fields: str) -> Kryo:
    found = described(Kryo(POINT), kryo_class(POINT, dict.fromkeys(fields, "int")))
    assert isinstance(found, Kryo)
    return found


def dialect(layout: Kryo) -> KryoDialect:
    return KryoDialect(KryoVersion.V5_6, layout.classes)


def read(layout: Kryo, data: str) -> Any:
    return read_value(layout, DataInputView(bytes.fromhex(data)), dialect(layout))


@pytest.mark.parametrize(
    "vector",
    [one for one in VECTORS if one["name"] == "kryo:user"],
    ids=lambda vector: vector["flink"],
)
def test_an_object_that_the_jar_wrote_is_a_struct(vector: dict[str, Any]) -> None:
    layout = described(layout_of(vector["snapshot"]), *CLASSES)
    kryo = OLD if vector["flink"].startswith("1") else NEW
    data = np.frombuffer(bytes.fromhex(vector["data"]), np.uint8)
    found = decode(program(layout, kryo), Chunk(data), np.array([0]), np.array([len(data)]))
    assert found.type == arrow_type(layout)
    assert found.to_pylist() == [
        {
            "name": "Bob",
            "age": 42,
            "tags": ["x", "y"],
            "any": "[1]",
            "arr": ["r"],
            "big": 7,
            "bytes": b"\t",
            "ch": "c",
            "color": "GREEN",
            "d": 2.5,
            "f": 0.5,
            "flag": True,
            "l": -9,
            "m": [("q", 1)],
            "next": '{"$reference": 0}',
            "objs": '["o", 2]',
            "sh": 3,
            "$undecoded": None,
        }
    ]


@each("vector", VECTORS, ids=lambda one: f"{one['name']} {one['flink']}")
def test_descriptions_change_nothing_for_other_classes(vector: dict[str, Any]) -> None:
    layout = layout_of(vector["snapshot"])
    if layout.class_name not in {one.class_name for one in CLASSES}:
        assert described(layout, *CLASSES) == layout


def test_columns_are_in_the_order_of_the_description() -> None:
    assert arrow_type(point("y", "x")).names == ["y", "x", "$undecoded"]
    # Kryo's order is that of the names, whatever the description's.
    assert read(point("y", "x"), named(POINT) + "01 02 04") == {"y": 2, "x": 1, "$undecoded": None}


def test_null_is_null() -> None:
    assert read(point("x"), "00") is None


def test_a_class_of_collections_of_open_classes() -> None:
    line = kryo_class("com.acme.Line", {"points": f"java.util.ArrayList<{POINT}>"})
    layout = described(Kryo("com.acme.Line"), line, kryo_class(POINT, {"x": "int"}))
    assert isinstance(layout, Kryo)
    # The elements of a class that is not final come with their class.
    data = named("com.acme.Line") + "01"
    data += "01 01 6a6176612e7574696c2e41727261794c6973f4 01 82"
    data += "01 02 " + (POINT[:-1].encode() + bytes([ord("t") | 0x80])).hex() + " 00 01 06"
    assert read(layout, data) == {"points": [{"x": 3}], "$undecoded": None}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (named(POINT) + "01 02", "the data ends"),
        (named("com.acme.Other") + "01 02 04", r"com.acme.Other, whose fields are not known"),
        ("03018261", "'a' where a com.acme.Point is expected"),
        (named(POINT) + "07 02 04", "a reference to object 5"),
    ],
)
def test_what_does_not_fit_is_bytes_with_the_reason(data: str, reason: str) -> None:
    value = read(point("x", "y"), data)
    assert (value["x"], value["y"]) == (None, None)
    assert value["$undecoded"]["bytes"] == bytes.fromhex(data)
    assert reason in value["$undecoded"]["reason"]
    pa.array([value], arrow_type(point("x", "y")))


@pytest.mark.parametrize("wrap", [lambda one: one, Framed, lambda one: Struct(("f",), (one,))])
def test_a_field_that_was_forgotten_spoils_no_other_record(wrap: Any) -> None:
    layout, whole = point("x"), bytes.fromhex(named(POINT) + "01 02")
    records = [whole, whole + b"\4", whole]
    if wrap is Framed:
        records = [len(one).to_bytes(4) + one for one in records]
    ends = np.cumsum([len(one) for one in records])
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    found = decode(
        program(wrap(layout), dialect(layout)), chunk, ends - np.diff(ends, prepend=0), ends
    )
    values = [one.get("f", one) for one in found.to_pylist()]
    assert [one["x"] for one in values] == [1, None, 1]
    assert values[1]["$undecoded"] == {
        "bytes": whole + b"\4",
        "reason": "com.acme.Point: 1 bytes are left behind its fields",
    }


def test_a_field_that_was_forgotten_shifts_nothing_behind_it() -> None:
    layout = Struct(("p", "n"), (point("x"), Nullable(Long())))
    whole = bytes.fromhex(named(POINT) + "01 02")
    records = [whole + bytes(9), whole + b"\4" + bytes(9)]
    ends = np.cumsum([len(one) for one in records])
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    found = decode(program(layout, dialect(point("x"))), chunk, np.append(0, ends[:-1]), ends)
    right, wrong = found.to_pylist()
    assert right == {"p": {"x": 1, "$undecoded": None}, "n": 0}
    assert (wrong["p"]["x"], wrong["n"]) == (None, 0)
    assert wrong["p"]["$undecoded"]["bytes"] == whole + b"\4"
    assert wrong["p"]["$undecoded"]["reason"].endswith("what lies behind its fields does not fit")


def test_a_field_that_was_forgotten_in_a_list_of_entries() -> None:
    layout, whole = point("x"), bytes.fromhex(named(POINT) + "01 02")
    data = whole + b"," + whole + b"\4" + b"," + whole + b"\4"
    found = EntryReader(DataInputView(data), dialect(layout)).read(Delimited(layout))
    assert [one["x"] for one in found] == [1, None]
    assert found[1]["$undecoded"]["bytes"] == data[len(whole) + 1 :]


def test_fields_behind_an_object_that_does_not_fit_are_null() -> None:
    layout = Struct(("p", "n"), (point("x"), Long()))
    data = bytes.fromhex("03018261") + bytes(8)
    value = read_value(layout, DataInputView(data), dialect(point("x")))
    assert value["n"] is None
    assert value["p"]["$undecoded"]["bytes"] == data


def test_records_back_to_back_need_an_end_that_can_be_told() -> None:
    layout, whole = point("x"), bytes.fromhex(named(POINT) + "01 02")
    chunk = Chunk(np.frombuffer(whole * 2, np.uint8))
    found, end = decode_sequence(program(layout, dialect(layout)), chunk, 0, 2)
    assert (found.field("x").to_pylist(), end) == ([1, 1], len(chunk))
    unknown = program(Kryo(POINT), KryoDialect(KryoVersion.V5_6))
    with pytest.raises(UndecodableError, match="whose fields are not known"):
        decode_sequence(unknown, chunk, 0, 2)


def test_an_enum_is_its_constant() -> None:
    layout = described(Kryo("GenKryo$Color"), *CLASSES)
    assert isinstance(layout, Kryo)
    assert str(arrow_type(layout).field("constant").type) == "string"
    data = bytes.fromhex(named("GenKryo$Color") + "02")
    found = read_value(layout, DataInputView(data), NEW)
    assert found == {"constant": "GREEN", "$undecoded": None}


@pytest.mark.parametrize(
    ("constants", "data", "reason"),
    [
        (["RED"], named("a.Color") + "02", "constant 1 of a.Color"),
        (["RED"], named("a.Shape") + "01 02", "a.Shape, whose fields are not known"),
        (["RED"], named("a.Color") + "01 03", "1 bytes are left"),
        (["RED"], "03018261", "'a' where a a.Color"),
    ],
)
def test_what_is_no_constant_of_an_enum_is_bytes_with_the_reason(
    constants: list[str], data: str, reason: str
) -> None:
    layout = described(Kryo("a.Color"), kryo_class("a.Color", constants=constants))
    assert isinstance(layout, Kryo)
    right = bytes.fromhex(named("a.Color") + "01")
    wrong = bytes.fromhex(data)
    chunk = Chunk(np.frombuffer(right + wrong, np.uint8))
    starts = np.array([0, len(right)])
    ends = np.array([len(right), len(right + wrong)])
    rows = decode(program(layout, dialect(layout)), chunk, starts, ends).to_pylist()
    assert rows[0] == {"constant": "RED", "$undecoded": None}
    assert rows[1]["constant"] is None
    assert rows[1]["$undecoded"]["bytes"] == wrong
    assert reason in rows[1]["$undecoded"]["reason"]


def test_numbers_beyond_their_column_do_not_fit() -> None:
    box = kryo_class("a.Box", {"at": "java.util.Date", "n": "java.math.BigInteger"})
    layout = described(Kryo("a.Box"), box)
    assert isinstance(layout, Kryo)
    assert str(arrow_type(layout).field("at").type) == "timestamp[ms, tz=UTC]"
    date = "01 01" + b"java.util.Dat\xe5".hex() + "01"
    value = read(layout, named("a.Box") + "01" + date + "e807" + "00")
    assert value["at"].timestamp() == 1
    assert value["n"] is None


def test_classes_reach_every_part_of_a_layout() -> None:
    one = kryo_class(POINT, {"x": "int"})
    nested = Struct(("a",), (Repeated(Kryo(POINT)),))
    assert described(nested, one) == Struct(("a",), (Repeated(Kryo(POINT, (), (one,))),))
    assert with_kryo_classes((None, Kryo(POINT)), (one,)) == (None, Kryo(POINT, (), (one,)))


def test_a_column_says_that_a_description_would_help() -> None:
    (note,) = notes(Repeated(Kryo(POINT)))
    assert note.startswith("com.acme.Point: ")
    assert "kryo_classes" in note
    assert list(notes(point("x"))) == []
    assert list(notes(Kryo("java.util.UUID"))) == []


class TestDescriptions:
    def test_are_the_same_as_json(self) -> None:
        assert kryo_classes_of(kryo_classes_json(CLASSES)) == CLASSES

    def test_have_types_as_in_the_source_of_java(self) -> None:
        text = json.dumps(
            [
                {
                    "class": "a.B",
                    "fields": {
                        "a": "int[][]",
                        "b": "a.B[]",
                        "c": "java.util.Map<java.lang.String, byte[]>",
                        "d": "java.util.List<java.util.Set<? extends a.B>>[]",
                    },
                    "final": True,
                }
            ]
        )
        (found,) = kryo_classes_of(text)
        assert [(one.type, one.arguments) for one in found.fields] == [
            ("[[I", ()),
            ("[La.B;", ()),
            ("java.util.Map", (TypeArgument("java.lang.String"), TypeArgument("[B"))),
            (
                "[Ljava.util.List;",
                (TypeArgument("java.util.Set", (TypeArgument("a.B", (), "extends"),)),),
            ),
        ]
        assert found.is_final
        assert kryo_classes_of(kryo_classes_json([found])) == (found,)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "not JSON"),
            ("{}", "expected a JSON list"),
            ('[{"fields": {}}]', "expected 'class'"),
            ('[{"class": "a.B", "feilds": {}}]', "expected 'class'"),
            ('[{"class": "a.B", "fields": {"x": "List<"}}]', "field 'x' is 'List<'"),
            ('[{"class": "a.B", "fields": {"x": 7}}]', "field 'x' is 7"),
            ('[{"class": "a.B", "fields": {"x": "a.M<a,b,c>"}}]', "one argument, a map two"),
            ('[{"class": "a.B", "fields": {"x": "a.M<a b>"}}]', "field 'x' is 'a.M<a b>'"),
            ('[{"class": "a.B", "fields": {"x": "? extends a"}}]', "expected a type such as"),
            ('[{"class": "a.B", "fields": {"x": "a.M<a>>"}}]', "expected a type such as"),
            ('[{"class": "a.B", "fields": {"x": "int"}, "constants": ["A"]}]', "expected either"),
            ("[" * 100_000, "not JSON"),
        ],
    )
    def test_that_cannot_be_read_are_named(self, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            kryo_classes_of(text)


def test_a_final_class_needs_no_name_in_the_bytes() -> None:
    inner = kryo_class(POINT, {"x": "int"}, is_final=True)
    outer = kryo_class("a.Box", {"p": POINT})
    layout = described(Kryo("a.Box"), outer, inner)
    assert isinstance(layout, Kryo)
    assert read(layout, named("a.Box") + "01 01 06")["p"] == {"x": 3}
    wrong = described(Kryo("a.Box"), outer, replace(inner, is_final=False))
    assert isinstance(wrong, Kryo)
    assert read(wrong, named("a.Box") + "01 01 06")["$undecoded"] is not None


@pytest.mark.parametrize("version", KryoVersion)
def test_the_value_of_an_optional_has_its_column(version: KryoVersion) -> None:
    box = kryo_class("a.Box", {"o": f"java.util.Optional<{TEXT}>"})
    layout = described(Kryo("a.Box"), box)
    assert isinstance(layout, Kryo)
    assert str(arrow_type(layout).field("o").type) == "string"
    known = KryoDialect(version, layout.classes)
    for value, expected in (("01 03 01 8261", "a"), ("01 00", None), ("00", None)):
        data = bytes.fromhex(named("a.Box") + "01" + value)
        found = read_value(layout, DataInputView(data), known)
        assert found == {"o": expected, "$undecoded": None}
