"""The complete new state of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.layout import written_kryo
from savepoint_formats.metadata import OperatorState, SubtaskState
from savepoint_spark.session.tasks import run_through
from savepoint_spark.writing.operator_rows import OperatorFiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_spark.writing.keyed_plan import KeyedPlan
    from savepoint_spark.writing.operator_rows import ElementRows
    from savepoint_spark.writing.write_context import WriteContext


@dataclass(frozen=True)
class OperatorPlan:
    """The contents of an operator's files."""

    keyed: KeyedPlan | None = None
    operator_states: tuple[ElementRows, ...] = ()

    @classmethod
    def combined(cls, plans: Iterable[Self]) -> Self:
        """All of several plans; ``ValueError`` for two of keyed state, or of one name."""
        plans = tuple(plans)
        keyed = [plan.keyed for plan in plans if plan.keyed is not None]
        if len(keyed) > 1:
            raise ValueError(
                "an operator has one key: join the DataFrames, and add all states to one key_by"
            )
        rows = tuple(rows for plan in plans for rows in plan.operator_states)
        names = [elements.state.name for elements in rows]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"operator state {twice[0]!r} was added twice")
        return cls(keyed[0] if keyed else None, rows)

    def state_names(self) -> frozenset[str]:
        """The names of all its states."""
        keyed = () if self.keyed is None else self.keyed.states
        return frozenset(info.name for info in keyed) | {
            rows.state.name for rows in self.operator_states
        }

    def kryo_versions(self) -> frozenset[str]:
        """The versions of Kryo for which objects are written."""
        snapshots = [
            snapshot for rows in self.operator_states for snapshot in rows.state.serializers
        ]
        if self.keyed is not None:
            snapshots.append(self.keyed.key)
            infos = self.keyed.states
            snapshots += [entry.snapshot for info in infos for _, entry in info.serializers]
        written = (written_kryo(snapshot.layout()) for snapshot in snapshots)
        return frozenset(kryo.version for kryo in written if kryo is not None)

    def with_states(self, other: OperatorPlan) -> OperatorPlan:
        """The plan with the states of another one, which has the same keys."""
        keyed = self.keyed or other.keyed
        if self.keyed is not None and other.keyed is not None:
            keyed = self.keyed.with_rows(other.keyed)
        return OperatorPlan(keyed, (*self.operator_states, *other.operator_states))

    def plan(self) -> Self:
        """The plan itself, which is a ``PlannedTransformation``."""
        return self

    def check(self, parallelism: int, max_parallelism: int) -> None:
        """Encodes all rows as ``write`` does, and writes nothing."""
        if self.keyed is not None:
            self.keyed.check(max_parallelism)
        for index, rows in enumerate(self.operator_states):
            run_through(rows.elements(index, parallelism))

    def write(self, context: WriteContext) -> OperatorState:
        """Runs the jobs, and returns the record of the operator."""
        keyed = {} if self.keyed is None else self.keyed.write(context)
        others = OperatorFiles.write(context, self.operator_states) if self.operator_states else {}
        subtasks = tuple(
            SubtaskState(
                subtask,
                managed_operator_state=others.get(subtask),
                managed_keyed_state=keyed.get(subtask),
            )
            for subtask in sorted(keyed.keys() | others.keys())
        )
        return OperatorState(
            context.operator_id, context.parallelism, context.max_parallelism, subtasks
        )
