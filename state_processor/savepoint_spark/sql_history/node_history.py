"""A node of a plan and the rows of its inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import PlanError
from savepoint_formats.plans.node_rows import NodeRows

if TYPE_CHECKING:
    from savepoint_formats.plans.compiled_plan import CompiledPlan, PlanNode
    from savepoint_spark.sql_history.history_rows import HistoryRows

_FIRST_WITH_EQUALS = (2, 1)


@dataclass(frozen=True)
class NodeHistory:
    """A node and the rows of its inputs."""

    plan: CompiledPlan
    node: PlanNode
    inputs: tuple[HistoryRows, ...]
    watermark: datetime | None = None

    @property
    def rows(self) -> HistoryRows:
        """The rows of the only input."""
        return self.inputs[0]

    @property
    def comparison(self) -> str:
        """The comparison of structured types in the release of the plan."""
        release = tuple(map(int, re.findall(r"\d+", self.plan.flink_version)[:2]))
        return "NONE" if release < _FIRST_WITH_EQUALS else "EQUALS"

    @property
    def names(self) -> NodeRows:
        """The node with the columns of its inputs."""
        return NodeRows(self.node, tuple(rows.row for rows in self.inputs))

    def at(self, *path: str) -> Any:
        """The value at a path of names in the node's JSON; None if there is none."""
        return self.names.at(*path)

    def numbers(self, *path: str) -> tuple[int, ...]:
        """Numbers of columns at a path."""
        numbers = self.at(*path)
        return tuple(numbers) if isinstance(numbers, list) else ()

    def watermark_ms(self) -> int:
        """The watermark in ms, or ``ValueError``."""
        if self.watermark is None:
            raise ValueError(
                f"{self.node.description}: event time decides what is still open: give watermark=…"
            )
        return int(self.watermark.replace(tzinfo=UTC).timestamp() * 1000)

    def expect_no_ttl(self) -> None:
        """Raises ``PlanError`` if values live for a time only."""
        for state in self.node.states:
            if not state.ttl.startswith("0 "):
                raise PlanError(
                    f"{self.node.description}: its state lives {state.ttl}, and history doesn't"
                    " tell when it was used. Compile the plan without table.exec.state.ttl"
                )
