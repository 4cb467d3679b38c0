"""States that operators and connectors of Flink make for themselves, by their names.

Their texts and numbers are names of patterns, topics, transactions and the like: a masked one makes
a job fail, or read and write elsewhere. Rows and events of the job are in other states of the same
operators.

| operator              | source                                                                   |
|-----------------------|--------------------------------------------------------------------------|
| window                | ``WindowOperator``, and its successors in Flink SQL                      |
| CEP                   | ``CepOperator``, ``SharedBuffer``                                        |
| interval join         | ``IntervalJoinOperator``: the namespaces of its timers say what to clean |
| sources               | ``SourceOperator``, ``FlinkKafkaConsumerBase``, ``FlinkKinesisConsumer``,|
|                       | ``ContinuousFileMonitoringFunction``                                     |
| sinks                 | ``SinkWriterStateHandler``, ``CommitterOperator``, ``StreamingFileSink``,|
|                       | ``FlinkKafkaProducer``, ``IcebergFilesCommitter``                        |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import Struct
from savepoint_formats.metadata import STALE_WHEN_STOPPED

if TYPE_CHECKING:
    from savepoint_formats.state_files import State

WINDOW_SETS = ("merging-window-set", "session-window-mapping")
"""States of Flink's window operators that hold nothing but windows; no rule can change them."""

_CEP = (
    "nfaStateName",
    "sharedBuffer-entries",
    "sharedBuffer-entries-with-lockable-edges",
    "sharedBuffer-events-count",
)
_SOURCES = (
    "SourceReaderState",
    *STALE_WHEN_STOPPED,
    "file-monitoring-state",
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
_TIMERS = ("CLEANUP_TIMER",)
"""Services of timers with namespaces that are texts of an operator."""


_TWO_PHASE_COMMIT = ("pending", "pending_start", "committing", "context")
"""Fields of the state of a ``TwoPhaseCommitSinkFunction``, whose name is only ``state``."""


def is_own_state(state: State) -> bool:
    """Whether only Flink needs the values of a state."""
    stored = state.stored
    is_two_phase = isinstance(stored, Struct) and tuple(stored.names) == _TWO_PHASE_COMMIT
    return state.name in _STATES or (is_two_phase and not state.kind.is_keyed)


def has_own_namespaces(state: State) -> bool:
    """Whether the namespaces of a state are texts of its operator."""
    return state.name.endswith(tuple(f"_{service}" for service in _TIMERS))
