"""Java's object streams: what ``ObjectOutputStream`` writes, and what it never would."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, SavepointError, TruncatedError
from savepoint_formats.java.stream import (
    JavaArray,
    JavaEnum,
    JavaObject,
    JavaStreamReader,
    read_java_object,
)

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


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def class_description(
    name: str, flags: int = 2, fields: bytes = bytes(2), parent: bytes = b"\x70"
) -> bytes:
    return b"\x72" + utf(name) + bytes(8) + bytes([flags]) + fields + b"\x78" + parent


def handle(number: int) -> bytes:
    return b"\x71" + (0x7E0000 + number).to_bytes(4, "big")


def read(data: bytes) -> object:
    view = DataInputView(data, "stream")
    found = read_java_object(view)
    view.expect_end()
    return found


def test_an_object_has_its_class_and_the_fields_of_all_its_classes() -> None:
    found = read(INTEGER)
    assert isinstance(found, JavaObject)
    assert found.class_name == "java.lang.Integer"
    assert [parent.name for parent in found.java_class.ancestors] == ["java.lang.Number"]
    assert found.fields == {"value": 42}


def test_what_a_class_writes_itself_is_kept_in_order() -> None:
    found = read(LIST)
    assert isinstance(found, JavaObject)
    assert found.fields == {"size": 2}
    assert found.annotations == [bytes.fromhex("00000002"), "a", "a"]


def test_the_view_is_left_right_behind_the_object() -> None:
    view = DataInputView(INTEGER + b"rest")
    read_java_object(view)
    assert view.read_rest() == b"rest"


def test_primitive_fields_have_their_sizes() -> None:
    kinds = "BCDFIJSZ"
    fields = len(kinds).to_bytes(2, "big") + b"".join(
        kind.encode() + utf(kind.lower()) for kind in kinds
    )
    values = bytes.fromhex("ff 0041 3ff0000000000000 3f800000 fffffffe 0000000000000003 fffc 01")
    found = read(HEADER + b"\x73" + class_description("a.B", fields=fields) + values)
    assert isinstance(found, JavaObject)
    assert found.fields == {
        "b": -1,
        "c": "A",
        "d": 1.0,
        "f": 1.0,
        "i": -2,
        "j": 3,
        "s": -4,
        "z": True,
    }


def test_arrays_hold_elements_and_those_of_bytes_are_bytes() -> None:
    integers = read(HEADER + b"\x75" + class_description("[I") + bytes.fromhex("00000001 00000007"))
    octets = read(HEADER + b"\x75" + class_description("[B") + bytes.fromhex("00000002 0102"))
    texts = read(
        HEADER
        + b"\x75"
        + class_description("[Ljava.lang.String;")
        + bytes.fromhex("00000002 740001 61 70")
    )
    assert isinstance(integers, JavaArray)
    assert integers.elements == [7]
    assert isinstance(octets, JavaArray)
    assert octets.elements == b"\x01\x02"
    assert isinstance(texts, JavaArray)
    assert texts.elements == ["a", None]


def test_an_enum_constant_is_its_class_and_name() -> None:
    found = read(HEADER + b"\x7e" + class_description("a.Color", flags=0x12) + b"\x74" + utf("RED"))
    assert found == JavaEnum("a.Color", "RED")


def test_a_long_string_has_a_long_size() -> None:
    assert read(HEADER + bytes.fromhex("7c 0000000000000002 6869")) == "hi"


def test_a_proxy_has_the_fields_of_its_parent() -> None:
    parent = class_description("java.lang.reflect.Proxy", fields=b"\0\1L" + utf("h") + b"\x70")
    # The declared class of a field is a string, never null.
    with pytest.raises(FormatError):
        read(HEADER + b"\x73\x7d" + bytes.fromhex("00000001") + utf("a.I") + b"\x78" + parent)
    parent = class_description(
        "java.lang.reflect.Proxy", fields=b"\0\1L" + utf("h") + b"\x74" + utf("La/H;")
    )
    found = read(
        HEADER + b"\x73\x7d" + bytes.fromhex("00000001") + utf("a.I") + b"\x78" + parent + b"\x70"
    )
    assert isinstance(found, JavaObject)
    assert found.fields == {"h": None}


def test_an_object_may_refer_to_itself() -> None:
    fields = b"\0\1L" + utf("me") + b"\x74" + utf("La/B;")
    found = read(HEADER + b"\x73" + class_description("a.B", fields=fields) + handle(2))
    assert isinstance(found, JavaObject)
    assert found.fields["me"] is found


def test_handles_go_on_from_object_to_object_until_they_are_reset() -> None:
    view = DataInputView(HEADER + b"\x74" + utf("a") + handle(0) + b"\x79\x79" + handle(0))
    reader = JavaStreamReader(view)
    reader.read_header()
    assert [reader.read_object(), reader.read_object()] == ["a", "a"]
    with pytest.raises(FormatError, match="reference to Java object 0 of 0"):
        reader.read_object()


def test_a_reset_inside_an_object_is_refused() -> None:
    # Java refuses it, too: the handles of objects that are being read would be lost.
    data = HEADER + b"\x7e" + class_description("a.Color") + b"\x79\x74" + utf("RED")
    with pytest.raises(FormatError, match="reset"):
        read(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x05", "ends after"),
        (bytes.fromhex("acee 0005"), "no Java object stream"),
        (HEADER + b"\x6f", "tag 0x6f"),
        (HEADER + b"\x77\x00", "block_data"),
        (HEADER + handle(0), "reference to Java object"),
        (HEADER + b"\x73\x70", "without a class"),
        (HEADER + b"\x73\x74" + utf("a"), "expected a class description"),
        (HEADER + b"\x75" + class_description("Int") + bytes(4), "array of class 'Int'"),
        (HEADER + b"\x75" + class_description("[J") + b"\x7f\xff\xff\xff", "count of 2147483647"),
        (HEADER + b"\x7e" + class_description("a.Color") + b"\x70", "name|string"),
        (HEADER + b"\x73" + class_description("a.B", fields=b"\0\1Q" + utf("q")), "type 'Q'"),
        (HEADER + b"\x73" + class_description("a.B", flags=4), "own data has no end mark"),
    ],
)
def test_what_java_never_writes_is_an_error_that_says_so(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(data)


def test_a_class_that_extends_itself_is_an_error_not_a_loop() -> None:
    with pytest.raises(FormatError, match="itself"):
        read(HEADER + b"\x73" + class_description("a.B", parent=handle(0)))


def test_classes_that_extend_each_other_are_an_error_not_a_loop() -> None:
    inner = class_description("a.C", parent=handle(0))
    annotated = b"\x72" + utf("a.B") + bytes(8) + b"\x02\0\0" + inner + b"\x78" + handle(1)
    with pytest.raises(FormatError, match="itself"):
        read(HEADER + b"\x73" + annotated)


@pytest.mark.parametrize("depth", [200, 100_000])
def test_deep_nesting_is_an_error_not_a_crash(depth: int) -> None:
    nested_objects = b"\x73" + class_description("a.B", flags=3)
    nested_classes = b"\x72" + utf("a.B") + bytes(8) + b"\x02\0\0\x78"
    nested_annotations = b"\x72" + utf("a.B") + bytes(8) + b"\x02\0\0"
    for data in (nested_objects, nested_classes, nested_annotations, b"\x73"):
        with pytest.raises(FormatError):
            read(HEADER + b"\x73" + data * depth)


@pytest.mark.parametrize("data", [INTEGER, LIST], ids=["integer", "list"])
def test_every_cut_is_noticed(data: bytes) -> None:
    for cut in range(len(data)):
        with pytest.raises(TruncatedError):
            read(data[:cut])


@pytest.mark.parametrize("data", [INTEGER, LIST], ids=["integer", "list"])
def test_no_flipped_byte_is_more_than_a_typed_error(data: bytes) -> None:
    for position in range(len(data)):
        for mask in (0x01, 0x02, 0x04, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= mask
            with suppress(SavepointError):
                read(bytes(damaged))


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Bytes that mostly are Java contents, and mostly in the wrong places."""
    pieces = st.one_of(
        st.sampled_from(
            [
                class_description("a.B"),
                class_description("a.B", flags=3),
                class_description("[I"),
                class_description("[Ljava.lang.Object;"),
                bytes.fromhex("00000001"),
                b"\x74" + utf("text"),
            ]
        ),
        st.integers(0, 4).map(handle),
        st.integers(0x6F, 0x7F).map(lambda tag: bytes([tag])),
        st.binary(max_size=4),
    )
    return b"".join(draw(st.lists(pieces, max_size=30)))


@given(contents())
def test_no_stream_is_more_than_a_typed_error(data: bytes) -> None:
    with suppress(FormatError):
        read(HEADER + data)
