"""Config snapshots of Flink 1.7: bodies by hand, and damage."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.layout import (
    Layout,
    Long,
    MapOf,
    Marker,
    Nullable,
    Opaque,
    Repeated,
    Struct,
    Tagged,
    Text,
)
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, read_resynchronised

BASE = "org.apache.flink.api.common.typeutils.base."
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
SCALA = "org.apache.flink.api.scala.typeutils."
PARAMETERLESS = "org.apache.flink.api.common.typeutils.ParameterlessTypeSerializerConfig"
WINDOW = "org.apache.flink.streaming.api.windowing.windows.TimeWindow"


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def legacy(name: str, config: bytes, config_version: int = 1) -> bytes:
    """The adapter's version, the serializer as a Java object, then the config."""
    serializer = b"a Java object"
    head = struct.pack(">iii", 0x7A53C4F0, 1, len(serializer)) + serializer
    return utf(name) + head + struct.pack(">i", config_version) + config


def entry(snapshot: bytes) -> bytes:
    return struct.pack(">i", 2) + snapshot


def resilient(*entries: bytes) -> bytes:
    """Offsets of each serializer and each entry, then all of them."""
    data, offsets = b"", b""
    for part in entries:
        offsets += struct.pack(">ii", len(data), len(data) + 4)
        data += b"java" + part
    return struct.pack(">i", len(entries)) + offsets + struct.pack(">i", len(data)) + data


def class_object(name: str) -> bytes:
    return b"\xac\xed\x00\x05\x76\x72" + utf(name) + bytes(8) + b"\x02\x00\x00\x78\x70"


LONG = entry(legacy(PARAMETERLESS, utf(f"{BASE}LongSerializer")))
TEXT = entry(utf(f"{BASE}StringSerializer$StringSerializerSnapshot") + struct.pack(">i", 3))
LOST = entry(utf("com.acme.LostConfig") + struct.pack(">i", 1) + b"body")

SNAPSHOTS: dict[str, tuple[bytes, Layout]] = {
    "no parts": (legacy(PARAMETERLESS, utf(f"{BASE}LongSerializer")), Long()),
    "no parts, class outside of another": (
        legacy(PARAMETERLESS, utf(f"{RUNTIME}Tuple0Serializer")),
        Marker(42),
    ),
    "no parts, binary name": (
        legacy(PARAMETERLESS, utf(f"{WINDOW}$Serializer")),
        Struct(("start", "end"), (Long(), Long())),
    ),
    "no parts, canonical name": (
        legacy(PARAMETERLESS, utf(f"{WINDOW}.Serializer")),
        Struct(("start", "end"), (Long(), Long())),
    ),
    "no parts, unknown": (
        legacy(PARAMETERLESS, utf("com.acme.MySerializer")),
        Opaque("com.acme.MySerializer", "its class is not known"),
    ),
    "list": (
        legacy(f"{BASE}CollectionSerializerConfigSnapshot", resilient(LONG)),
        Repeated(Long()),
    ),
    "map": (
        legacy(f"{BASE}MapSerializerConfigSnapshot", resilient(TEXT, LONG)),
        MapOf(Text(), Nullable(Long())),
    ),
    "either": (
        legacy(f"{RUNTIME}EitherSerializerConfigSnapshot", resilient(TEXT, LONG)),
        Tagged((1, 0), ("left", "right"), (Text(), Long())),
    ),
    "tuple": (
        legacy(
            f"{RUNTIME}TupleSerializerConfigSnapshot",
            resilient(TEXT, LONG) + class_object("org.apache.flink.api.java.tuple.Tuple2"),
        ),
        Struct(("f0", "f1"), (Text(), Long())),
    ),
    "case class": (
        legacy(
            f"{RUNTIME}TupleSerializerConfigSnapshot",
            resilient(TEXT, LONG) + class_object("com.acme.Order"),
        ),
        Struct(("_1", "_2"), (Text(), Long())),
    ),
    "option": (
        legacy(f"{SCALA}ScalaOptionSerializerConfigSnapshot", resilient(LONG)),
        Nullable(Long(), is_null=False),
    ),
    "try": (
        legacy(f"{SCALA}ScalaTrySerializerConfigSnapshot", resilient(LONG, TEXT)),
        Tagged((1, 0), ("success", "failure"), (Long(), Text())),
    ),
    "traversable": (
        legacy(f"{SCALA}TraversableSerializerConfigSnapshot", resilient(LONG)),
        Repeated(Nullable(Long(), is_null=False)),
    ),
}


def read(data: bytes) -> TypeSerializerSnapshot:
    return read_resynchronised(TypeSerializerSnapshot.read, SnapshotView(data))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_config_means_its_layout(name: str) -> None:
    data, layout = SNAPSHOTS[name]
    assert read(data).layout() == layout


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_write_is_the_mirror_of_read(name: str) -> None:
    data, _ = SNAPSHOTS[name]
    view = DataOutputView()
    read(data).write(view)
    assert view.to_bytes() == data


def test_the_entry_of_a_lost_class_takes_nothing_else_along() -> None:
    data = legacy(f"{BASE}MapSerializerConfigSnapshot", resilient(LOST, LONG))
    layout = read(data).layout()
    assert isinstance(layout, MapOf)
    assert layout.value == Nullable(Long())
    assert isinstance(layout.key, Opaque)
    assert layout.key.class_name == "com.acme.LostConfig"


def test_a_wrong_number_of_parts_is_told() -> None:
    data = legacy(f"{BASE}MapSerializerConfigSnapshot", resilient(LONG))
    reason = "1 nested serializers, expected 2"
    expected = Opaque(f"{BASE}MapSerializerConfigSnapshot", reason, is_damage=True)
    assert read(data).layout() == expected


def test_an_entry_cannot_lie_beyond_the_end() -> None:
    config = struct.pack(">iiii", 1, 0, 5, 4) + b"java"
    with pytest.raises(FormatError, match="expected 0 to 4"):
        read(legacy(f"{BASE}CollectionSerializerConfigSnapshot", config))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_every_cut_is_noticed(name: str) -> None:
    data, _ = SNAPSHOTS[name]
    for cut in range(len(data)):
        with pytest.raises(SavepointError):
            read(data[:cut])


@given(st.sampled_from(sorted(SNAPSHOTS)), st.data())
def test_any_byte_may_be_wrong(name: str, data: st.DataObject) -> None:
    damaged = bytearray(SNAPSHOTS[name][0])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(SavepointError):
        read(bytes(damaged)).layout()


def test_nesting_has_a_limit() -> None:
    name = f"{BASE}CollectionSerializerConfigSnapshot"
    snapshot = legacy(name, resilient(LONG))
    for _ in range(300):
        snapshot = legacy(name, resilient(entry(snapshot)))
    layout: Layout = read(snapshot).layout()
    while isinstance(layout, Repeated):
        layout = layout.element
    assert isinstance(layout, Opaque)
    assert "nest deeper" in layout.reason
