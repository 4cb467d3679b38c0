"""Reading around unknown snapshots: what is known stays known, what is not is bytes."""

from __future__ import annotations

import random
import time

import pytest

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, UnknownSnapshotError
from savepoint_formats.layout import (
    Layout,
    Long,
    MapOf,
    Nullable,
    Opaque,
    Pojo,
    Repeated,
    Struct,
    Text,
)
from savepoint_formats.snapshots import (
    SnapshotView,
    TypeSerializerSnapshot,
    read_resynchronised,
)

BASE = "org.apache.flink.api.common.typeutils.base."
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
UNKNOWN, OTHER = "com.acme.MoneySerializer$Snapshot", "com.acme.Other"


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def i32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def snapshot(class_name: str, body: bytes = b"", version: int = 3) -> bytes:
    return utf(class_name) + i32(version) + body


def composite(class_name: str, *parts: bytes, own: bytes = b"") -> bytes:
    body = bytes.fromhex("000de704 00000001") + own
    body += bytes.fromhex("001457fd 00000001") + i32(len(parts)) + b"".join(parts)
    return snapshot(class_name, body)


def tuple_of(*parts: bytes) -> bytes:
    return composite(f"{RUNTIME}TupleSerializerSnapshot", *parts, own=utf("a.Tuple"))


def pojo(class_name: str, fields: dict[str, bytes]) -> bytes:
    magic = bytes.fromhex("000004f2c69a3d70")
    entries = b"".join(
        utf(name) + b"\0\1" + i32(len(value)) + value for name, value in fields.items()
    )
    maps = magic + i32(len(fields)) + entries + (magic + i32(0)) * 2
    return snapshot(f"{RUNTIME}PojoSerializerSnapshot", utf(class_name) + maps, version=2)


LONG = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot")
STRING = snapshot(f"{BASE}StringSerializer$StringSerializerSnapshot")
BODIES = {
    "empty": b"",
    "zeros": bytes(300),
    "ones": b"\xff" * 300,
    "random": random.Random(1).randbytes(300),
    "text": utf("a class name") * 9,
    "names and numbers": (utf("com.acme.Part") + i32(1)) * 9,
    "a composite": composite("x", LONG, STRING)[7:],
    "a composite with a part of its own": composite("x", LONG, STRING, own=b"own part")[7:],
    "a composite of unknown parts": composite("x", LONG, snapshot("com.acme.Part"))[7:],
    "a snapshot": b"\1" + STRING,
    "an unknown snapshot": b"\1" + snapshot("com.acme.Part", b"part"),
}


def opaque(class_name: str = UNKNOWN) -> Opaque:
    return Opaque(class_name, "its class is not known")


def read(data: bytes) -> TypeSerializerSnapshot:
    return read_resynchronised(TypeSerializerSnapshot.read, SnapshotView(data, "header"))


def layout(data: bytes) -> Layout:
    found = read(data)
    view = DataOutputView()
    found.write(view)
    assert view.to_bytes() == data
    return found.layout()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_unknown_snapshot_alone_is_all_bytes(body: bytes) -> None:
    assert layout(snapshot(UNKNOWN, body)) == opaque()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_follows_an_unknown_snapshot_is_read(body: bytes) -> None:
    data = composite(f"{BASE}MapSerializerSnapshot", snapshot(UNKNOWN, body), LONG)
    assert layout(data) == MapOf(opaque(), Nullable(Long()))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_precedes_an_unknown_snapshot_is_read(body: bytes) -> None:
    data = composite(f"{BASE}MapSerializerSnapshot", LONG, snapshot(UNKNOWN, body))
    assert layout(data) == MapOf(Long(), Nullable(opaque()))


@pytest.mark.parametrize("body", [BODIES["empty"], BODIES["zeros"], BODIES["random"]])
def test_several_unknown_snapshots_are_told_apart(body: bytes) -> None:
    parts = snapshot(UNKNOWN, body), LONG, snapshot(OTHER, body[:20]), snapshot(UNKNOWN), STRING
    found = layout(composite(f"{BASE}ListSerializerSnapshot", tuple_of(*parts)))
    assert found == Repeated(
        Struct(("f0", "f1", "f2", "f3", "f4"), (opaque(), Long(), opaque(OTHER), opaque(), Text()))
    )


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_field_of_a_pojo_has_its_own_end(body: bytes) -> None:
    fields = {"a": LONG, "b": snapshot(UNKNOWN, body), "c": STRING}
    assert layout(pojo("a.P", fields)) == Pojo(
        "a.P", ("a", "b", "c"), (Nullable(Long()), Nullable(opaque()), Nullable(Text()))
    )


@pytest.mark.parametrize("body", [BODIES["empty"], BODIES["zeros"], BODIES["random"]])
def test_an_unknown_part_of_a_field_is_read_around(body: bytes) -> None:
    fields = {
        "a": composite(f"{BASE}MapSerializerSnapshot", snapshot(UNKNOWN, body), LONG),
        "b": pojo("a.Q", {"c": snapshot(OTHER, body)}),
    }
    inner = Pojo("a.Q", ("c",), (Nullable(opaque(OTHER)),))
    assert layout(pojo("a.P", fields)) == Pojo(
        "a.P", ("a", "b"), (Nullable(MapOf(opaque(), Nullable(Long()))), Nullable(inner))
    )


def test_an_unknown_version_is_read_around_like_an_unknown_class() -> None:
    newer = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot", b"more", version=9)
    found = layout(composite(f"{BASE}MapSerializerSnapshot", newer, STRING))
    assert isinstance(found, MapOf)
    assert found.value == Nullable(Text())
    assert isinstance(found.key, Opaque)
    assert "version 9" in found.key.reason


def test_the_error_names_the_class_if_no_size_fits() -> None:
    data = composite(f"{BASE}MapSerializerSnapshot", snapshot(UNKNOWN, b"body"), LONG + b"\0")
    with pytest.raises(UnknownSnapshotError, match="MoneySerializer") as caught:
        read(data)
    assert caught.value.class_name == UNKNOWN
    assert caught.value.path == "header"


def test_bytes_behind_the_end_are_an_error() -> None:
    with pytest.raises(FormatError, match="1 bytes too many"):
        read(LONG + b"\0")


def test_no_size_reaches_over_a_mark() -> None:
    data = snapshot(UNKNOWN, b"body") + utf("mark") + LONG
    with pytest.raises(UnknownSnapshotError):
        read_resynchronised(TypeSerializerSnapshot.read, SnapshotView(data), marks=("mark",))


def test_offsets_count_from_the_base() -> None:
    data = tuple_of(snapshot(UNKNOWN, b"body"), LONG)
    view = SnapshotView(data, "header", base=1_000)
    found = read_resynchronised(TypeSerializerSnapshot.read, view)
    assert found.layout() == Struct(("f0", "f1"), (opaque(), Long()))


@pytest.mark.usefixtures("slow")
def test_hundreds_of_unknown_snapshots_are_no_deep_recursion() -> None:
    parts = [snapshot(UNKNOWN, bytes(index % 7)) for index in range(1_100)]
    found = layout(tuple_of(*parts))
    assert isinstance(found, Struct)
    assert set(found.fields) == {opaque()}


@pytest.mark.parametrize(
    "body", [bytes(5_000), random.Random(2).randbytes(5_000), utf("com.acme.Part") * 333]
)
def test_five_kilobytes_take_less_than_two_seconds(body: bytes) -> None:
    start = time.process_time()
    parts = [LONG, snapshot(UNKNOWN, body), *[STRING] * 50]
    found = layout(tuple_of(*parts))
    assert time.process_time() - start < 2
    assert isinstance(found, Struct)
    assert found.fields == (Long(), opaque(), *[Text()] * 50)


def test_a_search_in_vain_ends_soon() -> None:
    body = (utf("com.acme.Part") + i32(1)) * 250
    data = tuple_of(snapshot(UNKNOWN, body), snapshot(OTHER, body), LONG)
    nested = bytes.fromhex("001457fd 00000001")
    data = data.replace(nested + i32(3), nested + i32(2_000))
    start = time.process_time()
    with pytest.raises(FormatError):
        read(data)
    assert time.process_time() - start < 15
