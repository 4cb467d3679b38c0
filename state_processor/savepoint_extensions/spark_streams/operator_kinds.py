"""The kinds of stateful operators of Spark: what each is called, and what becomes of its state.

Spark: the ``shortName`` of each ``StateStoreWriter``, as ``OperatorStateMetadata`` stores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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

KINDS: dict[str, OperatorKind] = {
    "stateStoreSave": OperatorKind(StateForm.AGGREGATION, "aggregation.stateFormatVersion"),
    "sessionWindowStateStoreSaveExec": OperatorKind(
        StateForm.SESSIONS, "sessionWindow.stateFormatVersion"
    ),
    "symmetricHashJoin": OperatorKind(StateForm.JOIN, "join.stateFormatVersion"),
    "dedupe": OperatorKind(StateForm.DEDUPLICATION),
    "dedupeWithinWatermark": OperatorKind(StateForm.DEDUPLICATION_WITHIN_WATERMARK),
    "applyInPandasWithState": _GROUPS,
    "flatMapGroupsWithState": _GROUPS,
    "transformWithStateExec": _VARIABLES,
    "transformWithStateInPandasExec": _VARIABLES,
    "transformWithStateInPySparkExec": _VARIABLES,
    "globalLimit": OperatorKind(
        StateForm.OTHER, reason="it counts the rows of a LIMIT, which no operator of Flink does"
    ),
}
"""Spark's name of an operator -> its kind."""


def kind_of(name: str) -> OperatorKind:
    """The kind of an operator; an unknown one has a reason why its state is not carried."""
    reason = f"its state is that of an operator {name}, which this release does not know"
    return KINDS.get(name, OperatorKind(StateForm.OTHER, reason=reason))
