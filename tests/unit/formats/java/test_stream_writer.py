"""Java's object streams, written: as ``ObjectOutputStream`` does, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.java.stream import (
    EXTERNALIZABLE,
    SERIALIZABLE,
    WRITE_METHOD,
    JavaArray,
    JavaClass,
    JavaEnum,
    JavaObject,
    JavaStreamReader,
    read_java_object,
)
from savepoint_formats.java.stream_writer import JavaStreamWriter, java_object_bytes

HEADER = bytes.fromhex("aced 0005")

# java.lang.Integer 42: its class, then java.lang.Number, then the field.
INTEGER = HEADER + bytes.fromhex(
    "73 72 0011 6a6176612e6c616e672e496e7465676572 12e2a0a4f7818738 02 0001"
    "49 0005 76616c7565 78"
    "72 0010 6a6176612e6c616e672e4e756d626572 86ac951d0b94e08b 02 0000 78 70"
    "0000002a"
)
# An ArrayList ("a", "a"): its size, then block data with its capacity, then the elements.
LIST = HEADER + bytes.fromhex(
    "73 72 0013 6a6176612e7574696c2e41727261794c697374 7881d21d99c7619d 03 0001"
    "49 0004 73697a65 78 70 00000002"
    "77 04 00000002 74 0001 61 71 007e0002 78"
)
# RoundingMode.UP, an enum constant; then Object[]{x, x, null} of java.lang.Object.class.
ENUM = HEADER + bytes.fromhex(
    "7e 72 0016 6a6176612e6d6174682e526f756e64696e674d6f6465 0000000000000000 12 0000 78"
    "72 000e 6a6176612e6c616e672e456e756d 0000000000000000 12 0000 78 70"
    "74 0002 5550"
)
CLASSES = HEADER + bytes.fromhex(
    "75 72 0013 5b4c6a6176612e6c616e672e4f626a6563743b 90ce589f1073296c 02 0000 78 70"
    "00000003"
    "76 72 0010 6a6176612e6c616e672e4f626a656374 0000000000000000 00 0000 78 70"
    "71 007e0003 70"
)
STREAMS = {"object": INTEGER, "list": LIST, "enum": ENUM, "array of classes": CLASSES}

OBJECT = JavaClass("a.Box", SERIALIZABLE, (("Ljava/lang/Object;", "value"),), uid=7)


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_what_java_wrote_is_written_again_byte_for_byte(stream: bytes) -> None:
    assert java_object_bytes(read_java_object(DataInputView(stream))) == stream


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("B", -1, "ff"),
        ("C", "é", "00e9"),
        ("D", 1.5, "3ff8000000000000"),
        ("F", 1.5, "3fc00000"),
        ("I", -2, "fffffffe"),
        ("J", 3, "0000000000000003"),
        ("S", 4, "0004"),
        ("Z", True, "01"),
    ],
)
def test_each_primitive_has_javas_bytes(kind: str, value: object, data: str) -> None:
    java_class = JavaClass("a.P", SERIALIZABLE, ((kind, "p"),))
    stream = java_object_bytes(JavaObject(java_class, {"p": value}))
    assert stream.endswith(bytes.fromhex(data))
    assert read_java_object(DataInputView(stream)).fields == {"p": value}


def test_an_object_that_is_there_twice_is_one_object_again() -> None:
    inner = JavaObject(OBJECT, {"value": None})
    pair = JavaArray(JavaClass("[La.Box;", SERIALIZABLE), [inner, inner])
    found = read_java_object(DataInputView(java_object_bytes(pair)))
    assert found.elements[0] is found.elements[1]


def test_objects_with_equal_fields_stay_two() -> None:
    boxes = [JavaObject(OBJECT, {"value": "x"}) for _ in range(2)]
    pair = JavaArray(JavaClass("[La.Box;", SERIALIZABLE), list(boxes))
    found = read_java_object(DataInputView(java_object_bytes(pair)))
    assert found.elements[0] is not found.elements[1]


def test_an_object_may_hold_itself() -> None:
    box = JavaObject(OBJECT)
    box.fields["value"] = box
    found = read_java_object(DataInputView(java_object_bytes(box)))
    assert found.fields["value"] is found


def test_handles_go_on_from_object_to_object() -> None:
    view = DataOutputView()
    writer = JavaStreamWriter(view)
    writer.write_header()
    constant = JavaEnum("a.Color", "RED")
    writer.write_object(constant)
    writer.write_object(constant)
    reader = JavaStreamReader(DataInputView(view.to_bytes()))
    reader.read_header()
    assert [reader.read_object(), reader.read_object()] == [constant, constant]
    assert view.to_bytes().endswith(bytes.fromhex("71 007e0002"))


@given(st.binary(max_size=600))
def test_blocks_and_arrays_of_any_size_are_read_back(data: bytes) -> None:
    java_class = JavaClass("a.Writer", SERIALIZABLE | WRITE_METHOD)
    array = JavaArray(JavaClass("[B", SERIALIZABLE), data)
    found = read_java_object(
        DataInputView(java_object_bytes(JavaObject(java_class, {}, [data, array])))
    )
    assert found.annotations[0] == data
    assert found.annotations[1].elements == data


def test_objects_that_write_themselves_are_refused_not_guessed() -> None:
    parent = JavaClass("a.Parent", SERIALIZABLE | WRITE_METHOD)
    child = JavaClass("a.Child", SERIALIZABLE | WRITE_METHOD, (), (parent,))
    for java_class in (child, JavaClass("a.External", EXTERNALIZABLE)):
        with pytest.raises(ValueError, match="record does not say what each class wrote"):
            java_object_bytes(JavaObject(java_class))


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(TypeError, match="int is not a record of a Java object"):
        java_object_bytes(JavaObject(OBJECT, {"value": 3}))
