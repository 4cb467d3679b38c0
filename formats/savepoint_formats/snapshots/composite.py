"""Snapshots of serializers that are made of other serializers.

| version | body                                                                          |
|---------|-------------------------------------------------------------------------------|
| 3       | i32 911108, i32 outer version, own part, i32 1333245, i32 1, i32 n, nested    |
| 1, 2    | own part (its version is the body's), i32 1333245, i32 1, i32 n, nested       |

Flink: ``CompositeTypeSerializerSnapshot``.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from savepoint_formats.snapshots.fields import BOOL, JAVA, UTF, number
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

# A null is padded to the fixed length of what it stands for, which is a few numbers.
_MAX_PADDING = 1 << 20


def composite(
    layout: Callable[[TypeSerializerSnapshot], Layout], parts: int | None = 1, **outer: Codec
) -> SnapshotKind:
    """The kind of a composite whose own part is the same in all outer versions."""
    fields: tuple[Field, ...] = tuple(outer.items())
    return SnapshotKind(layout, lambda _outer_version: fields, is_composite=True, parts=parts)


@dataclass(frozen=True, slots=True)
class Since:
    """A boolean of a composite that its newest outer version has introduced."""

    outer_version: int
    name: str

    def composite(
        self, layout: Callable[[TypeSerializerSnapshot], Layout], parts: int | None = 1
    ) -> SnapshotKind:
        """The kind of the composite."""
        fields: tuple[Field, ...] = ((self.name, BOOL),)
        return SnapshotKind(
            layout,
            lambda version: fields if version >= self.outer_version else NO_FIELDS,
            is_composite=True,
            newest_outer=self.outer_version,
            parts=parts,
        )

    def is_set(self, snapshot: TypeSerializerSnapshot, *, implied_by: int | None = None) -> bool:
        """Its value; before it was introduced, whether the outer version implies it."""
        if self.name in snapshot.names:
            return bool(snapshot[self.name])
        return snapshot.outer_version == implied_by


def numbered(prefix: str, count: int, first: int = 0) -> tuple[str, ...]:
    """Names such as ``f0``, ``f1``."""
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
    has_kind = _ROW_KIND.is_set(snapshot, implied_by=3)
    return MaskedStruct(numbered("f", len(snapshot.nested)), snapshot.nested_layouts(), has_kind)


def named(*names: str) -> SnapshotKind:
    """The kind of a composite of serializers one behind the other, under these names."""
    return composite(lambda snapshot: Struct(names, snapshot.nested_layouts()), parts=len(names))


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
    is_nullable = _NULL_TRANSACTION.is_set(snapshot, implied_by=3)
    pending = Nullable(transaction, is_null=False) if is_nullable else transaction
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
    node_id = Struct(("event_id", "page_name"), (_single(snapshot), Text()))
    return Nullable(node_id, is_null=False)


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
    if _PREVIOUS_TIMESTAMP.is_set(snapshot):
        parts.insert(4, ("previous_timestamp", Long()))
    names, fields = zip(*parts, strict=True)
    computations = Repeated(Struct(names, fields))
    return Struct(("partial", "completed"), (computations, computations))


def _linked_list(snapshot: TypeSerializerSnapshot) -> Layout:
    element = _single(snapshot)
    has_mask = _NULL_MASK.is_set(snapshot, implied_by=2)
    return layouts.MaskedRepeated(element) if has_mask else Repeated(element)


def _window_key(snapshot: TypeSerializerSnapshot) -> Layout:
    return Struct(("window", "key"), (Long(), _single(snapshot)))


_ROW_KIND = Since(4, "has_kind")
_NULL_TRANSACTION = Since(4, "supports_null")
_PREVIOUS_TIMESTAMP = Since(2, "has_previous_timestamp")
_NULL_MASK = Since(3, "has_mask")

_LIST = composite(_repeated)
_EITHER = composite(_alternatives(1, 0, names=("left", "right")), parts=2)
_CASE_CLASS = composite(_case_class, parts=None, type_class=UTF)
_TTL = composite(_ttl, parts=2)
_TWO_PHASE_COMMIT = _NULL_TRANSACTION.composite(_two_phase_commit, parts=2)

register(
    {
        f"{BASE}ListSerializerSnapshot": _LIST,
        f"{_STATE}ArrayListSerializerSnapshot": _LIST,
        f"{BASE}SetSerializerSnapshot": composite(_repeated_nullable),
        f"{BASE}MapSerializerSnapshot": composite(_map, parts=2),
        f"{_DATAVIEW}NullAwareMapSerializerSnapshot": composite(_null_aware_map, parts=2),
        f"{_DATAVIEW}ListViewSerializerSnapshot": composite(_single),
        f"{_DATAVIEW}MapViewSerializerSnapshot": composite(_single),
        f"{BASE}GenericArraySerializerSnapshot": composite(_repeated_optional, component=UTF),
        f"{BASE}GenericArraySerializerConfigSnapshot": composite(_repeated_optional, component=UTF),
        f"{RUNTIME}JavaEitherSerializerSnapshot": _EITHER,
        f"{RUNTIME}EitherSerializerSnapshot": _EITHER,
        inner(f"{RUNTIME}NullableSerializer"): composite(
            _nullable, padding=number(0, _MAX_PADDING)
        ),
        f"{RUNTIME}TupleSerializerSnapshot": composite(_tuple, parts=None, type_class=UTF),
        inner(f"{RUNTIME}RowSerializer"): _ROW_KIND.composite(_row, parts=None),
        inner(f"{_API}SingleThreadAccessCheckingTypeSerializer"): composite(_single),
        f"{_STREAMING}api.operators.TimerSerializerSnapshot": composite(_timer, parts=2),
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
            _alternatives(1, 2, names=("one", "two")), parts=2
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
        "$SharedBufferEdgeSerializerSnapshot": named("target", "version"),
        f"{_CEP}sharedbuffer.LockableTypeSerializerSnapshot": composite(_lockable),
        f"{_CEP}sharedbuffer.Lockable$LockableTypeSerializerSnapshot": composite(_lockable),
        f"{_CEP}sharedbuffer.SharedBufferNodeSerializerSnapshotV2": composite(_shared_node),
        f"{_CEP}sharedbuffer.SharedBufferNode$SharedBufferNodeSerializer"
        "$SharedBufferNodeSerializerSnapshot": composite(_single),
        f"{_CEP}NFAStateSerializerSnapshot": _PREVIOUS_TIMESTAMP.composite(_nfa_state, parts=3),
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
                _alternatives(1, 0, names=("success", "failure")), parts=2
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
        inner(f"{_TABLE}LinkedListSerializer"): _NULL_MASK.composite(_linked_list),
        inner(f"{_TABLE}WindowKeySerializer"): composite(_window_key),
        inner(f"{_SEQUENCED}MetaSqnInfoSerializer"): named("high_sqn", "size"),
        inner(f"{_SEQUENCED}RowSqnInfoSerializer"): named("first_sqn", "last_sqn"),
        inner(f"{_SEQUENCED}NodeSerializer"): named(
            "row", "sqn", "previous", "next", "next_for_record", "timestamp"
        ),
    }
)
