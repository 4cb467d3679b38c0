"""A stateful operator of a streaming query: its facts in the checkpoint, and the columns of its key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_extensions.spark_streams.operator_kinds import StateForm, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIRST_VERSION = 1
_TIMERS = "TimerState"
VALUE_STATE, LIST_STATE, MAP_STATE = "ValueState", "ListState", "MapState"


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A state variable of a ``StatefulProcessor``.

    Attributes:
        name: Its name.
        kind: ``ValueState``, ``ListState`` or ``MapState``.
        has_ttl: Whether its values have a time to live.
    """

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
    """An operator as ``state-metadata`` shows it.

    Attributes:
        id: Its number.
        name: Spark's name of the operator.
        stores: Names of its stores.
        partitions: Number of partitions.
        properties: What operators with state variables store about them.
    """

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
    def variables(self) -> tuple[StateVariable, ...]:
        """The state variables, without timers."""
        return tuple(
            StateVariable(it["stateName"], it["stateVariableType"], bool(it["ttlEnabled"]))
            for it in self.properties.get("stateVariables", ())
            if it["stateVariableType"] != _TIMERS
        )

    @property
    def has_timers(self) -> bool:
        """Whether it may register timers."""
        return any(
            it["stateVariableType"] == _TIMERS for it in self.properties.get("stateVariables", ())
        )

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
