"""Values with objects of Kryo in them, wherever they are, written for the other Kryo."""

from __future__ import annotations

from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING, Any

import pytest
from support.kryo_vectors import NEW, OLD, VECTORS, layout_of

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, TruncatedError, UnencodableError
from savepoint_formats.layout import Kryo, Long, Pojo, Text
from savepoint_formats.snapshots import constructed
from savepoint_formats.values.kryo_collections import CollectionPlace, collection_places
from savepoint_formats.values.recoding import Recoding, element_classes
from savepoint_formats.values.state_entries import (
    Delimited,
    EntryWriter,
    KeyPrefix,
    NullableRest,
    Suffixed,
)
from savepoint_formats.values.values import read_value

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout

BYTES = {(one["name"], one["flink"][0]): bytes.fromhex(one["data"]) for one in VECTORS}
ANY = Kryo("java.lang.Object", layout_of(VECTORS[0]["snapshot"]).registrations) if VECTORS else None
OBJECT = ANY or Kryo("java.lang.Object")
FIELD = layouts.Nullable(OBJECT)
NAMES = ("a", "b")

pytestmark = pytest.mark.skipif(not VECTORS, reason="needs the vectors of Flink's jars")


def value(version: str, name: str = "kryo:uuid") -> dict[str, Any]:
    return {"json": None, "bytes": BYTES[name, version], "reason": None}


def written(layout: Layout, one: Any) -> bytes:
    view = DataOutputView()
    EntryWriter(view).write(layout, one)
    return view.to_bytes()


SUBCLASS = Pojo("Card", NAMES, (layouts.Nullable(Long()), FIELD))
AROUND: dict[str, tuple[Layout, Any]] = {
    "alone": (OBJECT, lambda x: x),
    "list": (layouts.Repeated(OBJECT), lambda x: [x, x]),
    "map": (layouts.MapOf(Text(), FIELD), lambda x: [("k", x), ("n", None)]),
    "tuple": (layouts.Struct(NAMES, (Text(), OBJECT)), lambda x: {"a": "text", "b": x}),
    "row": (layouts.MaskedStruct(("a", "b", "c"), (OBJECT, Text(), OBJECT), has_kind=True),
            lambda x: {"a": x, "b": "text", "c": None}),
    "linked list": (layouts.MaskedRepeated(OBJECT), lambda x: [x, None, x]),
    "either": (layouts.Tagged((0, 1), NAMES, (Text(), OBJECT)), lambda x: {"a": None, "b": x}),
    "POJO": (Pojo("Payment", NAMES, (FIELD, layouts.Nullable(Long()))), lambda x: {"a": x, "b": 7}),
    "TTL": (layouts.Ttl(OBJECT), lambda x: {"timestamp": 12, "value": x}),
    "frame": (layouts.Framed(OBJECT), lambda x: x),
    "Varying": (layouts.Varying(OBJECT), lambda x: x),
    "list entry": (Delimited(OBJECT), lambda x: [x, x, x]),
    "map entry": (NullableRest(OBJECT), lambda x: x),
    "key": (layouts.Struct(("p", "k", "n"), (KeyPrefix(0), Suffixed(OBJECT), Suffixed(Text()))),
            lambda x: {"p": None, "k": x, "n": "namespace"}),
}  # fmt: skip


@pytest.mark.parametrize("where", AROUND)
def test_an_object_is_written_anew_wherever_it_is(where: str) -> None:
    layout, make = AROUND[where]
    old, new = written(layout, make(value("1"))), written(layout, make(value("2")))
    assert old != new
    assert Recoding(layout, layout, OLD, NEW).of(old) == new


@pytest.mark.parametrize("flag", ["04", "08"])
def test_an_object_of_a_subclass_is_written_anew(flag: str) -> None:
    layout = Pojo(
        "Payment",
        ("a",),
        (layouts.Nullable(Long()),),
        registered=(("Card", SUBCLASS),),
        unregistered=(("Card", SUBCLASS),),
    )
    head = bytes.fromhex(flag + {"04": "000443617264", "08": "00"}[flag])
    old, new = (head + written(SUBCLASS, {"a": 1, "b": value(version)}) for version in ("1", "2"))
    assert Recoding(layout, layout, OLD, NEW).of(old) == new


def test_a_cut_value_is_an_error() -> None:
    layout, make = AROUND["POJO"]
    data = written(layout, make(value("1")))
    for size in range(len(data)):
        with pytest.raises(TruncatedError):
            Recoding(layout, layout, OLD, NEW).of(data[:size])


LIST = Kryo("java.util.List", OBJECT.registrations)
TEXTS = constructed.nullable(constructed.list_of(constructed.nullable(constructed.string())))


def basket(tags: Layout) -> Pojo:
    return Pojo("Basket", ("tags",), (layouts.Nullable(tags),))


@pytest.mark.parametrize(
    "declared", ["java.util.List", "java.util.Collection", "java.lang.Iterable"]
)
def test_a_list_of_kryo_becomes_one_of_flink(declared: str) -> None:
    old, new = basket(replace(LIST, class_name=declared)), basket(TEXTS.layout())
    data = bytes.fromhex("02 00") + BYTES["kryo:listsamenull", "1"]
    assert collection_places(old) == (CollectionPlace(declared, "Basket", "tags"),)
    text = "java.lang.String"
    assert list(element_classes(old, data, OLD)) == [(0, (text,)), (0, (None,)), (0, (text,))]
    recoded = Recoding(old, new, OLD, NEW).of(data)
    assert read_value(new, DataInputView(recoded)) == {"tags": ["shared", None, "x"]}


def test_an_element_of_another_class_is_refused() -> None:
    data = bytes.fromhex("02 00") + BYTES["kryo:listints", "1"]
    recoding = Recoding(basket(LIST), basket(TEXTS.layout()), OLD, NEW)
    with pytest.raises(UnencodableError, match=r"java.lang.Integer where java.lang.String is exp"):
        recoding.of(data)


def test_a_map_of_kryo_becomes_one_of_flink() -> None:
    old = Kryo("java.util.Map", OBJECT.registrations)
    new = constructed.nullable(
        constructed.map_of(constructed.nullable(constructed.string()), constructed.integer())
    ).layout()
    recoded = Recoding(old, new, OLD, NEW).of(BYTES["kryo:treemap", "1"])
    pairs = read_value(new, DataInputView(recoded))
    json = read_value(old, DataInputView(BYTES["kryo:treemap", "1"]), OLD)["json"]
    assert [{"key": one["key"], "value": one["value"]} for one in pairs] == loads(json)
    assert len(pairs) == 2


def test_bytes_behind_a_value_are_an_error() -> None:
    with pytest.raises(FormatError, match="1 bytes too many"):
        Recoding(OBJECT, OBJECT, OLD, NEW).of(BYTES["kryo:uuid", "1"] + b"\0")
