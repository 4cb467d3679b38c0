"""States and fields that operators and connectors of Flink make for themselves, by their names.

Their texts and numbers are names of patterns, topics and transactions, times, counts and the like: a
masked one makes a job fail, lose rows, or read and write elsewhere. Rows and events of the job are in
other states, or in other fields of the same states. A name that a job may have, too, is only Flink's
if the layout is Flink's.

| operator              | source                                                                   |
|-----------------------|--------------------------------------------------------------------------|
| window                | ``WindowOperator``, ``EvictingWindowOperator``, its triggers, and their  |
|                       | likes in PyFlink and Flink SQL                                           |
| all rows as one key   | ``NullByteKeySelector``: of ``windowAll``, and of patterns               |
| CEP                   | ``CepOperator``, ``SharedBuffer``                                        |
| interval join         | ``IntervalJoinOperator``: the namespaces of its timers say what to clean |
| queries               | ``RowTimeSortOperator``, functions of OVER windows, ``TimeIntervalJoin``,|
|                       | ``JoinRecordStateViews``, ``TemporalRowTimeJoinOperator``, the rank      |
|                       | functions, ``WindowAggOperator``, ``DistinctViewFactory``                |
| sources               | ``SourceOperator``, ``FlinkKafkaConsumerBase``, ``FlinkKinesisConsumer``,|
|                       | ``ContinuousFileMonitoringFunction``                                     |
| sinks                 | ``SinkWriterStateHandler``, ``CommitterOperator``, ``StreamingFileSink``,|
|                       | ``FlinkKafkaProducer``, ``IcebergFilesCommitter``                        |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.metadata import STALE_WHEN_STOPPED
from savepoint_formats.python_state.stored_forms import own_type
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from savepoint_formats.layout import Layout
    from savepoint_formats.state_files import State

_WINDOW_SETS = ("merging-window-set", "session-window-mapping")
_WINDOWS = "window-contents"
_CEP = (
    "nfaStateName",
    "sharedBuffer-entries",
    "sharedBuffer-entries-with-lockable-edges",
    "sharedBuffer-events-count",
)
_SOURCES = (
    "SourceReaderState",
    *STALE_WHEN_STOPPED,
    "message-acknowledging-source-state",
)
_SINKS = (
    "writer_raw_states",
    "streaming_committer_raw_states",
    "global_committer_raw_states",
    "bucket-states",
    "max-part-counter",
    "next-transactional-id-hint",
    "next-transactional-id-hint-v2",
    "iceberg-files-committer-state",
)
_STATES = frozenset((*_CEP, *_SOURCES, *_SINKS))
_TRIGGERS = ("count", "fire-time")
_NUMBERS_OF_QUERIES = frozenset(
    (
        "lastTriggeringTsState",
        "processedCountState",
        "smallestTSState",
        "cleanupTsState",
        "RowTimeUnboundedOverCleanupTime",
        "RowTimeBoundedRowsOverCleanupTime",
        "ProcTimeBoundedRowsOverCleanupTime",
        "IntervalJoinLeftTimerState",
        "IntervalJoinRightTimerState",
        "cleanup-timestamp",
        "next-index",
        "timer",
        "counterState",
        "idState",
    )
)
"""Times and counts, one number for a key."""

_TIMERS = ("CLEANUP_TIMER",)
"""Services of timers with namespaces that are texts of an operator."""

_TWO_PHASE_COMMIT = ("pending", "pending_start", "committing", "context")
"""Fields of the state of a ``TwoPhaseCommitSinkFunction``, whose name is only ``state``."""

_DISTINCT = re.compile(r"distinctAcc_\d+(_null_state)?")


def is_own_state(state: State) -> bool:
    """Whether only Flink needs the values of a state."""
    is_two_phase = (
        isinstance(state.stored, layouts.Struct)
        and tuple(state.stored.names) == _TWO_PHASE_COMMIT
        and not state.kind.is_keyed
    )
    return (
        state.name in _STATES or is_two_phase or _is_of_trigger(state) or _is_number_of_query(state)
    )


def has_windows_alone(state: State) -> bool:
    """Whether a state of a window operator holds nothing but windows; no rule can change it."""
    return state.job_name in _WINDOW_SETS


def is_own_field(state: State, name: str) -> bool:
    """Whether only Flink needs a field of a state that has values of the job, too."""
    fields = _OWN_FIELDS.get(state.name)
    own = ("value",) if _DISTINCT.fullmatch(state.name) else fields(state) if fields else ()
    return is_own_state(state) or any(
        name == field or name.startswith(f"{field}.") for field in own
    )


def has_own_namespaces(state: State) -> bool:
    """Whether the namespaces of a state are texts of its operator."""
    return state.name.endswith(tuple(f"_{service}" for service in _TIMERS))


def has_own_key(states: Iterable[State]) -> bool:
    """Whether an operator has all rows below one key, which is a byte of Flink's choice."""
    keyed = [state for state in states if state.kind.is_keyed]
    is_byte = any(_plain_key(state.key) == layouts.Byte() for state in keyed)
    return is_byte and any(state.job_name in (_WINDOWS, _CEP[0]) for state in keyed)


def _plain_key(key: Layout | None) -> Layout | None:
    """A key; that of PyFlink is the only field of a row."""
    match key:
        case layouts.MaskedStruct(_, (inner,)):
            return inner
        case _:
            return key


def _is_of_trigger(state: State) -> bool:
    if own_type(state.job_name, state.key, state.namespace) == "Types.LONG()":
        return state.name != state.job_name or state.kind is StateKind.REDUCING
    return (
        state.name in _TRIGGERS
        and state.kind is StateKind.REDUCING
        and state.namespace is not None
        and state.value == layouts.Long()
    )


def _is_number_of_query(state: State) -> bool:
    if state.name == "watermark":
        return state.kind is StateKind.UNION_LIST and state.stored == layouts.Long()
    is_number = state.value in (layouts.Long(), layouts.Int())
    return state.name in _NUMBERS_OF_QUERIES and is_number and _is_row(state.key)


def _is_row(layout: Layout | None) -> bool:
    """Whether a layout is that of a row of SQL."""
    return isinstance(layout, layouts.Framed) and isinstance(layout.inner, layouts.BinaryRow)


def _by_time(state: State) -> tuple[str, ...]:
    """A map by times or numbers of rows, in an operator of a query."""
    value = state.value
    is_by_number = isinstance(value, layouts.MapOf) and value.key == layouts.Long()
    return ("map_key",) if is_by_number and _is_row(state.key) else ()


def _elements(state: State) -> tuple[str, ...]:
    """Elements of a stream with their times, which evictors need."""
    match state.stored:
        case layouts.Repeated(layouts.Tagged(names=names)) if names[0] == "record":
            return ("value.record.timestamp", *(f"value.{name}" for name in names[2:]))
        case _:
            return ()


def _counted_records(state: State) -> tuple[str, ...]:
    """Records with their number, or with that of their partners."""
    value = state.value.value if isinstance(state.value, layouts.MapOf) else state.value
    match value.inner if isinstance(value, layouts.Nullable) else value:
        case layouts.Int() | layouts.Struct(fields=(layouts.Int(), layouts.Int())):
            return ("value",)
        case layouts.Struct(fields=(_, layouts.Int())):
            return ("value.f1",)
        case _:
            return ()


_OWN_FIELDS: dict[str, Callable[[State], tuple[str, ...]]] = {
    _WINDOWS: _elements,
    "LEFT_BUFFER": lambda _: ("map_key", "value.has_been_joined"),
    "RIGHT_BUFFER": lambda _: ("map_key", "value.has_been_joined"),
    "eventQueuesStateName": lambda _: ("map_key",),
    "sharedBuffer-events": lambda _: ("map_key", "value.reference_count"),
    "IntervalJoinLeftCache": lambda _: ("map_key", "value.f1"),
    "IntervalJoinRightCache": lambda _: ("map_key", "value.f1"),
    "left-records": _counted_records,
    "right-records": _counted_records,
    "data-state-with-update": _counted_records,
    "internal-named-timers-map": lambda _: ("value",),
    **dict.fromkeys(("inputState", "dataState", "left", "right", "valueMapState"), _by_time),
}
"""State -> its fields that only Flink needs, with all fields inside of them."""
