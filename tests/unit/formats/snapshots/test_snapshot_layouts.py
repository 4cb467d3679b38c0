"""The layout that a serializer snapshot of each kind means."""

from __future__ import annotations

import pytest
from support.hand_made import BASE, LONG, STREAMING, STRING, i32, snapshot, utf
from support.serializer_snapshots import (
    DEWEY,
    EVENT_ID,
    INT,
    LIST,
    NFA,
    NODE_ID,
    ROW,
    RUNTIME,
    SCALA,
    TABLE,
    composite,
    layout,
    read,
    written,
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
    Repeated,
    Struct,
    Tagged,
    Text,
    TimerTimestamp,
    Ttl,
)


def flag(is_set: bool) -> bytes:
    return bytes([is_set])


EVENT_ID_LAYOUT = Struct(("id", "timestamp"), (Int(), Long()))
NODE_ID_LAYOUT = Nullable(
    Struct(("event_id", "page_name"), (EVENT_ID_LAYOUT, Text())), is_null=False
)

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
        Repeated(Nullable(Long(), is_null=True), is_set=True),
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
