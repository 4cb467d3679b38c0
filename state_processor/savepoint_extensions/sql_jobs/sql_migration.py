"""State of a SQL job for a changed query; see ``SavepointChanges.sql_migrate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_extensions.sql_jobs.lineage import Lineage, Renames
from savepoint_extensions.sql_jobs.plan_diff import PlanVerdict, plan_changes
from savepoint_extensions.sql_jobs.planned_operators import compiled_plan, is_empty
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_extensions.sql_jobs.sql_changes import given_matches, with_sizes
from savepoint_extensions.sql_jobs.stateful import CONNECTORS
from savepoint_formats.errors import MigrationError, NotAcceptedError, PlanError
from savepoint_formats.key_groups import OperatorId

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.sql_jobs.plan_diff import SqlChange
    from savepoint_extensions.sql_jobs.plans.compiled_plan import PlanNode
    from savepoint_formats.locations import PathText
    from state_processor import PlannedOperator, SavepointWriter

_CARRIED = (PlanVerdict.SAME, PlanVerdict.RENAMED, PlanVerdict.CARRIED_OVER)


@dataclass(frozen=True)
class SqlMigration:
    """A savepoint of a query, the plans of the old and the new query, and the fate of each operator."""

    writer: SavepointWriter
    old: CompiledPlan
    new: CompiledPlan
    renames: Renames
    changes: tuple[SqlChange, ...]

    @classmethod
    def of(
        cls,
        writer: SavepointWriter,
        new_plan: PathText,
        matches: PathText | Mapping[int, int | None] | None,
        renames: Mapping[str, str],
    ) -> Self:
        """Raises ``PlanError`` if a plan is missing or invalid."""
        source = writer.source
        if source is None or source.plan is None:
            raise PlanError(
                "only the plan tells the state of a query: open the savepoint with plan="
            )
        old, new = source.plan, compiled_plan(new_plan)
        assert isinstance(old, CompiledPlan)  # a savepoint is opened with such a plan
        known = Renames(renames)
        changes = plan_changes(old, new, given_matches(matches), known)
        return cls(writer, old, new, known, tuple(with_sizes(changes, source.query())))

    def migrated(self, *, allow_loss: bool, accept: Collection[str]) -> SavepointWriter:
        """The writer of the new savepoint.

        ``MigrationError`` names all state that would be lost, ``NotAcceptedError`` what the user has
        to accept.
        """
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
        self._expect_accepted(accept)
        if lost and not allow_loss:
            raise MigrationError(
                f"the new query can't use all state: {'; '.join(lost)}; to drop it, or to let operators"
                " begin empty, use --allow-loss, or allow_loss=True"
            )
        return replace(writer, operators=tuple(operators), sql_changes=self.changes)

    def _expect_accepted(self, accept: Collection[str]) -> None:
        parts = [
            f"operator {change.old}: {part}"
            for change in self.changes
            for part in change.unaccepted(accept)
        ]
        if parts:
            raise NotAcceptedError(
                f"the new query can't use all history: {'; '.join(parts)}; accept each by its name,"
                " with --accept NAME, or accept=[name]"
            )

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
        if change is None and (self._is_same(node) or not source.catalog.states):
            return [planned], []
        if change is None:
            problem = f"{source.name} ({node.description}): how its state changes isn't known"
            return [], [] if is_empty(source) else [problem]
        if change.new is None or change.verdict not in _CARRIED:
            return [], []
        new_uid = self.new.nodes[change.new].uid_like(node, uid)
        if new_uid is None:
            return [], [f"{source.name}: {self.new.nodes[change.new].kind} has no such operator"]
        try:
            made = self._with_query(planned, source, node, self.new.nodes[change.new])
        except PlanError as error:
            return [], [str(error)]
        return [replace(made, operator_id=OperatorId.from_uid(new_uid), uid=new_uid)], []

    def _is_same(self, node: PlanNode) -> bool:
        """Whether the new plan has the same operator over the same rows."""
        after = self.new.nodes.get(node.id)
        if after is None or after.spec != node.spec:
            return False
        old, new = Lineage(self.old, self.renames), Lineage(self.new)
        return old.inputs(node) == new.inputs(after)

    def _with_query(
        self, planned: PlannedOperator, source: Operator, old: PlanNode, new: PlanNode
    ) -> PlannedOperator:
        """The operator with the rows of the new query; without changes if they stay."""
        if not source.has_keyed_state:
            return planned
        from savepoint_extensions.sql_jobs.carried_operator import carried_operator  # noqa: PLC0415  # Spark is slow
        from savepoint_spark.changing import Part, StageRule  # noqa: PLC0415  # as above

        before = Lineage(self.old, self.renames).node_rows(old)
        after = Lineage(self.new).node_rows(new)
        # The columns of the old query are those of state that nothing has changed.
        rule = StageRule(frozenset(Part))
        ready = planned.ready_for(rule, is_of_flink_2=self.writer.is_of_flink_2)
        made = ready.changed(lambda operator: carried_operator(operator, before, after))
        is_same = made.change is None or made.change.is_same
        return planned if is_same else made


def _of_change(change: SqlChange) -> str:
    which = "the new operator" if change.old is None else f"operator {change.old}"
    return f"{which}, {change.description} ({change.verdict}: {change.reason})"
