"""Damage to serializer snapshots: it stays in its frame, or is a typed error."""

from __future__ import annotations

import pytest
from support.hand_made import BASE, LONG, i32, snapshot
from support.serializer_snapshots import (
    DATA,
    DEWEY,
    NFA,
    NODE_ID,
    ROW,
    RUNTIME,
    TABLE,
    composite,
    layout,
    pojo,
    read,
    written,
)

from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    TruncatedError,
    UnknownSnapshotError,
)
from savepoint_formats.layout import Long, Nullable, Opaque, Pojo
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, read_resynchronised


def test_a_field_without_a_serializer_is_bytes_and_the_others_are_read() -> None:
    found = layout(pojo("a.P", {"f": None, "g": LONG}))
    assert isinstance(found, Pojo)
    assert isinstance(found.fields[0], Nullable)
    assert isinstance(found.fields[0].inner, Opaque)
    assert found.fields[1] == Nullable(Long())


@pytest.mark.parametrize("damage", [LONG[:-1], LONG + b"\0", b"", composite("a.B", LONG)[:40]])
def test_damage_to_a_field_stays_in_its_frame(damage: bytes) -> None:
    data = pojo("a.P", {"f": damage, "g": LONG})
    found = layout(data)
    assert isinstance(found, Pojo)
    assert [type(part.inner) for part in found.fields if isinstance(part, Nullable)] == [
        Opaque,
        Long,
    ]
    assert written(read(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        composite(f"{BASE}ListSerializerSnapshot", LONG, LONG),
        composite(f"{BASE}ListSerializerSnapshot"),
        composite(f"{BASE}MapSerializerSnapshot", LONG),
        composite(NFA, DEWEY, NODE_ID, outer=1),
    ],
)
def test_another_number_of_nested_serializers_is_an_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="nested serializers, expected"):
        read(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (snapshot("not a name"), "no name of a Java class"),
        (snapshot("a..B"), "no name of a Java class"),
        (snapshot(f"{BASE}ListSerializerSnapshot", i32(7) + i32(1)), "has 911108"),
        (
            snapshot(f"{BASE}ListSerializerSnapshot", bytes.fromhex("000de70400000001") + i32(7)),
            "has 1333245",
        ),
        (
            snapshot(f"{TABLE}DecimalDataSerializer$DecimalSerializerSnapshot", i32(39) + i32(0)),
            "a number of 39, expected 1 to 38",
        ),
        (
            composite(
                f"{RUNTIME}NullableSerializer$NullableSerializerSnapshot",
                LONG,
                outer=2,
                own=i32(-1),
            ),
            "a number of -1",
        ),
        (composite(ROW, LONG, outer=4, own=b"\2"), "boolean of 2"),
    ],
)
def test_what_flink_never_writes_is_an_error_that_says_so(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        snapshot("com.acme.Unknown"),
        snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot", version=4),
        snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot", version=0x7A53C4F0),
        composite(ROW, LONG, outer=5),
        composite(f"{BASE}ListSerializerSnapshot", LONG, outer=-1),
    ],
    ids=["class", "version", "config of 1.7", "outer version", "negative outer version"],
)
def test_an_unknown_class_or_version_is_an_error_of_its_own(data: bytes) -> None:
    with pytest.raises(UnknownSnapshotError, match="not known") as caught:
        read(data)
    assert caught.value.class_name == data[2 : 2 + data[1]].decode()


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    data = LONG
    for _ in range(2_000):
        data = composite(f"{BASE}ListSerializerSnapshot", data)
    with pytest.raises(FormatError, match="nest deeper than 50"):
        read(data)


def test_deep_nesting_in_frames_ends_in_bytes() -> None:
    data = LONG
    for _ in range(500):
        data = pojo("a.P", {"f": data})
    found, depth = layout(data), 0
    while isinstance(found, Pojo):
        (field,) = found.fields
        assert isinstance(field, Nullable)
        found, depth = field.inner, depth + 1
    assert 20 < depth < 60
    assert isinstance(found, Opaque)


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_every_cut_is_noticed(data: bytes) -> None:
    for cut in range(len(data)):
        with pytest.raises((TruncatedError, FormatError)):
            read(data[:cut])


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_no_flipped_byte_is_more_than_a_typed_error(data: bytes) -> None:
    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= mask
            try:
                found = read_resynchronised(
                    TypeSerializerSnapshot.read, SnapshotView(bytes(damaged))
                )
            except SavepointError:
                continue
            assert written(found) == damaged
            hash(found.layout())
