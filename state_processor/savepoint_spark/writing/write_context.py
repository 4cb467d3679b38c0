"""What makes the state of an operator, and what it is given when that is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.key_groups.operator_id import OperatorId
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.new_snapshot.directory import NewSnapshot
    from savepoint_spark.writing.operator_plan import OperatorPlan


@dataclass(frozen=True, slots=True)
class WriteContext:
    """What a transformation is given when the state of its operator is to be written.

    Attributes:
        spark: The session for its jobs.
        target: The directory that takes the files.
        operator_id: The id that the operator will have.
        parallelism: The number of subtasks.
        max_parallelism: The number of key groups.
        source: The savepoint that the new one is based on, if it is.
        operator: The operator of ``source`` that is changed; None if it is a new one.
    """

    spark: SparkSession
    target: NewSnapshot
    operator_id: OperatorId
    parallelism: int
    max_parallelism: int
    source: Snapshot | None = None
    operator: Operator | None = None


class StateTransformation(Protocol):
    """What makes the state of an operator."""

    def write(self, context: WriteContext) -> OperatorState:
        """Writes the files of the operator; of its record, id, uid and name are filled in later."""


@runtime_checkable
class NamedStates(Protocol):
    """What knows the names of the states that it makes."""

    def state_names(self) -> frozenset[str]:
        """The names of all states that it has."""


@runtime_checkable
class GoingOn(Protocol):
    """What may go on from an operator of a savepoint, of which it makes some states anew."""

    @property
    def initial(self) -> Operator | None:
        """The operator; None if it begins with nothing."""


@runtime_checkable
class PlannedTransformation(StateTransformation, Protocol):
    """A transformation that says what it makes before it does, so that others may join it."""

    def plan(self) -> OperatorPlan:
        """What is to be written."""
