"""What bulk decoding leaves to the general path."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.decoding import bulk, general_paths, written

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import (
    Framed,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    has_open_pojos,
    with_open_pojos,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode_sequence
from savepoint_formats.program.encode import Encoder

OPAQUE = layouts.Opaque("a.B", "nobody knows")


def undecoded(data: bytes) -> dict[str, Any]:
    return {"bytes": data, "reason": "a.B: nobody knows"}


def test_only_the_column_that_needs_it_takes_the_general_path() -> None:
    layout = Struct(("a", "b"), (layouts.Long(), Nullable(OPAQUE)))
    data = struct.pack(">q?3s", 5, False, b"abc") + struct.pack(">q?", 6, True)
    array = bulk(layout, data, [(0, 12), (12, 21)])
    assert array.to_pylist() == [{"a": 5, "b": undecoded(b"abc")}, {"a": 6, "b": None}]
    assert general_paths(layout) == ["$.b"]


def test_a_frame_ends_what_nobody_can_decode() -> None:
    layout = Repeated(Struct(("a", "b"), (Framed(OPAQUE), layouts.Byte())))
    data = struct.pack(">ii2sbi0sb", 2, 2, b"xy", 1, 0, b"", 2)
    expected = [{"a": undecoded(b"xy"), "b": 1}, {"a": undecoded(b""), "b": 2}]
    assert bulk(layout, data, [(0, len(data))]).to_pylist() == [expected]
    array, end = decode_sequence(program(layout), Chunk(np.frombuffer(data, np.uint8)), 0, 1)
    assert (array.to_pylist(), end) == ([expected], len(data))


def test_an_error_of_the_general_path_names_the_record() -> None:
    layout = Struct(("a", "b"), (layouts.Byte(), layouts.PackedTexts()))
    data, positions = written(layout, [{"a": 1, "b": ["x"]}, {"a": 2, "b": ["y"]}])
    damaged = data[:-2] + b"\x7fy"
    with pytest.raises(FormatError, match="in record 1"):
        bulk(layout, damaged, list(pairwise(positions)))


def test_a_sequence_of_what_needs_its_end_takes_the_general_path() -> None:
    data, _ = written(layouts.PackedTexts(), [["a"], [], ["b", "c"]])
    chunk = Chunk(np.frombuffer(data, np.uint8))
    array, end = decode_sequence(program(layouts.PackedTexts()), chunk, 0, 3)
    assert (array.to_pylist(), end) == ([["a"], [], ["b", "c"]], len(data))


@pytest.mark.parametrize("registered", [False, True])
def test_undescribed_subclasses_of_an_open_pojo_are_bytes(registered: bool) -> None:
    own = (Nullable(layouts.Long()),)
    classes = (("S", Pojo("S", ("a",), own)),) if registered else ()
    layout = Struct(
        ("p", "b"), (Pojo("P", ("a",), own, registered=classes, is_open=True), layouts.Byte())
    )
    plain = {"$class": "P", "a": 1} if registered else {"a": 1}
    values = [{"p": plain | {"$undecoded": None}, "b": 7}, {"p": None, "b": 8}]
    data, positions = written(layout, values)
    unknown = b"\4\0\1X\2any"
    records = [*pairwise(positions), (len(data), len(data) + len(unknown))]
    found = bulk(layout, data + unknown, records)
    *decoded, last = found.to_pylist()
    assert decoded == values
    lost = last["p"].pop("$undecoded")
    assert last == {"p": dict.fromkeys(plain), "b": None}
    assert lost["bytes"] == unknown
    assert lost["reason"].startswith("a value of X, a subclass of P that its serializer's snapshot")
    assert lost["reason"].endswith("these bytes are also those of 'b'")
    encoded = b"".join(Encoder(layout).encode(found).to_pylist())
    assert encoded == data + unknown


def test_an_undescribed_subclass_within_an_open_pojo_is_bytes_of_the_whole() -> None:
    inner = Pojo("Inner", ("a",), (Nullable(layouts.Long()),))
    layout = Pojo("P", ("i", "f"), (Nullable(inner), Nullable(Framed(inner))), is_open=True)
    for data in (b"\2\0\4\0\1Xany", b"\2\1\0" + struct.pack(">i", 7) + b"\4\0\1Xany"):
        (found,) = bulk(layout, data, [(0, len(data))]).to_pylist()
        assert (found["i"], found["f"], found["$undecoded"]["bytes"]) == (None, None, data)
        assert "a value of X, a subclass of Inner" in found["$undecoded"]["reason"]
        assert found["$undecoded"]["reason"].endswith("does not describe")


def test_open_pojos_are_the_outermost_of_values() -> None:
    inner = Pojo("Inner", (), ())
    outer = Pojo("Outer", ("i",), (Nullable(inner),))
    layout = layouts.MapOf(inner, Nullable(layouts.Ttl(Repeated(Struct(("o",), (outer,))))))
    opened = replace(outer, is_open=True)
    wanted = layouts.MapOf(inner, Nullable(layouts.Ttl(Repeated(Struct(("o",), (opened,))))))
    assert with_open_pojos(layout) == wanted
    assert (has_open_pojos(layout), has_open_pojos(wanted)) == (False, True)


def test_subclasses_lie_among_their_superclass() -> None:
    own = (Nullable(layouts.Long()),)
    subclass = Pojo("S", ("a", "z"), (*own, Nullable(layouts.Text())))
    layout = Pojo("P", ("a",), own, registered=(("S", subclass),))
    values = [
        {"$class": "P", "a": 1, "z": None},
        {"$class": "S", "a": 2, "z": "only here"},
        None,
        {"$class": "P", "a": None, "z": None},
    ]
    data, positions = written(layout, values)
    assert bulk(layout, data, list(pairwise(positions))).to_pylist() == values
