"""Serializer snapshots: what Flink wrote is read, rewritten, and means a layout."""

from __future__ import annotations

import pytest
from support.hand_made import BASE, LONG, STRING, i32, snapshot, utf
from support.serializer_snapshots import (
    DATA,
    GOLDEN,
    GOLDEN_POJO,
    INT,
    KRYO,
    RUNTIME,
    layout,
    nested,
    optional_map,
    pojo,
    read,
    written,
)

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UnsupportedVersionError
from savepoint_formats.layout import Int, Long, Nullable, Opaque, Pojo, Struct, Tagged, Text
from savepoint_formats.snapshots import SnapshotView, read_serializer, write_serializer


def test_reads_what_flink_wrote() -> None:
    found = read_serializer(SnapshotView(GOLDEN))
    assert found.class_name == f"{RUNTIME}TupleSerializerSnapshot"
    assert found["type_class"] == "org.apache.flink.api.java.tuple.Tuple1"
    assert found.layout() == Struct(("f0",), (Long(),))


def test_reads_the_pojo_that_flink_wrote() -> None:
    found = read_serializer(SnapshotView(GOLDEN_POJO))
    color = layouts.Enum("GenCore$Color", ("RED", "GREEN"))
    assert found.layout() == Pojo(
        "GenCore$Base", ("a", "b", "c"), (Nullable(Int()), Nullable(Text()), Nullable(color))
    )


@pytest.mark.parametrize("data", [GOLDEN, GOLDEN_POJO], ids=["tuple", "pojo"])
def test_an_entry_is_rewritten_byte_for_byte(data: bytes) -> None:
    view = DataOutputView()
    write_serializer(view, read_serializer(SnapshotView(data)))
    assert view.to_bytes() == data


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_a_snapshot_is_rewritten_byte_for_byte(data: bytes) -> None:
    assert written(read(data)) == data


def test_an_entry_of_flink_1_6_is_refused_with_what_helps() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"Flink 1\.7 to 1\.20 first"):
        read_serializer(SnapshotView(i32(1) + GOLDEN[4:]))


def test_a_simple_snapshot_of_flink_1_7_names_its_serializer() -> None:
    data = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot", utf("a.LongSerializer"), 2)
    assert layout(data) == Long()
    assert written(read(data)) == data


def test_a_composite_of_flink_1_7_has_no_head() -> None:
    data = snapshot(f"{RUNTIME}EitherSerializerSnapshot", nested(LONG, STRING), 2)
    assert layout(data) == Tagged((1, 0), ("left", "right"), (Long(), Text()))
    assert written(read(data)) == data


def test_kryo_keeps_the_order_of_registrations() -> None:
    assert layout(KRYO) == layouts.Kryo(
        "a.B", (layouts.KryoRegistration("a.B"), layouts.KryoRegistration("a.C", "a.S"))
    )


def test_a_damaged_registration_keeps_its_number() -> None:
    body = utf("a.B") + optional_map({"a.B": b"\0"}) + optional_map({}) * 2
    found = layout(snapshot(f"{RUNTIME}kryo.KryoSerializerSnapshot", body, version=2))
    assert found == layouts.Kryo("a.B", (layouts.KryoRegistration("a.B", "unknown"),))


def test_subclasses_of_a_pojo_keep_their_order() -> None:
    found = layout(pojo("a.P", {"f": LONG}, {"a.Q": STRING, "a.R": INT}, {"a.S": LONG}))
    assert found == Pojo(
        "a.P",
        ("f",),
        (Nullable(Long()),),
        registered=(("a.Q", Text()), ("a.R", Int())),
        unregistered=(("a.S", Long()),),
    )


def test_a_class_that_writes_itself_is_bytes_unless_it_is_well_known() -> None:
    name = f"{RUNTIME}ValueSerializer$ValueSerializerSnapshot"
    well_known = snapshot(name, utf("org.apache.flink.types.LongValue"), 2)
    users = snapshot(name, utf("a.B"), 2)
    assert layout(well_known) == layouts.Varying(Long())
    assert layouts.serializer_length(layout(well_known)) == -1
    assert layout(users) == Opaque("a.B", "the class writes itself, and does not say how")
