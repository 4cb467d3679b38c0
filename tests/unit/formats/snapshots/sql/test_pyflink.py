"""Snapshots of the serializers for Python workers: bodies by hand, after Flink's source."""

from __future__ import annotations

import struct

import pytest

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import (
    Int,
    Layout,
    Long,
    MapOf,
    MaskedStruct,
    Nullable,
    Opaque,
    Repeated,
    TimestampData,
    Utf8,
)
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, read_resynchronised

PYTHON = "org.apache.flink.table.runtime.typeutils.serializers.python."
BASE = "org.apache.flink.api.common.typeutils.base."


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def snap(name: str, version: int = 3, body: bytes = b"") -> bytes:
    return utf(name) + struct.pack(">i", version) + body


def java_type(name: str, root: str, fields: bytes = b"", values: bytes = b"") -> bytes:
    """A Java object stream of a logical type, with a root and further fields."""
    described = b"L" + utf("typeRoot") + b"\x74" + utf("LRoot;") + fields
    count = struct.pack(">H", 1 + fields.count(b"\x74\x00\x06LType;"))
    described_class = b"\x72" + utf(name) + bytes(8) + b"\x02" + count + described + b"\x78\x70"
    constant = b"\x7e\x72" + utf("Root") + bytes(8) + b"\x12" + bytes(2) + b"\x78\x70"
    root_name = b"\x74" + utf(root)
    return b"\xac\xed\x00\x05\x73" + described_class + constant + root_name + values


BIGINT = java_type("BigIntType", "BIGINT")
VARCHAR = java_type("VarCharType", "VARCHAR")
NO_SERIALIZER = bytes.fromhex("aced0005 70")


def read(data: bytes) -> TypeSerializerSnapshot:
    return read_resynchronised(TypeSerializerSnapshot.read, SnapshotView(data))


def row() -> bytes:
    longs = snap(f"{BASE}LongSerializer$LongSerializerSnapshot")
    texts = snap(f"{PYTHON}StringSerializer$StringSerializerSnapshot")
    nested = struct.pack(">iii", 1333245, 1, 2) + longs + texts
    body = struct.pack(">i", 2) + BIGINT + VARCHAR + nested
    return snap(f"{PYTHON}RowDataSerializer$RowDataSerializerSnapshot", 3, body)


SNAPSHOTS: dict[str, tuple[bytes, Layout]] = {
    "row": (row(), MaskedStruct(("f0", "f1"), (Long(), Utf8()), has_kind=True)),
    "array": (
        snap(f"{PYTHON}ArrayDataSerializer$ArrayDataSerializerSnapshot", 1, BIGINT + NO_SERIALIZER),
        Repeated(Nullable(Long(), is_null=False)),
    ),
    "map": (
        snap(
            f"{PYTHON}MapDataSerializer$BaseMapSerializerSnapshot",
            1,
            VARCHAR + BIGINT + NO_SERIALIZER * 2,
        ),
        MapOf(Utf8(), Nullable(Long())),
    ),
    "array of a type that Python has no serializer for": (
        snap(
            f"{PYTHON}ArrayDataSerializer$ArrayDataSerializerSnapshot",
            1,
            java_type("RawType", "RAW") + NO_SERIALIZER,
        ),
        Repeated(
            Nullable(
                Opaque("RAW", "no serializer of Python is known for this SQL type"), is_null=False
            )
        ),
    ),
    "decimal": (
        snap(
            f"{PYTHON}DecimalDataSerializer$DecimalSerializerSnapshot", 1, struct.pack(">ii", 20, 3)
        ),
        Utf8(),
    ),
    "timestamp": (
        snap(f"{PYTHON}TimestampSerializer$TimestampSerializerSnapshot", 1, struct.pack(">i", 6)),
        TimestampData(6),
    ),
    "string": (snap(f"{PYTHON}StringSerializer$StringSerializerSnapshot"), Utf8()),
    "big decimal": (snap(f"{PYTHON}BigDecSerializer$BigDecSerializerSnapshot"), Utf8()),
    "date": (snap(f"{PYTHON}DateSerializer$DateSerializerSnapshot"), Int()),
    "time": (snap(f"{PYTHON}TimeSerializer$TimeSerializerSnapshot"), Int()),
}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_means_its_layout(name: str) -> None:
    data, layout = SNAPSHOTS[name]
    assert read(data).layout() == layout


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_write_is_the_mirror_of_read(name: str) -> None:
    data, _ = SNAPSHOTS[name]
    view = DataOutputView()
    read(data).write(view)
    assert view.to_bytes() == data
