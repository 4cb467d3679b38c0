"""State of a SQL operator that a writer takes. A look at a savepoint imports it, and must not wait for Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_spark.writing import PlannedTransformation

if TYPE_CHECKING:
    from savepoint_spark.writing import OperatorPlan


@dataclass(frozen=True, repr=False)
class SqlHistory(PlannedTransformation):
    """State of a SQL operator that will be written; ``max_parallelism`` is given if it has no key."""

    uid: str
    state: OperatorPlan
    max_parallelism: int | None = None

    def __repr__(self) -> str:
        return f"SqlHistory({self.uid!r})"

    @property
    def key_groups(self) -> int | None:
        """The key groups of its operator, if it has no key."""
        return self.max_parallelism

    def plan(self) -> OperatorPlan:
        """The state that will be written."""
        return self.state
