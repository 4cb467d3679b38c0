"""State of a SQL job for a changed query; see ``SavepointChanges.sql_migrate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_database.checks.sql_changes import given_matches, with_sizes
from savepoint_database.snapshot.planned_operators import compiled_plan
from savepoint_formats.errors import MigrationError, PlanError
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.plans.lineage import Lineage
from savepoint_formats.plans.plan_diff import CONNECTORS, PlanVerdict, plan_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.locations.location import PathText
    from savepoint_formats.plans.compiled_plan import CompiledPlan, PlanNode
    from savepoint_formats.plans.plan_diff import SqlChange
    from savepoint_spark.savepoint.planned_operator import PlannedOperator
    from savepoint_spark.savepoint.writer import SavepointWriter

_CARRIED = (PlanVerdict.SAME, PlanVerdict.RENAMED, PlanVerdict.CARRIED_OVER)


@dataclass(frozen=True)
class SqlMigration:
    """A savepoint of a query, the plans of the old and the new query, and the fate of each operator."""

    writer: SavepointWriter
    old: CompiledPlan
    new: CompiledPlan
    changes: tuple[SqlChange, ...]

    @classmethod
    def of(
        cls,
        writer: SavepointWriter,
        new_plan: PathText,
        matches: PathText | Mapping[int, int | None] | None,
    ) -> Self:
        """Raises ``PlanError`` if a plan is missing or invalid."""
        source = writer.source
        if source is None or source.plan is None:
            raise PlanError(
                "only the plan tells the state of a query: open the savepoint with plan="
            )
        new = compiled_plan(new_plan)
        changes = with_sizes(plan_changes(source.plan, new, given_matches(matches)), source.query())
        return cls(writer, source.plan, new, tuple(changes))

    def migrated(self, *, allow_loss: bool) -> SavepointWriter:
        """The writer of the new savepoint; ``MigrationError`` names all state that would be lost."""
        nodes = self.old.nodes_by_operator()
        lost = [*map(_of_change, filter(self._is_lost, self.changes))]
        operators, writer = [], self.writer
        for planned in writer.operators:
            uid, node = nodes.get(planned.operator_id, ("", None))
            if node is None:
                operators.append(planned)
                continue
            made, problem = self._migrated(planned, uid, node)
            operators += made
            lost += problem
        if lost and not allow_loss:
            raise MigrationError(
                f"the new query can't use all state: {'; '.join(lost)}; to drop it, or to let operators"
                " begin empty, use --allow-loss, or allow_loss=True"
            )
        return replace(writer, operators=tuple(operators), sql_changes=self.changes)

    def _is_lost(self, change: SqlChange) -> bool:
        """Whether state is dropped, or an operator lacks history."""
        if change.old is not None:
            return change.verdict not in _CARRIED and bool(change.rows or change.size)
        return self.new.nodes[change.new or 0].kind not in CONNECTORS

    def _migrated(
        self, planned: PlannedOperator, uid: str, node: PlanNode
    ) -> tuple[list[PlannedOperator], list[str]]:
        """An operator of the old plan as one of the new plan, or None; and the state that is lost."""
        change = next((change for change in self.changes if change.old == node.id), None)
        source = planned.source
        assert source is not None  # operators of a savepoint have one
        after = self.new.nodes.get(node.id)
        is_same = after is not None and after.spec == node.spec
        if change is None and (is_same or not source.catalog.states):
            return [planned], []
        if change is None:
            return [], [f"{source.name} ({node.description}): how its state changes isn't known"]
        if change.new is None or change.verdict not in _CARRIED:
            return [], []
        new_uid = self.new.nodes[change.new].uid_like(node, uid)
        if new_uid is None:
            return [], [f"{source.name}: {self.new.nodes[change.new].kind} has no such operator"]
        made = self._with_query(planned, source, node, self.new.nodes[change.new])
        return [replace(made, operator_id=OperatorId.from_uid(new_uid), uid=new_uid)], []

    def _with_query(
        self, planned: PlannedOperator, source: Operator, old: PlanNode, new: PlanNode
    ) -> PlannedOperator:
        """The operator with the rows of the new query; without changes if they stay."""
        if not source.has_keyed_state:
            return planned
        before, after = Lineage(self.old).node_rows(old), Lineage(self.new).node_rows(new)
        # Rows have the names of the query, which would stay in new serializers.
        plain = replace(planned, source=replace(source, names=None))
        made = plain.changed(lambda operator: operator.with_query(before, after))
        is_same = made.change is None or made.change.is_same
        return planned if is_same else made


def _of_change(change: SqlChange) -> str:
    which = "the new operator" if change.old is None else f"operator {change.old}"
    return f"{which}, {change.description} ({change.verdict}: {change.reason})"
