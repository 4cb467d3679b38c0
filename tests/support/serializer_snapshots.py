"""Serializer snapshots: some that Flink wrote, and how to spell others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot
from support.hand_made import BASE, LONG, i32, snapshot, utf

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout

RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
CEP = "org.apache.flink.cep.nfa."
SCALA = "org.apache.flink.api.scala.typeutils."
TABLE = "org.apache.flink.table.runtime.typeutils."


def nested(*parts: bytes) -> bytes:
    return bytes.fromhex("001457fd 00000001") + i32(len(parts)) + b"".join(parts)


def composite(class_name: str, *parts: bytes, outer: int = 1, own: bytes = b"") -> bytes:
    body = bytes.fromhex("000de704") + i32(outer) + own + nested(*parts)
    return snapshot(class_name, body)


def optional_map(entries: dict[str, bytes | None], declaring: str = "") -> bytes:
    data = bytes.fromhex("000004f2c69a3d70") + i32(len(entries))
    for name, value in entries.items():
        key = utf(declaring) + utf(name) if declaring else b""
        data += utf(name) + b"\1" + i32(len(key)) + key
        data += b"\0" if value is None else b"\1" + i32(len(value)) + value
    return data


def pojo(
    class_name: str,
    fields: dict[str, bytes | None],
    registered: dict[str, bytes | None] | None = None,
    unregistered: dict[str, bytes | None] | None = None,
) -> bytes:
    maps = (
        optional_map(fields, class_name)
        + optional_map(registered or {})
        + optional_map(unregistered or {})
    )
    return snapshot(f"{RUNTIME}PojoSerializerSnapshot", utf(class_name) + maps, version=2)


def simple(name: str) -> bytes:
    return snapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot")


INT = simple("Int")

LIST = composite(f"{BASE}ListSerializerSnapshot", LONG)

# The key serializer of a savepoint that Flink 1.20 wrote, with its i32 2 in front.
GOLDEN = (
    bytes.fromhex("00000002 0043")
    + b"org.apache.flink.api.java.typeutils.runtime.TupleSerializerSnapshot"
    + bytes.fromhex("00000003 000de704 00000002 0026")
    + b"org.apache.flink.api.java.tuple.Tuple1"
    + bytes.fromhex("001457fd 00000001 00000001 0050")
    + b"org.apache.flink.api.common.typeutils.base.LongSerializer$LongSerializerSnapshot"
    + bytes.fromhex("00000003")
)
# A POJO of Flink 1.20.1 with an int, a text and an enum.
GOLDEN_POJO = (
    b"\x00\x00\x00\x02\x00Borg.apache.flink.api.java.typeutils.runtime.PojoSerializerSnapshot"
    b"\x00\x00\x00\x02\x00\x0cGenCore$Base\x00\x00\x04\xf2\xc6\x9a=p\x00\x00\x00\x03\x00\x01a\x01"
    b"\x00\x00\x00\x11\x00\x0cGenCore$Base\x00\x01a\x01\x00\x00\x00T\x00Norg.apache.flink.api."
    b"common.typeutils.base.IntSerializer$IntSerializerSnapshot\x00\x00\x00\x03\x00\x01b\x01\x00"
    b"\x00\x00\x11\x00\x0cGenCore$Base\x00\x01b\x01\x00\x00\x00Z\x00Torg.apache.flink.api.common."
    b"typeutils.base.StringSerializer$StringSerializerSnapshot\x00\x00\x00\x03\x00\x01c\x01\x00"
    b"\x00\x00\x11\x00\x0cGenCore$Base\x00\x01c\x01\x00\x00\x00u\x00Porg.apache.flink.api.common."
    b"typeutils.base.EnumSerializer$EnumSerializerSnapshot\x00\x00\x00\x03\x00\rGenCore$Color\x00"
    b"\x00\x00\x02\x00\x03RED\x00\x05GREEN\x00\x00\x04\xf2\xc6\x9a=p\x00\x00\x00\x00\x00\x00\x04"
    b"\xf2\xc6\x9a=p\x00\x00\x00\x00"
)
KRYO = snapshot(
    f"{RUNTIME}kryo.KryoSerializerSnapshot",
    utf("a.B")
    + optional_map({"a.B": utf("a.B") + i32(0), "a.C": utf("a.C") + i32(1) + utf("a.S")})
    + optional_map({})
    + optional_map({}),
    version=2,
)
AVRO = snapshot(
    "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot", b'\x02X\x06"int"', version=3
)
DATA = {
    "tuple": GOLDEN[4:],
    "pojo": GOLDEN_POJO[4:],
    "kryo": KRYO,
    "avro": AVRO,
    "list": LIST,
}


def read(data: bytes) -> TypeSerializerSnapshot:
    view = SnapshotView(data, "header")
    snapshot = TypeSerializerSnapshot.read(view)
    view.expect_end()
    return snapshot


def written(snapshot: TypeSerializerSnapshot) -> bytes:
    view = DataOutputView()
    snapshot.write(view)
    return view.to_bytes()


def layout(data: bytes) -> Layout:
    return read(data).layout()


EVENT_ID = snapshot(f"{CEP}sharedbuffer.EventId$EventIdSerializer$EventIdSerializerSnapshot")
DEWEY = snapshot(f"{CEP}DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot")
NODE_ID = composite(f"{CEP}sharedbuffer.NodeId$NodeIdSerializer$NodeIdSerializerSnapshot", EVENT_ID)

NFA = f"{CEP}NFAStateSerializerSnapshot"
ROW = f"{RUNTIME}RowSerializer$RowSerializerSnapshot"
