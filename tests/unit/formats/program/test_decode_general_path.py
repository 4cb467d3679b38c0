"""Values that bulk decoding leaves to the general path."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.decoding import bulk, general_paths, written

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import FormatError, NullValueError, UnencodableError
from savepoint_formats.layout import (
    Framed,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    has_open_values,
    with_open_pojos,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode_sequence
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.kernel.code.machine_code import Kernel
from savepoint_formats.values.arrow_types import arrow_type

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


def test_a_record_that_is_larger_than_a_column_holds_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 3 GB, which ``docs/trust.md`` has tried, would take the tests too long.
    monkeypatch.setattr(sys.modules[decode_sequence.__module__], "_LARGEST", 14)
    monkeypatch.setattr(Kernel, "is_python_wanted", True)
    layout = Struct(("a",), (Framed(OPAQUE),))
    data = np.frombuffer(struct.pack(">i10si11s", 10, b"", 11, b""), np.uint8)
    with pytest.raises(FormatError, match="f at byte 14: record 1 has 15 bytes, expected less"):
        decode_sequence(program(layout), Chunk(data, "f"), 0, 2)


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
    unknown, behind = b"\4\0\1X\2any", b"\x09"
    records = [*pairwise(positions), (len(data), len(data) + len(unknown + behind))]
    found = bulk(layout, data + unknown + behind, records)
    *decoded, last = found.to_pylist()
    assert decoded == values
    lost = last["p"].pop("$undecoded")
    assert last == {"p": dict.fromkeys(plain), "b": 9}
    assert lost["bytes"] == unknown
    assert lost["reason"].startswith("a value of X, a subclass of P that its serializer's snapshot")
    assert lost["reason"].endswith("that its serializer's snapshot does not describe")
    encoded = b"".join(Encoder(layout).encode(found).to_pylist())
    assert encoded == data + unknown + behind


def test_an_undescribed_subclass_within_an_open_pojo_is_bytes_of_the_whole() -> None:
    inner = Pojo("Inner", ("a",), (Nullable(layouts.Long()),))
    layout = Pojo("P", ("i", "f"), (Nullable(inner), Nullable(Framed(inner))), is_open=True)
    for data in (b"\2\0\4\0\1Xany", b"\2\1\0" + struct.pack(">i", 7) + b"\4\0\1Xany"):
        (found,) = bulk(layout, data, [(0, len(data))]).to_pylist()
        assert (found["i"], found["f"], found["$undecoded"]["bytes"]) == (None, None, data)
        assert "a value of X, a subclass of Inner" in found["$undecoded"]["reason"]
        assert found["$undecoded"]["reason"].endswith("does not describe")


LOST = b"\4\0\1Xany"
OPEN = Pojo("P", ("a",), (Nullable(layouts.Long()),), is_open=True)


def test_bytes_are_written_back_between_values_that_are_encoded() -> None:
    data, positions = written(OPEN, [{"a": n, "$undecoded": None} for n in (1, 2)])
    first = (len(data), len(data) + len(LOST))
    (one, two), lost = pairwise(positions), first
    found = bulk(OPEN, data + LOST, [lost, one, lost, two])
    back = Encoder(OPEN).encode(found)
    assert back.to_pylist() == [LOST, data[slice(*one)], LOST, data[slice(*two)]]
    lists = pa.ListArray.from_arrays([0, 2, 4], found.take(pa.array([1, 3, 3, 0])))
    assert Encoder(Repeated(OPEN)).encode(lists).to_pylist() == [
        struct.pack(">i", 2) + data[slice(*one)] + data[slice(*two)],
        struct.pack(">i", 2) + data[slice(*two)] + LOST,
    ]
    hidden = lists[1:].to_pylist()
    hidden[0][1]["$undecoded"]["reason"] += "; these bytes are also those of 2 more elements"
    with pytest.raises(UnencodableError, match="their number is unknown"):
        Encoder(Repeated(OPEN)).encode(pa.array(hidden, lists.type))


def test_an_error_beside_bytes_that_are_copied_names_its_row() -> None:
    layout = Pojo("P", ("a",), (layouts.Long(),), is_open=True)
    data, _ = written(layout, [{"a": 1, "$undecoded": None}])
    found = bulk(layout, LOST + data, [(0, len(LOST)), (len(LOST), len(LOST + data))]).to_pylist()
    column = pa.array([*found, {"a": None, "$undecoded": None}], arrow_type(layout))
    with pytest.raises(NullValueError) as raised:
        Encoder(layout).encode(column)
    assert raised.value.row == 2


@pytest.mark.parametrize(
    "change",
    [
        {"a": 7},
        {"$undecoded": {"bytes": b"\4\0\1Yany"}},
        {"$undecoded": {"bytes": b"\2\0\0\0\0\0\0\0\0\1"}},
        {"$undecoded": {"bytes": b"\4\0\7X"}},
        {"$undecoded": {"bytes": b""}},
        {"$undecoded": {"reason": "none; these bytes are also those of 2 more elements"}},
    ],
    ids=str,
)
def test_bytes_that_are_no_longer_what_was_read_are_refused(change: dict[str, Any]) -> None:
    (value,) = bulk(OPEN, LOST, [(0, len(LOST))]).to_pylist()
    value |= {
        name: value[name] | part if name in change and isinstance(part, dict) else part
        for name, part in change.items()
    }
    column = pa.array([{"a": 1, "$undecoded": None}, value], arrow_type(OPEN))
    with pytest.raises(
        UnencodableError, match="reading these again does not give the value"
    ) as raised:
        Encoder(OPEN).encode(column)
    assert raised.value.row == 1


def test_open_pojos_are_the_outermost_of_values() -> None:
    inner = Pojo("Inner", (), ())
    outer = Pojo("Outer", ("i",), (Nullable(inner),))
    layout = layouts.MapOf(inner, Nullable(layouts.Ttl(Repeated(Struct(("o",), (outer,))))))
    opened = replace(outer, is_open=True)
    wanted = layouts.MapOf(inner, Nullable(layouts.Ttl(Repeated(Struct(("o",), (opened,))))))
    assert with_open_pojos(layout) == wanted
    assert (has_open_values(layout), has_open_values(wanted)) == (False, True)


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
