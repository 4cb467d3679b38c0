"""Snapshots of serializers that consist of other serializers.

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
from savepoint_formats.bytes.codecs import BOOL, UTF
from savepoint_formats.snapshots.basic import BASE, RUNTIME, SCALA, inner
from savepoint_formats.snapshots.fields import JAVA, number
from savepoint_formats.snapshots.snapshot import NO_FIELDS, SNAPSHOT, SnapshotKind, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.codecs import Codec
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots.fields import Field
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

_API = "org.apache.flink.api.common.typeutils."
_STREAMING = "org.apache.flink.streaming."
_STATE = "org.apache.flink.runtime.state."
_CEP = "org.apache.flink.cep.nfa."
_DATAVIEW = "org.apache.flink.table.dataview."
_TABLE = "org.apache.flink.table.runtime.typeutils."

# A null is padded to the fixed length of its type, which has few bytes.
_MAX_PADDING = 1 << 20


def composite(
    layout: Callable[[TypeSerializerSnapshot], Layout], parts: int | None = 1, **outer: Codec
) -> SnapshotKind:
    """The kind of a composite whose own part is the same in all outer versions."""
    fields: tuple[Field, ...] = tuple(outer.items())
    return SnapshotKind(layout, lambda _outer_version: fields, is_composite=True, parts=parts)


@dataclass(frozen=True, slots=True)
class Since:
    """A boolean that the newest outer version of a composite has introduced."""

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
        """Its value; in older versions, whether the outer version implies it."""
        if self.name in snapshot.names:
            return bool(snapshot[self.name])
        return snapshot.outer_version == implied_by


def numbered(prefix: str, count: int, first: int = 0) -> tuple[str, ...]:
    """Names such as ``f0``, ``f1``."""
    return tuple(f"{prefix}{index}" for index in range(first, first + count))


def of_parts(compose: Callable[..., Layout], parts: int = 1, **outer: Codec) -> SnapshotKind:
    """The kind of a composite whose layout is composed of the layouts of its serializers."""
    return composite(lambda snapshot: compose(*snapshot.nested_layouts()), parts, **outer)


def _single(snapshot: TypeSerializerSnapshot) -> Layout:
    (inner_layout,) = snapshot.nested_layouts()
    return inner_layout


def optional_part(value: Layout) -> Layout:
    """A value behind a flag that says whether there is one."""
    return layouts.Nullable(value, is_null=False)


def optional_elements(element: Layout) -> Layout:
    """A list of values that may be missing."""
    return layouts.Repeated(optional_part(element))


def java_map(key: Layout, value: Layout) -> Layout:
    """A map whose values may be null."""
    return layouts.MapOf(key, layouts.Nullable(value))


def tagged_union(*names: str, tags: tuple[int, ...] = (1, 0)) -> Callable[..., Layout]:
    """One of several values behind a tag."""
    return lambda *values: layouts.Tagged(tags, names, values)


def _nullable(snapshot: TypeSerializerSnapshot) -> Layout:
    return layouts.Nullable(_single(snapshot), padding=snapshot["padding"])


def _tuple(snapshot: TypeSerializerSnapshot) -> Layout:
    return layouts.Struct(numbered("f", len(snapshot.nested)), snapshot.nested_layouts())


def _case_class(snapshot: TypeSerializerSnapshot) -> Layout:
    return layouts.Struct(numbered("_", len(snapshot.nested), 1), snapshot.nested_layouts())


def _row(snapshot: TypeSerializerSnapshot) -> Layout:
    has_kind = _ROW_KIND.is_set(snapshot, implied_by=3)
    return layouts.MaskedStruct(
        numbered("f", len(snapshot.nested)), snapshot.nested_layouts(), has_kind
    )


def _named(*names: str) -> SnapshotKind:
    """The kind of a composite that writes one value behind the other."""
    return of_parts(lambda *parts: layouts.Struct(names, parts), len(names))


def _timer(key: Layout, namespace: Layout) -> Layout:
    return layouts.Struct(
        ("timestamp", "key", "namespace"), (layouts.TimerTimestamp(), key, namespace)
    )


def _stream_element(record: Layout) -> Layout:
    latency = layouts.Struct(
        ("marked_time", "operator_id_low", "operator_id_high", "subtask"),
        (layouts.Long(), layouts.Long(), layouts.Long(), layouts.Int()),
    )
    kinds = {
        "record": layouts.Struct(("timestamp", "value"), (layouts.Long(), record)),
        "record_without_timestamp": record,
        "watermark": layouts.Long(),
        "latency": latency,
        "status": layouts.Int(),
        "is_backlog": layouts.Boolean(),
        "subpartition_watermark": layouts.Struct(
            ("subpartition", "timestamp"), (layouts.Int(), layouts.Long())
        ),
    }
    return layouts.Tagged(tuple(range(len(kinds))), tuple(kinds), tuple(kinds.values()))


def _buffer_entry(element: Layout) -> Layout:
    return layouts.Struct(("has_been_joined", "element"), (layouts.Boolean(), element))


def _two_phase_commit(snapshot: TypeSerializerSnapshot) -> Layout:
    transaction, context = snapshot.nested_layouts()
    is_nullable = _NULL_TRANSACTION.is_set(snapshot, implied_by=3)
    pending = optional_part(transaction) if is_nullable else transaction
    return layouts.Struct(
        ("pending", "pending_start", "committing", "context"),
        (
            pending,
            layouts.Long(),
            layouts.Repeated(
                layouts.Struct(("transaction", "start"), (transaction, layouts.Long()))
            ),
            optional_part(context),
        ),
    )


def _node_id(event_id: Layout) -> Layout:
    return optional_part(layouts.Struct(("event_id", "page_name"), (event_id, layouts.Text())))


def _lockable(element: Layout) -> Layout:
    return layouts.Struct(("reference_count", "element"), (layouts.Int(), element))


def _nfa_state(snapshot: TypeSerializerSnapshot) -> Layout:
    version, node_id, event_id = snapshot.nested_layouts()
    parts: list[tuple[str, Layout]] = [
        ("state", layouts.Text()),
        ("previous", node_id),
        ("version", version),
        ("start", layouts.Long()),
        ("start_event_id", optional_part(event_id)),
    ]
    if _PREVIOUS_TIMESTAMP.is_set(snapshot):
        parts.insert(4, ("previous_timestamp", layouts.Long()))
    names, fields = zip(*parts, strict=True)
    computations = layouts.Repeated(layouts.Struct(names, fields))
    return layouts.Struct(("partial", "completed"), (computations, computations))


def _linked_list(snapshot: TypeSerializerSnapshot) -> Layout:
    element = _single(snapshot)
    has_mask = _NULL_MASK.is_set(snapshot, implied_by=2)
    return layouts.MaskedRepeated(element) if has_mask else layouts.Repeated(element)


def _window_key(key: Layout) -> Layout:
    return layouts.Struct(("window", "key"), (layouts.Long(), key))


_ROW_KIND = Since(4, "has_kind")
_NULL_TRANSACTION = Since(4, "supports_null")
_PREVIOUS_TIMESTAMP = Since(2, "has_previous_timestamp")
_NULL_MASK = Since(3, "has_mask")

_LIST = of_parts(layouts.Repeated)
_ARRAY = of_parts(optional_elements, component=UTF)
_SAME = composite(_single)
_EITHER = of_parts(tagged_union("left", "right"), 2)
_CASE_CLASS = composite(_case_class, parts=None, type_class=UTF)
_TTL = of_parts(lambda _time, value: layouts.Ttl(value), 2)
_TWO_PHASE_COMMIT = _NULL_TRANSACTION.composite(_two_phase_commit, parts=2)
_LOCKABLE = of_parts(_lockable)

register(
    {
        f"{BASE}ListSerializerSnapshot": _LIST,
        f"{_STATE}ArrayListSerializerSnapshot": _LIST,
        f"{BASE}SetSerializerSnapshot": of_parts(
            lambda element: layouts.Repeated(layouts.Nullable(element), is_set=True)
        ),
        f"{BASE}MapSerializerSnapshot": of_parts(java_map, 2),
        f"{_DATAVIEW}NullAwareMapSerializerSnapshot": of_parts(
            lambda key, value: java_map(layouts.Nullable(key), value), 2
        ),
        f"{_DATAVIEW}ListViewSerializerSnapshot": _SAME,
        f"{_DATAVIEW}MapViewSerializerSnapshot": _SAME,
        f"{BASE}GenericArraySerializerSnapshot": _ARRAY,
        f"{BASE}GenericArraySerializerConfigSnapshot": _ARRAY,
        f"{RUNTIME}JavaEitherSerializerSnapshot": _EITHER,
        f"{RUNTIME}EitherSerializerSnapshot": _EITHER,
        inner(f"{RUNTIME}NullableSerializer"): composite(
            _nullable, padding=number(0, _MAX_PADDING)
        ),
        f"{RUNTIME}TupleSerializerSnapshot": composite(_tuple, parts=None, type_class=UTF),
        inner(f"{RUNTIME}RowSerializer"): _ROW_KIND.composite(_row, parts=None),
        inner(f"{_API}SingleThreadAccessCheckingTypeSerializer"): _SAME,
        f"{_STREAMING}api.operators.TimerSerializerSnapshot": of_parts(_timer, 2),
        f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot": _TTL,
        f"{_STATE}v2.ttl.TtlStateFactory$TtlSerializerSnapshot": _TTL,
        f"{_STATE}ttl.TtlAwareSerializerSnapshot": SnapshotKind(
            lambda snapshot: snapshot["inner"].layout(),
            lambda _version: (("has_ttl", BOOL), ("inner", SNAPSHOT)),
            versions=range(1, 2),
        ),
        inner(f"{_STREAMING}runtime.streamrecord.StreamElementSerializer"): of_parts(
            _stream_element
        ),
        f"{_STREAMING}api.datastream.CoGroupedStreams$UnionSerializerSnapshot": of_parts(
            tagged_union("one", "two", tags=(1, 2)), 2
        ),
        f"{_STREAMING}api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot": (
            of_parts(_buffer_entry)
        ),
        **{
            f"{_STREAMING}api.functions.sink.{legacy}TwoPhaseCommitSinkFunction"
            "$StateSerializerSnapshot": _TWO_PHASE_COMMIT
            for legacy in ("", "legacy.")
        },
        f"{_CEP}sharedbuffer.NodeId$NodeIdSerializer$NodeIdSerializerSnapshot": of_parts(_node_id),
        f"{_CEP}sharedbuffer.SharedBufferEdge$SharedBufferEdgeSerializer"
        "$SharedBufferEdgeSerializerSnapshot": _named("target", "version"),
        f"{_CEP}sharedbuffer.LockableTypeSerializerSnapshot": _LOCKABLE,
        f"{_CEP}sharedbuffer.Lockable$LockableTypeSerializerSnapshot": _LOCKABLE,
        f"{_CEP}sharedbuffer.SharedBufferNodeSerializerSnapshotV2": of_parts(
            lambda edge: layouts.Repeated(_lockable(edge))
        ),
        f"{_CEP}sharedbuffer.SharedBufferNode$SharedBufferNodeSerializer"
        "$SharedBufferNodeSerializerSnapshot": _SAME,
        f"{_CEP}NFAStateSerializerSnapshot": _PREVIOUS_TIMESTAMP.composite(_nfa_state, parts=3),
    }
)
for _prefix in SCALA:
    register(
        {
            f"{_prefix}ScalaCaseClassSerializerSnapshot": _CASE_CLASS,
            f"{_prefix}Tuple2CaseClassSerializerSnapshot": _CASE_CLASS,
            f"{_prefix}ScalaOptionSerializerSnapshot": of_parts(optional_part),
            f"{_prefix}ScalaEitherSerializerSnapshot": _EITHER,
            f"{_prefix}ScalaTrySerializerSnapshot": of_parts(tagged_union("success", "failure"), 2),
            f"{_prefix}TraversableSerializerSnapshot": of_parts(
                optional_elements, builder_code=UTF
            ),
        }
    )
_SEQUENCED = "org.apache.flink.table.runtime.sequencedmultisetstate.linked."
register(
    {
        inner(f"{_TABLE}RawValueDataSerializer"): of_parts(layouts.Framed),
        inner(f"{_TABLE}ExternalSerializer"): composite(
            _single, data_type=JAVA, is_internal_input=BOOL
        ),
        inner(f"{_TABLE}LinkedListSerializer"): _NULL_MASK.composite(_linked_list),
        inner(f"{_TABLE}WindowKeySerializer"): of_parts(_window_key),
        inner(f"{_SEQUENCED}MetaSqnInfoSerializer"): _named("high_sqn", "size"),
        inner(f"{_SEQUENCED}RowSqnInfoSerializer"): _named("first_sqn", "last_sqn"),
        inner(f"{_SEQUENCED}NodeSerializer"): _named(
            "row", "sqn", "previous", "next", "next_for_record", "timestamp"
        ),
    }
)
