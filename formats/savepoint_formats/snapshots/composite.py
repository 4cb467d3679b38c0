"""Snapshots of serializers that are made of other serializers.

| version | body                                                                          |
|---------|-------------------------------------------------------------------------------|
| 3       | i32 911108, i32 outer version, own part, i32 1333245, i32 1, i32 n, nested    |
| 1, 2    | own part (its version is the body's), i32 1333245, i32 1, i32 n, nested       |

Flink: ``CompositeTypeSerializerSnapshot``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.layout import (
    Int,
    Layout,
    Long,
    MapOf,
    MaskedStruct,
    Nullable,
    Repeated,
    Struct,
    Tagged,
    Text,
    TimerTimestamp,
    Ttl,
)
from savepoint_formats.snapshots.basic import BASE, RUNTIME, SCALA, inner
from savepoint_formats.snapshots.fields import BOOL, INT, JAVA, UTF
from savepoint_formats.snapshots.snapshot import NO_FIELDS, SNAPSHOT, SnapshotKind, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.snapshots.fields import Codec, Field
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

_API = "org.apache.flink.api.common.typeutils."
_STREAMING = "org.apache.flink.streaming."
_STATE = "org.apache.flink.runtime.state."
_CEP = "org.apache.flink.cep.nfa."
_DATAVIEW = "org.apache.flink.table.dataview."
_TABLE = "org.apache.flink.table.runtime.typeutils."


def composite(layout: Callable[[TypeSerializerSnapshot], Layout], **outer: Codec) -> SnapshotKind:
    """The kind of a composite whose own part is the same in all outer versions."""
    fields: tuple[Field, ...] = tuple(outer.items())
    return SnapshotKind(layout, lambda _outer_version: fields, is_composite=True)


def composite_since(
    outer_version: int, name: str, codec: Codec, layout: Callable[[TypeSerializerSnapshot], Layout]
) -> SnapshotKind:
    """The kind of a composite that has one field of its own from an outer version on."""
    fields: tuple[Field, ...] = ((name, codec),)
    return SnapshotKind(
        layout,
        lambda version: fields if version >= outer_version else NO_FIELDS,
        is_composite=True,
    )


def numbered(prefix: str, count: int, first: int = 0) -> tuple[str, ...]:
    """``f0``, ``f1``…"""
    return tuple(f"{prefix}{index}" for index in range(first, first + count))


def _single(snapshot: TypeSerializerSnapshot) -> Layout:
    (inner_layout,) = snapshot.nested_layouts()
    return inner_layout


def _repeated(snapshot: TypeSerializerSnapshot) -> Layout:
    return Repeated(_single(snapshot))


def _repeated_nullable(snapshot: TypeSerializerSnapshot) -> Layout:
    return Repeated(Nullable(_single(snapshot)))


def _repeated_optional(snapshot: TypeSerializerSnapshot) -> Layout:
    return Repeated(Nullable(_single(snapshot), is_null=False))


def _map(snapshot: TypeSerializerSnapshot) -> Layout:
    key, value = snapshot.nested_layouts()
    return MapOf(key, Nullable(value))


def _null_aware_map(snapshot: TypeSerializerSnapshot) -> Layout:
    key, value = snapshot.nested_layouts()
    return MapOf(Nullable(key), Nullable(value))


def _alternatives(*tags: int, names: tuple[str, ...]) -> Callable[..., Layout]:
    return lambda snapshot: Tagged(tags, names, snapshot.nested_layouts())


def _nullable(snapshot: TypeSerializerSnapshot) -> Layout:
    return Nullable(_single(snapshot), padding=snapshot["padding"])


def _tuple(snapshot: TypeSerializerSnapshot) -> Layout:
    return Struct(numbered("f", len(snapshot.nested)), snapshot.nested_layouts())


def _case_class(snapshot: TypeSerializerSnapshot) -> Layout:
    return Struct(numbered("_", len(snapshot.nested), 1), snapshot.nested_layouts())


def _row(snapshot: TypeSerializerSnapshot) -> Layout:
    has_kind = snapshot.outer_version == 3
    if "has_kind" in snapshot.names:
        has_kind = snapshot["has_kind"]
    return MaskedStruct(numbered("f", len(snapshot.nested)), snapshot.nested_layouts(), has_kind)


def named(*names: str) -> Callable[[TypeSerializerSnapshot], Layout]:
    """The layout of the nested serializers one behind the other, under these names."""
    return lambda snapshot: Struct(names, snapshot.nested_layouts())


def _ttl(snapshot: TypeSerializerSnapshot) -> Layout:
    _, value = snapshot.nested_layouts()
    return Ttl(value)


def _timer(snapshot: TypeSerializerSnapshot) -> Layout:
    key, namespace = snapshot.nested_layouts()
    return Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), key, namespace))


def _stream_element(snapshot: TypeSerializerSnapshot) -> Layout:
    record = _single(snapshot)
    latency = Struct(
        ("marked_time", "operator_id_low", "operator_id_high", "subtask"),
        (Long(), Long(), Long(), Int()),
    )
    watermark = Struct(("subpartition", "timestamp"), (Int(), Long()))
    return Tagged(
        tuple(range(7)),
        (
            "record",
            "record_without_timestamp",
            "watermark",
            "latency",
            "status",
            "is_backlog",
            "subpartition_watermark",
        ),
        (
            Struct(("timestamp", "value"), (Long(), record)),
            record,
            Long(),
            latency,
            Int(),
            layouts.Boolean(),
            watermark,
        ),
    )


def _buffer_entry(snapshot: TypeSerializerSnapshot) -> Layout:
    return Struct(("has_been_joined", "element"), (layouts.Boolean(), _single(snapshot)))


def _two_phase_commit(snapshot: TypeSerializerSnapshot) -> Layout:
    transaction, context = snapshot.nested_layouts()
    has_flag = snapshot.outer_version == 3
    if "supports_null" in snapshot.names:
        has_flag = snapshot["supports_null"]
    pending = Nullable(transaction, is_null=False) if has_flag else transaction
    return Struct(
        ("pending", "pending_start", "committing", "context"),
        (
            pending,
            Long(),
            Repeated(Struct(("transaction", "start"), (transaction, Long()))),
            Nullable(context, is_null=False),
        ),
    )


def _node_id(snapshot: TypeSerializerSnapshot) -> Layout:
    event_id = Nullable(_single(snapshot), is_null=False)
    return Struct(("event_id", "page_name"), (event_id, Text()))


def _lockable(snapshot: TypeSerializerSnapshot) -> Layout:
    return Struct(("reference_count", "element"), (Int(), _single(snapshot)))


def _shared_node(snapshot: TypeSerializerSnapshot) -> Layout:
    return Repeated(_lockable(snapshot))


def _nfa_state(snapshot: TypeSerializerSnapshot) -> Layout:
    version, node_id, event_id = snapshot.nested_layouts()
    parts: list[tuple[str, Layout]] = [
        ("state", Text()),
        ("previous", node_id),
        ("version", version),
        ("start", Long()),
        ("start_event_id", Nullable(event_id, is_null=False)),
    ]
    if "has_previous_timestamp" in snapshot.names and snapshot["has_previous_timestamp"]:
        parts.insert(4, ("previous_timestamp", Long()))
    names, fields = zip(*parts, strict=True)
    computations = Repeated(Struct(names, fields))
    return Struct(("partial", "completed"), (computations, computations))


def _linked_list(snapshot: TypeSerializerSnapshot) -> Layout:
    has_mask = snapshot.outer_version == 2
    if "has_mask" in snapshot.names:
        has_mask = snapshot["has_mask"]
    element = _single(snapshot)
    return layouts.MaskedRepeated(element) if has_mask else Repeated(element)


def _window_key(snapshot: TypeSerializerSnapshot) -> Layout:
    return Struct(("window", "key"), (Long(), _single(snapshot)))


_LIST = composite(_repeated)
_EITHER = composite(_alternatives(1, 0, names=("left", "right")))
_CASE_CLASS = composite(_case_class, type_class=UTF)
_TTL = composite(_ttl)
_TWO_PHASE_COMMIT = composite_since(4, "supports_null", BOOL, _two_phase_commit)

register(
    {
        f"{BASE}ListSerializerSnapshot": _LIST,
        f"{_STATE}ArrayListSerializerSnapshot": _LIST,
        f"{BASE}SetSerializerSnapshot": composite(_repeated_nullable),
        f"{BASE}MapSerializerSnapshot": composite(_map),
        f"{_DATAVIEW}NullAwareMapSerializerSnapshot": composite(_null_aware_map),
        f"{_DATAVIEW}ListViewSerializerSnapshot": composite(_single),
        f"{_DATAVIEW}MapViewSerializerSnapshot": composite(_single),
        f"{BASE}GenericArraySerializerSnapshot": composite(_repeated_optional, component=UTF),
        f"{BASE}GenericArraySerializerConfigSnapshot": composite(_repeated_optional, component=UTF),
        f"{RUNTIME}JavaEitherSerializerSnapshot": _EITHER,
        f"{RUNTIME}EitherSerializerSnapshot": _EITHER,
        inner(f"{RUNTIME}NullableSerializer"): composite(_nullable, padding=INT),
        f"{RUNTIME}TupleSerializerSnapshot": composite(_tuple, type_class=UTF),
        inner(f"{RUNTIME}RowSerializer"): composite_since(4, "has_kind", BOOL, _row),
        inner(f"{_API}SingleThreadAccessCheckingTypeSerializer"): composite(_single),
        f"{_STREAMING}api.operators.TimerSerializerSnapshot": composite(_timer),
        f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot": _TTL,
        f"{_STATE}v2.ttl.TtlStateFactory$TtlSerializerSnapshot": _TTL,
        f"{_STATE}ttl.TtlAwareSerializerSnapshot": SnapshotKind(
            lambda snapshot: snapshot["inner"].layout(),
            lambda _version: (("has_ttl", BOOL), ("inner", SNAPSHOT)),
            versions=range(1, 2),
        ),
        inner(f"{_STREAMING}runtime.streamrecord.StreamElementSerializer"): composite(
            _stream_element
        ),
        f"{_STREAMING}api.datastream.CoGroupedStreams$UnionSerializerSnapshot": composite(
            _alternatives(1, 2, names=("one", "two"))
        ),
        f"{_STREAMING}api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot": (
            composite(_buffer_entry)
        ),
        **{
            f"{_STREAMING}api.functions.sink.{legacy}TwoPhaseCommitSinkFunction"
            "$StateSerializerSnapshot": _TWO_PHASE_COMMIT
            for legacy in ("", "legacy.")
        },
    }
)
register(
    {
        f"{_CEP}sharedbuffer.NodeId$NodeIdSerializer$NodeIdSerializerSnapshot": (
            composite(_node_id)
        ),
        f"{_CEP}sharedbuffer.SharedBufferEdge$SharedBufferEdgeSerializer"
        "$SharedBufferEdgeSerializerSnapshot": composite(named("target", "version")),
        f"{_CEP}sharedbuffer.LockableTypeSerializerSnapshot": composite(_lockable),
        f"{_CEP}sharedbuffer.Lockable$LockableTypeSerializerSnapshot": composite(_lockable),
        f"{_CEP}sharedbuffer.SharedBufferNodeSerializerSnapshotV2": composite(_shared_node),
        f"{_CEP}sharedbuffer.SharedBufferNode$SharedBufferNodeSerializer"
        "$SharedBufferNodeSerializerSnapshot": composite(_single),
        f"{_CEP}NFAStateSerializerSnapshot": composite_since(
            2, "has_previous_timestamp", BOOL, _nfa_state
        ),
    }
)
for _prefix in SCALA:
    register(
        {
            f"{_prefix}ScalaCaseClassSerializerSnapshot": _CASE_CLASS,
            f"{_prefix}Tuple2CaseClassSerializerSnapshot": _CASE_CLASS,
            f"{_prefix}ScalaOptionSerializerSnapshot": composite(
                lambda snapshot: Nullable(_single(snapshot), is_null=False)
            ),
            f"{_prefix}ScalaEitherSerializerSnapshot": _EITHER,
            f"{_prefix}ScalaTrySerializerSnapshot": composite(
                _alternatives(1, 0, names=("success", "failure"))
            ),
            f"{_prefix}TraversableSerializerSnapshot": composite(
                _repeated_optional, builder_code=UTF
            ),
        }
    )
_SEQUENCED = "org.apache.flink.table.runtime.sequencedmultisetstate.linked."
register(
    {
        inner(f"{_TABLE}RawValueDataSerializer"): composite(
            lambda snapshot: layouts.Framed(_single(snapshot))
        ),
        inner(f"{_TABLE}ExternalSerializer"): composite(
            _single, data_type=JAVA, is_internal_input=BOOL
        ),
        inner(f"{_TABLE}LinkedListSerializer"): composite_since(3, "has_mask", BOOL, _linked_list),
        inner(f"{_TABLE}WindowKeySerializer"): composite(_window_key),
        inner(f"{_SEQUENCED}MetaSqnInfoSerializer"): composite(named("high_sqn", "size")),
        inner(f"{_SEQUENCED}RowSqnInfoSerializer"): composite(named("first_sqn", "last_sqn")),
        inner(f"{_SEQUENCED}NodeSerializer"): composite(
            named("row", "sqn", "previous", "next", "next_for_record", "timestamp")
        ),
    }
)
