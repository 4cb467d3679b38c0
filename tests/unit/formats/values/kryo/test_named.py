"""Objects of Kryo whose class nobody described, though a serializer of POJOs names its fields."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.hand_made import BASE, STRING, i32, kryo_of, list_of, snapshot, utf
from support.hidden_values import opened_canonical, rows
from support.object_samples import OBJECTS, by_id, opened
from support.serializer_snapshots import INT, pojo, read, simple
from support.slow_cases import slow_unless

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.layout import Kryo, KryoField, NamedClass, parts, with_named_classes
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.layout import Layout

DIALECT = KryoDialect(KryoVersion.V2_24)
NODE = pojo("com.acme.Node", {"next": kryo_of("com.acme.Node"), "v": INT})
NEW = b"\x57\1"
"""A new object of the class that is registered."""
FEW = frozenset({"objects-1.20.5-rocksdb-native", "objects-2.2.1-hashmap-canonical"})


def kryo_in(layout: Layout) -> Iterator[Kryo]:
    if isinstance(layout, Kryo):
        yield layout
    for part in parts(layout):
        yield from kryo_in(part)


def decoded(layout: Layout, data: bytes) -> Any:
    chunk = Chunk(np.frombuffer(data, np.uint8))
    whole = np.array([0]), np.array([len(data)])
    return decode(program(layout, DIALECT), chunk, *whole).to_pylist()[0]


def layout_of(snapshot: bytes) -> Layout:
    return with_named_classes(read(snapshot).layout())


def node(inner: bytes, number: int) -> bytes:
    """A POJO whose field ``next`` Kryo wrote, as its class is that of the POJO."""
    return b"\2\0" + inner + b"\0" + i32(number)


@pytest.mark.usefixtures("slow")
def test_a_class_that_holds_itself_is_read_as_its_serializer_says() -> None:
    value = decoded(layout_of(NODE), node(NEW + b"\0\x0a", 7))
    assert value["v"] == 7
    assert json.loads(value["next"]["json"]) == {"$class": "com.acme.Node", "next": None, "v": 5}
    assert (value["next"]["bytes"], value["next"]["reason"]) == (NEW + b"\0\x0a", None)


def test_objects_within_objects_are_read() -> None:
    three = NEW + NEW + NEW + b"\0\x06\x08\x0a"
    value = decoded(layout_of(NODE), node(three, 7))
    assert value["v"] == 7
    inner, numbers = json.loads(value["next"]["json"]), []
    while inner is not None:
        numbers.append(inner["v"])
        inner = inner["next"]
    assert numbers == [5, 4, 3]


def test_a_number_that_is_an_object_fits_if_the_end_is_known() -> None:
    # As an int, -1, the object would end one byte earlier.
    value = decoded(layout_of(NODE), node(NEW + b"\0\1\x0e", 7))
    assert (json.loads(value["next"]["json"])["v"], value["v"]) == (7, 7)


def test_what_fits_in_two_ways_is_bytes_and_says_so() -> None:
    value = decoded(layout_of(NODE), node(NEW + b"\0\0", 7))
    assert value["v"] == 7
    assert (value["next"]["json"], value["next"]["bytes"]) == (None, NEW + b"\0\0")
    assert value["next"]["reason"].endswith("what its serializer tells fits in 2 ways")


def test_an_object_in_it_of_a_class_that_nobody_knows_makes_it_bytes() -> None:
    other = pojo("com.acme.Node", {"next": kryo_of("com.acme.Other"), "v": INT})
    inner = b"\1\0com.acme.Othe\xf2\1"
    layout = layout_of(pojo("com.acme.Box", {"node": kryo_of("com.acme.Node"), "one": other}))
    value = decoded(layout, b"\2\0" + NEW + inner + b"\x0a" + b"\1")
    assert value["node"]["json"] is None
    assert "com.acme.Node, whose fields are not known" in value["node"]["reason"]


@pytest.mark.parametrize("sample", slow_unless(FEW.__contains__, OBJECTS))
def test_objects_that_flink_wrote_are_read_by_the_fields_of_a_serializer(sample: str) -> None:
    parcel = NamedClass(
        "shop.Parcel",
        (
            (KryoField("content", "java.lang.String"),),
            (KryoField("id", "int"), KryoField("id", "java.lang.Integer")),
        ),
    )
    savepoint = opened(sample)
    (state,) = [
        state for state in savepoint.operator("crates").catalog.states if state.name == "crate"
    ]
    (parcels,) = [one for one in kryo_in(state.stored) if one.class_name.startswith("java.util")]
    known = replace(parcels, named=(parcel,))
    for number, row in by_id(savepoint, "crates.keyed_state").items():
        data = row["crate"]["parcels"]["bytes"]
        chunk, end = Chunk(np.frombuffer(data, np.uint8)), np.array([len(data)])
        (value,) = decode(program(known, savepoint.kryo), chunk, np.array([0]), end).to_pylist()
        assert json.loads(value["json"]) == [
            {"$class": "shop.Parcel", "content": f"content {index}", "id": number}
            for index in range(0, number % 4, 2)
        ]


@pytest.mark.parametrize(
    "color", [b"\1\2", b"\1\0com.acme.Colo\xf2\1\2"], ids=["final", "with its class"]
)
def test_fields_of_many_types_are_read(color: bytes) -> None:
    enum = snapshot(
        f"{BASE}EnumSerializer$EnumSerializerSnapshot",
        utf("com.acme.Color") + i32(2) + utf("RED") + utf("GREEN"),
    )
    fields: dict[str, bytes | None] = {
        "color": enum,
        "flag": simple("Boolean"),
        "names": list_of(STRING),
        "x": INT,
    }
    both = pojo(
        "com.acme.Both", {"a": kryo_of("com.acme.Item"), "b": pojo("com.acme.Item", fields)}
    )
    data = NEW + color + b"\1" + b"\0" + b"\x0a"
    value = decoded(layout_of(both), b"\2\0" + data + b"\1")
    assert json.loads(value["a"]["json"]) == {
        "$class": "com.acme.Item",
        "color": "GREEN",
        "flag": True,
        "names": None,
        "x": 5,
    }


def test_classes_that_another_state_of_the_file_names_are_known(tmp_path: Path) -> None:
    serializers = {
        "one": pojo("com.acme.Item", {"name": STRING, "size": INT}),
        "any": kryo_of("com.acme.Item"),
    }
    item = NEW + b"\1ab\xe3\x0a"
    savepoint = opened_canonical(tmp_path, serializers, 1, {"k": item})
    (row,) = rows(savepoint, "keyed_state")
    assert json.loads(row["any"]["json"]) == {"$class": "com.acme.Item", "name": "abc", "size": 5}
