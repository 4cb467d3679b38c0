"""A transformation makes the state of an operator; a context tells it where to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_formats.key_groups import OperatorId
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.new_snapshot import NewSnapshot
    from savepoint_spark.writing.operator_plan import OperatorPlan


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The place of an operator's new state; a new operator has no ``operator``."""

    spark: SparkSession
    target: NewSnapshot
    operator_id: OperatorId
    parallelism: int
    max_parallelism: int
    source: Snapshot | None = None
    operator: Operator | None = None


class StateTransformation(Protocol):
    """Makes the state of an operator."""

    def write(self, context: WriteContext) -> OperatorState:
        """Writes the files; the caller adds id, uid and name to the record."""


@runtime_checkable
class GoingOn(Protocol):
    """May continue from an operator of a savepoint, and replaces some of its states."""

    @property
    def initial(self) -> Operator | None:
        """The operator; None if it begins with nothing."""


@runtime_checkable
class OfKeyGroups(Protocol):
    """May say how many key groups its operator has, such as a SQL operator without a key."""

    @property
    def key_groups(self) -> int | None:
        """The number; None if the writer chooses it."""


@runtime_checkable
class PlannedTransformation(StateTransformation, Protocol):
    """A transformation with a plan, so that others can join it."""

    def plan(self) -> OperatorPlan:
        """The state that will be written."""

    def write(self, context: WriteContext) -> OperatorState:
        """Writes the planned state; see ``StateTransformation``."""
        return self.plan().write(context)
