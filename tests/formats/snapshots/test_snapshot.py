"""Serializer snapshots of each kind: their bytes, the layout that they mean, and damage to them."""

from __future__ import annotations

import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.data_view import DataOutputView
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    TruncatedError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.layout import (
    Boolean,
    Framed,
    Int,
    Layout,
    Long,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Opaque,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Text,
    TimerTimestamp,
    Ttl,
)
from savepoint_formats.snapshots import (
    SerializerEntry,
    SnapshotView,
    TypeSerializerSnapshot,
    read_resynchronised,
)

BASE = "org.apache.flink.api.common.typeutils.base."
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
STREAMING = "org.apache.flink.streaming."
CEP = "org.apache.flink.cep.nfa."
SCALA = "org.apache.flink.api.scala.typeutils."
TABLE = "org.apache.flink.table.runtime.typeutils."


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def i32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def snapshot(class_name: str, body: bytes = b"", version: int = 3) -> bytes:
    return utf(class_name) + i32(version) + body


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


LONG, STRING, INT = simple("Long"), simple("String"), simple("Int")
LIST = composite(f"{BASE}ListSerializerSnapshot", LONG)
TUPLE = composite(
    f"{RUNTIME}TupleSerializerSnapshot",
    LONG,
    outer=2,
    own=utf("org.apache.flink.api.java.tuple.Tuple1"),
)

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
    found = TypeSerializerSnapshot.read(view)
    view.expect_end()
    return found


def written(found: TypeSerializerSnapshot | SerializerEntry) -> bytes:
    view = DataOutputView()
    found.write(view)
    return view.to_bytes()


def layout(data: bytes) -> Layout:
    return read(data).layout()


def test_reads_what_flink_wrote() -> None:
    found = SerializerEntry.read(SnapshotView(GOLDEN)).snapshot
    assert found.class_name == f"{RUNTIME}TupleSerializerSnapshot"
    assert found["type_class"] == "org.apache.flink.api.java.tuple.Tuple1"
    assert found.layout() == Struct(("f0",), (Long(),))


def test_reads_the_pojo_that_flink_wrote() -> None:
    found = SerializerEntry.read(SnapshotView(GOLDEN_POJO)).snapshot
    color = layouts.Enum("GenCore$Color", ("RED", "GREEN"))
    assert found.layout() == Pojo(
        "GenCore$Base", ("a", "b", "c"), (Nullable(Int()), Nullable(Text()), Nullable(color))
    )


@pytest.mark.parametrize("data", [GOLDEN, GOLDEN_POJO], ids=["tuple", "pojo"])
def test_an_entry_is_rewritten_byte_for_byte(data: bytes) -> None:
    assert written(SerializerEntry.read(SnapshotView(data))) == data


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_a_snapshot_is_rewritten_byte_for_byte(data: bytes) -> None:
    assert written(read(data)) == data


def test_an_entry_of_flink_1_6_is_refused_with_what_helps() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"Flink 1\.7 to 1\.20 first"):
        SerializerEntry.read(SnapshotView(i32(1) + GOLDEN[4:]))


def test_a_simple_snapshot_of_flink_1_7_names_its_serializer() -> None:
    data = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot", utf("a.LongSerializer"), 2)
    assert layout(data) == Long()
    assert written(read(data)) == data


def test_a_composite_of_flink_1_7_has_no_head() -> None:
    data = snapshot(f"{RUNTIME}EitherSerializerSnapshot", nested(LONG, STRING), 2)
    assert layout(data) == Tagged((1, 0), ("left", "right"), (Long(), Text()))
    assert written(read(data)) == data


def flag(is_set: bool) -> bytes:
    return bytes([is_set])


EVENT_ID = snapshot(f"{CEP}sharedbuffer.EventId$EventIdSerializer$EventIdSerializerSnapshot")
DEWEY = snapshot(f"{CEP}DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot")
NODE_ID = composite(f"{CEP}sharedbuffer.NodeId$NodeIdSerializer$NodeIdSerializerSnapshot", EVENT_ID)
EVENT_ID_LAYOUT = Struct(("id", "timestamp"), (Int(), Long()))
NODE_ID_LAYOUT = Nullable(
    Struct(("event_id", "page_name"), (EVENT_ID_LAYOUT, Text())), is_null=False
)
NFA = f"{CEP}NFAStateSerializerSnapshot"
ROW = f"{RUNTIME}RowSerializer$RowSerializerSnapshot"
LINKED_LIST = f"{TABLE}LinkedListSerializer$LinkedListSerializerSnapshot"
TRANSACTIONS = f"{STREAMING}api.functions.sink.TwoPhaseCommitSinkFunction$StateSerializerSnapshot"


def transactions(pending: Layout) -> Layout:
    return Struct(
        ("pending", "pending_start", "committing", "context"),
        (
            pending,
            Long(),
            Repeated(Struct(("transaction", "start"), (Long(), Long()))),
            Nullable(Text(), is_null=False),
        ),
    )


def nfa(*names_and_layouts: tuple[str, Layout]) -> Layout:
    names, parts = zip(*names_and_layouts, strict=True)
    computations = Repeated(Struct(names, parts))
    return Struct(("partial", "completed"), (computations, computations))


NFA_HEAD = (
    ("state", Text()),
    ("previous", NODE_ID_LAYOUT),
    ("version", Repeated(Int())),
    ("start", Long()),
)
NFA_TAIL = (("start_event_id", Nullable(EVENT_ID_LAYOUT, is_null=False)),)

LAYOUTS: dict[str, tuple[bytes, Layout]] = {
    "lists have no null flags": (LIST, Repeated(Long())),
    "sets flag nulls": (
        composite(f"{BASE}SetSerializerSnapshot", LONG),
        Repeated(Nullable(Long(), is_null=True)),
    ),
    "maps flag null values": (
        composite(f"{BASE}MapSerializerSnapshot", STRING, LONG),
        MapOf(Text(), Nullable(Long(), is_null=True)),
    ),
    "null-aware maps flag null keys and values": (
        composite("org.apache.flink.table.dataview.NullAwareMapSerializerSnapshot", LONG, LONG),
        MapOf(Nullable(Long()), Nullable(Long())),
    ),
    "arrays flag what is present": (
        composite(f"{BASE}GenericArraySerializerSnapshot", LONG, own=utf("java.lang.Long")),
        Repeated(Nullable(Long(), is_null=False)),
    ),
    "traversables flag what is present": (
        composite(f"{SCALA}TraversableSerializerSnapshot", LONG, outer=2, own=utf("code")),
        Repeated(Nullable(Long(), is_null=False)),
    ),
    "options flag what is present": (
        composite(f"{SCALA}ScalaOptionSerializerSnapshot", LONG, outer=2),
        Nullable(Long(), is_null=False),
    ),
    "either is left at 1": (
        composite(f"{RUNTIME}JavaEitherSerializerSnapshot", LONG, STRING),
        Tagged((1, 0), ("left", "right"), (Long(), Text())),
    ),
    "try succeeded at 1": (
        composite(f"{SCALA}ScalaTrySerializerSnapshot", LONG, STRING, outer=2),
        Tagged((1, 0), ("success", "failure"), (Long(), Text())),
    ),
    "unions count from 1": (
        composite(
            f"{STREAMING}api.datastream.CoGroupedStreams$UnionSerializerSnapshot",
            LONG,
            STRING,
            outer=2,
        ),
        Tagged((1, 2), ("one", "two"), (Long(), Text())),
    ),
    "nullable flags null, and pads it": (
        composite(
            f"{RUNTIME}NullableSerializer$NullableSerializerSnapshot", LONG, outer=2, own=i32(8)
        ),
        Nullable(Long(), is_null=True, padding=8),
    ),
    "case classes count their fields from 1": (
        composite(f"{SCALA}ScalaCaseClassSerializerSnapshot", LONG, INT, outer=2, own=utf("a.B")),
        Struct(("_1", "_2"), (Long(), Int())),
    ),
    "rows up to 1.10 have no kind": (
        composite(ROW, LONG, outer=2),
        MaskedStruct(("f0",), (Long(),), has_kind=False),
    ),
    "rows from 1.11 on have a kind": (
        composite(ROW, LONG, outer=3),
        MaskedStruct(("f0",), (Long(),), has_kind=True),
    ),
    "rows from 1.15 on say that they have no kind": (
        composite(ROW, LONG, outer=4, own=flag(False)),
        MaskedStruct(("f0",), (Long(),), has_kind=False),
    ),
    "rows from 1.15 on say that they have a kind": (
        composite(ROW, LONG, outer=4, own=flag(True)),
        MaskedStruct(("f0",), (Long(),), has_kind=True),
    ),
    "linked lists up to 1.13 have no mask": (
        composite(LINKED_LIST, LONG, outer=1),
        Repeated(Long()),
    ),
    "linked lists of 1.14 have a mask": (
        composite(LINKED_LIST, LONG, outer=2),
        MaskedRepeated(Long()),
    ),
    "linked lists from 1.15 on say that they have a mask": (
        composite(LINKED_LIST, LONG, outer=3, own=flag(True)),
        MaskedRepeated(Long()),
    ),
    "linked lists from 1.15 on say that they have no mask": (
        composite(LINKED_LIST, LONG, outer=3, own=flag(False)),
        Repeated(Long()),
    ),
    "transactions up to 1.13 are there": (
        composite(TRANSACTIONS, LONG, STRING, outer=2),
        transactions(Long()),
    ),
    "transactions of 1.14 may be absent": (
        composite(TRANSACTIONS, LONG, STRING, outer=3),
        transactions(Nullable(Long(), is_null=False)),
    ),
    "transactions from 1.15 on say that they are there": (
        composite(TRANSACTIONS, LONG, STRING, outer=4, own=flag(False)),
        transactions(Long()),
    ),
    "TTL precedes the value": (
        composite(
            "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot",
            LONG,
            STRING,
            outer=2,
        ),
        Ttl(Text()),
    ),
    "a TTL-aware serializer is the one inside": (
        snapshot(
            "org.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot", b"\1" + STRING, 1
        ),
        Text(),
    ),
    "timers are time, key and namespace": (
        composite(f"{STREAMING}api.operators.TimerSerializerSnapshot", STRING, LONG, outer=2),
        Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long())),
    ),
    "buffered events say whether they joined": (
        composite(
            f"{STREAMING}api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot",
            LONG,
            outer=2,
        ),
        Struct(("has_been_joined", "element"), (Boolean(), Long())),
    ),
    "a node id is all of it there, or nothing": (NODE_ID, NODE_ID_LAYOUT),
    "the states of an NFA are in another order than their serializers": (
        composite(NFA, DEWEY, NODE_ID, EVENT_ID, outer=1),
        nfa(*NFA_HEAD, *NFA_TAIL),
    ),
    "the states of an NFA from 1.16 on have a previous timestamp": (
        composite(NFA, DEWEY, NODE_ID, EVENT_ID, outer=2, own=flag(True)),
        nfa(*NFA_HEAD, ("previous_timestamp", Long()), *NFA_TAIL),
    ),
    "raw SQL values are framed": (
        composite(f"{TABLE}RawValueDataSerializer$RawValueDataSerializerSnapshot", LONG, outer=0),
        Framed(Long()),
    ),
}


@pytest.mark.parametrize(("data", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_layout_is_that_of_the_data(data: bytes, expected: Layout) -> None:
    assert layout(data) == expected
    assert written(read(data)) == data


def test_stream_elements_are_tagged() -> None:
    name = (
        f"{STREAMING}runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot"
    )
    found = layout(composite(name, STRING, outer=2))
    assert isinstance(found, Tagged)
    assert found.tags == (0, 1, 2, 3, 4, 5, 6)
    assert found.fields[0] == Struct(("timestamp", "value"), (Long(), Text()))
    assert found.fields[1:3] == (Text(), Long())


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


def test_a_class_that_writes_itself_is_bytes_unless_it_is_well_known() -> None:
    name = f"{RUNTIME}ValueSerializer$ValueSerializerSnapshot"
    well_known = snapshot(name, utf("org.apache.flink.types.LongValue"), 2)
    users = snapshot(name, utf("a.B"), 2)
    assert layout(well_known) == layouts.Varying(Long())
    assert layouts.serializer_length(layout(well_known)) == -1
    assert layout(users) == Opaque("a.B", "the class writes itself, and does not say how")


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
