"""The plan of a SQL job, as far as a snapshot asks for it; an extension reads plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

GIVEN_PLAN = "savepoint_extensions.sql_jobs.planned_operators:given_plan"
QUERY_NODES = "savepoint_extensions.sql_jobs.planned_operators:query_nodes"
"""Functions that read the plan in a file, and describe the operators of its query."""


class QueryPlan(Protocol):
    """A compiled plan."""

    @property
    def path(self) -> str:
        """The file that it was read from."""


@dataclass(frozen=True, slots=True)
class QueryNode:
    """An operator of a query.

    Attributes:
        depth: Number of operators between this one and the sink.
        id: Its number in the plan.
        description: The operator as the query's explanation shows it.
        operators: Uids of its operators in the savepoint.
        rows: Number of keys in its keyed tables, and of elements in its operator states.
        size: Bytes of its state.
        states: Names of its states.
    """

    depth: int
    id: int
    description: str
    operators: tuple[str, ...]
    rows: int
    size: int
    states: tuple[str, ...]
