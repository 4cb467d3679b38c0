"""Values behind one that cannot be decoded: told apart where they fit in one way only."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.decoding import bulk, written

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import (
    Framed,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Ttl,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.values.state_entries import Delimited, Sized, entry_key

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout
    from savepoint_formats.values.undecoded import Hides

OPAQUE = layouts.Opaque("a.B", "nobody knows")
BYTE, TEXT, LONG = layouts.Byte(), layouts.Text(), layouts.Long()
MARK = layouts.Marker(0x7F)
ENTRY = Struct(("mark", "what", "n"), (MARK, OPAQUE, layouts.Int()))


def unknown(data: bytes) -> dict[str, Any]:
    return {"bytes": data, "reason": "a.B: nobody knows"}


def entry(data: bytes, number: int) -> bytes:
    return b"\x7f" + data + struct.pack(">i", number)


def shown(data: bytes, number: int) -> dict[str, Any]:
    return {"mark": None, "what": unknown(data), "n": number}


def read(layout: Layout, data: bytes, hides: Hides = "nothing") -> Any:
    chunk = Chunk(np.frombuffer(data, np.uint8))
    whole = np.array([0]), np.array([len(data)])
    return decode(program(layout, hides=hides), chunk, *whole).to_pylist()[0]


def count(number: int) -> bytes:
    return struct.pack(">i", number)


THREE = b"".join(entry(f"what {number}".encode(), number) for number in range(3))
SHOWN = [shown(f"what {number}".encode(), number) for number in range(3)]


def test_fields_behind_are_read_where_only_one_end_fits() -> None:
    layout = Struct(("a", "what", "b", "c"), (BYTE, OPAQUE, LONG, layouts.Short()))
    data = b"\1any" + struct.pack(">qh", 7, 8)
    assert read(layout, data) == {"a": 1, "what": unknown(b"any"), "b": 7, "c": 8}


@pytest.mark.parametrize(
    ("layout", "head", "tail"),
    [
        (Repeated(ENTRY), count(3), b""),
        (Nullable(Repeated(ENTRY)), b"\0" + count(3), b""),
        (Ttl(Repeated(ENTRY)), bytes(8) + count(3), b""),
        (Framed(Repeated(ENTRY)), count(4 + len(THREE)) + count(3), b""),
        (MaskedRepeated(ENTRY), count(4) + b"\x40", b""),
        (Struct(("l", "b"), (Repeated(ENTRY), BYTE)), count(3), b"\5"),
        (MaskedStruct(("x", "l"), (BYTE, Repeated(ENTRY)), False), b"\x80" + count(3), b""),
        (Tagged((4,), ("l",), (Repeated(ENTRY),)), b"\4" + count(3), b""),
        (Pojo("P", ("l",), (Repeated(ENTRY),)), b"\2" + count(3), b""),
    ],
    ids=lambda part: type(part).__name__,
)
def test_all_elements_of_a_list_are_there(layout: Layout, head: bytes, tail: bytes) -> None:
    value = read(layout, head + THREE + tail)
    elements = value
    while isinstance(elements, dict):
        elements = elements.get("l", elements.get("value"))
    assert [element for element in elements if element] == SHOWN
    assert written(layout, [value])[0] == head + THREE + tail


def test_all_entries_of_a_map_are_there() -> None:
    layout = MapOf(TEXT, ENTRY)
    data = count(2) + b"\2a" + entry(b"one", 1) + b"\2b" + entry(b"two", 2)
    assert read(layout, data) == [("a", shown(b"one", 1)), ("b", shown(b"two", 2))]


def test_a_list_in_each_element_is_told_apart_too() -> None:
    layout = Repeated(Struct(("l", "n"), (Repeated(ENTRY), BYTE)))
    data = count(2) + count(3) + THREE + b"\1" + count(1) + entry(b"x", 9) + b"\2"
    assert read(layout, data) == [{"l": SHOWN, "n": 1}, {"l": [shown(b"x", 9)], "n": 2}]


def test_elements_are_told_apart_though_their_fields_are_not() -> None:
    text = Struct(("mark", "what", "t"), (MARK, OPAQUE, TEXT))
    # The first may end with an empty text behind three bytes, or with one of a letter.
    data = count(2) + b"\x7f" + b"ab\2\1" + b"\x7fcd\2z"
    with pytest.raises(UndecodableError, match="also those of 't', which can't be told"):
        read(Repeated(text), data)
    first, second = read(Repeated(text), data, "fields")
    assert (first["what"]["bytes"], first["t"]) == (b"ab\2\1", None)
    assert first["what"]["reason"].endswith("these bytes are also those of 't'")
    assert second == {"mark": None, "what": unknown(b"cd"), "t": "z"}


def test_elements_that_nobody_can_tell_apart_are_an_error_that_counts_them() -> None:
    data = count(2) + entry(b"fake \x7f", 1) + entry(b"x", 2)
    for hides in ("nothing", "fields"):
        with pytest.raises(UndecodableError, match="1 more elements, which can't be") as error:
            read(Repeated(ENTRY), data, hides)
        assert "undescribed_subclasses='rest'" in str(error.value)
    (seen,) = read(Repeated(ENTRY), data, "all")
    assert seen["what"]["bytes"] == data[5:]
    assert seen["what"]["reason"].endswith("also those of 'n', 1 more elements")


def test_elements_without_any_bytes_cannot_be_told_apart() -> None:
    with pytest.raises(UndecodableError, match="2 more elements"):
        read(Repeated(OPAQUE), count(3) + b"abc")


def test_elements_with_a_comma_between_them_have_no_count() -> None:
    number = Struct(("mark", "what"), (MARK, OPAQUE))
    assert read(Delimited(number), b"\x7fone, two") == [
        {"mark": None, "what": unknown(b"one, two")}
    ]
    with pytest.raises(UndecodableError, match="the elements behind it"):
        read(Delimited(number), b"\x7fone,\x7ftwo")


HOSTILE: dict[str, tuple[Layout, bytes]] = {
    "lists at each place": (
        Struct(("a", "b", "c"), (OPAQUE, Repeated(BYTE), MARK)),
        b"\0\0\0\x38" * 7500,
    ),
    "lists of lists": (
        Struct(
            ("a", "b"), (OPAQUE, Repeated(Repeated(Struct(("c", "d"), (Nullable(OPAQUE), BYTE)))))
        ),
        b"\0\0\0\2\0\0\0\1" * 3700,
    ),
}
"""Records of 30 KB that fit in no way, though each place looks as if they could."""


@pytest.mark.parametrize("record", HOSTILE)
def test_the_search_in_a_record_ends_in_seconds(record: str, slow: None) -> None:
    """Two searches took 42 seconds of a core for one record."""
    layout, data = HOSTILE[record]
    begun = time.process_time()
    with pytest.raises(UndecodableError, match="can't be told apart"):
        read(layout, data)
    assert time.process_time() - begun < 25


def test_many_hard_records_take_little_longer_than_one(slow: None) -> None:
    """Each record had a limit of its own: so many of them took minutes."""
    layout, data = HOSTILE["lists at each place"]
    easy = b"xy" + count(1) + b"\5\x7f"
    records = [*[data[:1600]] * 400, easy]
    ends = np.cumsum([len(record) for record in records])
    starts = np.append(0, ends[:-1])
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    begun = time.process_time()
    *hard, last = decode(program(layout, hides="all"), chunk, starts, ends).to_pylist()
    assert time.process_time() - begun < 40
    assert len(hard) == 400
    assert all(row["a"]["reason"].endswith("also those of 'b', 'c'") for row in hard)
    assert last == {"a": unknown(b"xy"), "b": [5], "c": None}


def test_values_are_told_apart_behind_many_that_hide_their_end() -> None:
    """Each of them may end at many places, and the ways multiply."""
    names = tuple(f"{name}{number}" for number in range(40) for name in ("what", "mark"))
    layout = Struct(names, (OPAQUE, MARK) * 40)
    found = read(layout, b"".join(b"%d\x7f" % number for number in range(40)))
    assert found["what39"] == unknown(b"39")


def test_flags_that_flink_does_not_write_are_none() -> None:
    layout = Struct(("what", "n"), (OPAQUE, Nullable(layouts.Int())))
    # The last byte would be a null, were any number but 0 one.
    assert read(layout, b"any" + b"\0" + count(5))["n"] == 5


def test_frames_tell_where_they_end() -> None:
    layout = Struct(("what", "f"), (OPAQUE, Framed(BYTE)))
    assert read(layout, b"any" + count(1) + b"\7")["f"] == 7


@given(st.lists(st.tuples(st.binary(max_size=6), st.integers(-5, 5)), min_size=1, max_size=6))
def test_what_is_told_apart_is_what_was_written(entries: list[tuple[bytes, int]]) -> None:
    layout = Repeated(ENTRY)
    data = count(len(entries)) + b"".join(entry(*one) for one in entries)
    try:
        found = read(layout, data)
    except UndecodableError:
        return
    assert found == [shown(*one) for one in entries]
    assert bulk(layout, data, [(0, len(data))]).to_pylist() == [found]


def suffixed(data: bytes) -> bytes:
    return data + len(data).to_bytes(max(1, (len(data).bit_length() + 7) // 8), "little")


def text(value: str) -> bytes:
    return written(TEXT, [value])[0]


class TestKeysOfUnknownSerializers:
    """Flink stores the sizes of key and namespace behind them, if both vary in length."""

    @given(
        key=st.binary(max_size=600) | st.binary(max_size=3).map(suffixed),
        namespace=st.text(st.characters(codec="ascii"), max_size=400),
        user_key=st.text(st.characters(codec="ascii"), max_size=5),
    )
    def test_are_told_apart_from_what_stands_behind_them(
        self, key: bytes, namespace: str, user_key: str
    ) -> None:
        stored = b"\1" + suffixed(key) + suffixed(text(namespace))
        expected = {"prefix": None, "key": unknown(key), "namespace": namespace}
        assert read(entry_key(1, OPAQUE, TEXT), stored) == expected
        # A user key whose bytes look like a suffix allows another way.
        with suppress(UndecodableError):
            with_user_key = read(entry_key(1, OPAQUE, TEXT, TEXT), stored + text(user_key))
            assert with_user_key == expected | {"user_key": user_key}

    @given(key=st.text(max_size=400), namespace=st.binary(max_size=600))
    def test_leave_a_namespace_of_an_unknown_serializer(self, key: str, namespace: bytes) -> None:
        stored = b"\1" + suffixed(text(key)) + suffixed(namespace)
        expected = {"prefix": None, "key": key, "namespace": unknown(namespace)}
        assert read(entry_key(1, TEXT, OPAQUE), stored) == expected

    @given(key=st.binary(min_size=1, max_size=9), namespace=st.text(max_size=9))
    def test_are_not_told_apart_if_the_serializer_has_a_fixed_length(
        self, key: bytes, namespace: str
    ) -> None:
        """Then there are no sizes, which nobody knows."""
        assume(namespace and key[-1] != len(key) - 1)
        with pytest.raises(UndecodableError):
            read(entry_key(1, OPAQUE, TEXT), b"\1" + key + text(namespace))
        with pytest.raises(UndecodableError):
            read(entry_key(1, TEXT, OPAQUE), b"\1" + text(namespace) + key)

    def test_may_be_objects_of_an_undescribed_class(self) -> None:
        stored = b"\1" + suffixed(b"\1whatever") + suffixed(text("w"))
        found = read(entry_key(1, layouts.Kryo("a.B"), TEXT), stored)
        assert found["key"]["bytes"] == b"\1whatever"
        assert found["namespace"] == "w"

    def test_are_sized_together_with_their_namespace(self) -> None:
        """Entries of a map are told apart by these sizes."""
        stored = suffixed(b"key") + suffixed(text("w")) + text("user")
        key = entry_key(0, OPAQUE, TEXT, TEXT)
        sizes = Struct(key.names[1:], (Sized(key.fields[1]), Sized(key.fields[2]), TEXT))
        assert read(sizes, stored, "all") == {"key": 4, "namespace": 3, "user_key": "user"}
