"""A stateful operator of a streaming query: its kind, and its facts in the checkpoint.

Spark: the ``shortName`` of each ``StateStoreWriter``, as ``OperatorStateMetadata`` stores it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TimeoutDomain: TypeAlias = Literal["event_time", "processing_time"]
EVENT_TIME, PROCESSING_TIME = "event_time", "processing_time"
FIRST_VERSION = 1
LIMIT = "globalLimit"
_TIMERS = "TimerState"


class StateForm(Enum):
    """The form in which an operator's stores hold its state."""

    AGGREGATION = "aggregation"
    SESSIONS = "sessions"
    JOIN = "join"
    DEDUPLICATION = "deduplication"
    DEDUPLICATION_WITHIN_WATERMARK = "deduplication within watermark"
    GROUP_STATE = "state of a group"
    STATE_VARIABLES = "state variables"
    OTHER = "other"


AGGREGATIONS = (StateForm.AGGREGATION, StateForm.SESSIONS)


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """A kind of operator.

    Attributes:
        form: How its state is stored.
        version_setting: The setting with the version of that form; empty if there is but one.
        reason: Why no operator of Flink can get its state; empty if one can.
    """

    form: StateForm
    version_setting: str = ""
    reason: str = ""


_VARIABLES = OperatorKind(StateForm.STATE_VARIABLES)
_GROUPS = OperatorKind(StateForm.GROUP_STATE, "flatMapGroupsWithState.stateFormatVersion")
_SESSIONS = OperatorKind(StateForm.SESSIONS, "sessionWindow.stateFormatVersion")
_LIMIT = "it counts the rows of a LIMIT, which no operator of Flink does"

KINDS: dict[str, OperatorKind] = {
    "stateStoreSave": OperatorKind(StateForm.AGGREGATION, "aggregation.stateFormatVersion"),
    "sessionWindowStateStoreSaveExec": _SESSIONS,
    "symmetricHashJoin": OperatorKind(StateForm.JOIN, "join.stateFormatVersion"),
    "dedupe": OperatorKind(StateForm.DEDUPLICATION),
    "dedupeWithinWatermark": OperatorKind(StateForm.DEDUPLICATION_WITHIN_WATERMARK),
    "applyInPandasWithState": _GROUPS,
    "flatMapGroupsWithState": _GROUPS,
    "transformWithStateExec": _VARIABLES,
    "transformWithStateInPandasExec": _VARIABLES,
    "transformWithStateInPySparkExec": _VARIABLES,
    LIMIT: OperatorKind(StateForm.OTHER, reason=_LIMIT),
}
"""Spark's name of an operator -> its kind."""


def kind_of(name: str) -> OperatorKind:
    """The kind of an operator; an unknown one has a reason why its state is not carried."""
    reason = f"its state is that of an operator {name}, which this release does not know"
    return KINDS.get(name, OperatorKind(StateForm.OTHER, reason=reason))


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A state variable of a ``StatefulProcessor``: a ``ValueState``, ``ListState``, ``MapState`` or timers."""

    name: str
    kind: str
    has_ttl: bool


@dataclass(frozen=True, slots=True)
class StreamOperator:
    """A stateful operator of a streaming query.

    Attributes:
        id: Its number, counted from the sink back to the sources.
        name: Spark's name of the operator.
        kind: What its state is, in words.
        key: Columns of its key with their types, as DDL.
        states: Names of its states, or of the buffers of its aggregates.
        timers: Time domain of its timers: ``event time``, ``processing time``, ``not stored`` if
            only the query knows it, or empty.
        format_version: Version of its form of state; 0 if there is but one.
        partitions: Number of partitions of its state.
        is_carried: Whether an operator of Flink can get its state.
        reason: Why not.
    """

    id: int
    name: str
    kind: str
    key: str
    states: tuple[str, ...]
    timers: str
    format_version: int
    partitions: int
    is_carried: bool
    reason: str


@dataclass(frozen=True, slots=True)
class StoredOperator:
    """An operator as ``state-metadata`` shows it; ``properties`` tell of state variables."""

    id: int
    name: str
    stores: tuple[str, ...]
    partitions: int
    properties: Mapping[str, Any]

    @classmethod
    def of(cls, rows: Sequence[Any]) -> StoredOperator:
        """The operator of one or more rows, a row per store."""
        first = rows[0].asDict()
        properties = json.loads(first.get("operatorProperties") or "{}")
        stores = tuple(row["stateStoreName"] for row in rows)
        return cls(
            first["operatorId"], first["operatorName"], stores, first["numPartitions"], properties
        )

    @property
    def form(self) -> StateForm:
        return kind_of(self.name).form

    @property
    def _variables(self) -> tuple[StateVariable, ...]:
        """The state variables and timers."""
        return tuple(
            StateVariable(it["stateName"], it["stateVariableType"], bool(it["ttlEnabled"]))
            for it in self.properties.get("stateVariables", ())
        )

    @property
    def variables(self) -> tuple[StateVariable, ...]:
        """The state variables, without timers."""
        return tuple(it for it in self._variables if it.kind != _TIMERS)

    @property
    def has_timers(self) -> bool:
        """Whether it may register timers."""
        return any(it.kind == _TIMERS for it in self._variables)

    @property
    def timers(self) -> str:
        """The time domain of its timers; see ``StreamOperator``."""
        if self.form is StateForm.GROUP_STATE:
            return "not stored"
        if self.form is StateForm.DEDUPLICATION_WITHIN_WATERMARK:
            return "event time"
        if not self.has_timers:
            return ""
        is_event = self.properties.get("timeMode") == "EventTime"
        return "event time" if is_event else "processing time"

    def format_version(self, settings: Mapping[str, str]) -> int:
        """The version of its form of state by the query's settings; 0 if there is but one.

        A query that has not fixed it is of a Spark that knew only the first.
        """
        setting = kind_of(self.name).version_setting
        return int(settings.get(setting, FIRST_VERSION)) if setting else 0
