"""Fate of the state of a query when its plan changes, operator by operator; see ``SqlChange``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from savepoint_extensions.sql_jobs.lineage import NO_RENAMES, Renames, family
from savepoint_extensions.sql_jobs.state_reasons import (
    new_calls,
    not_taken_back,
    rebuilding,
    renaming,
    replacing,
    reshaping,
)
from savepoint_extensions.sql_jobs.stateful import CONNECTORS, Stateful, stateful
from savepoint_formats.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan


class PlanVerdict(StrEnum):
    """Fate of an operator's state; see ``SqlChange``."""

    SAME = "same"
    RENAMED = "renamed"
    CARRIED_OVER = "carried over"
    REBUILT = "rebuilt"
    LOST = "lost"

    @property
    def is_lost(self) -> bool:
        """Whether no state is left of it, now or for a while."""
        return self in (PlanVerdict.REBUILT, PlanVerdict.LOST)


@dataclass(frozen=True, slots=True)
class SqlChange:
    """Fate of the state of an operator of a query.

    Attributes:
        verdict: ``same``: Flink restores it as it is. ``renamed``: its operator has another uid, or
            columns have other names. ``carried over``: its rows can be given another shape.
            ``rebuilt``: it follows from past rows. ``lost``: the new query has no such operator.
        old: Number of the operator in the old plan; None if it is new.
        new: Number of the operator in the new plan; None if it is lost.
        reason: Why, in one line; empty if nothing differs.
        description: The operator in the new plan, or in the old one if it is lost.
        begin_empty: Aggregates of an operator that is carried over that count only from now on, and new
            columns in place of others: they may be the same, renamed or computed in another way.
        not_taken_back: New columns of rows that are found by all their columns: if such an old row is
            taken back, it isn't found.
        rows: Number of its rows in the savepoint; None without a savepoint.
        size: Bytes of its state in the savepoint; None without a savepoint.
    """

    verdict: PlanVerdict
    old: int | None
    new: int | None
    reason: str
    description: str
    begin_empty: tuple[str, ...] = ()
    not_taken_back: tuple[str, ...] = ()
    rows: int | None = None
    size: int | None = None

    def unaccepted(self, names: Collection[str]) -> tuple[str, ...]:
        """What a user has to accept by name, and hasn't: aggregates and columns."""
        aggregates = [it for it in self.begin_empty if it.partition(" = ")[0] not in names]
        columns = [it for it in self.not_taken_back if it not in names]
        return (
            *(f"{it} begins empty" for it in aggregates),
            *(f"old rows without {it} can't be taken back" for it in columns),
        )


def plan_changes(
    old: CompiledPlan,
    new: CompiledPlan,
    matches: Mapping[int, int | None] | None = None,
    renames: Renames = NO_RENAMES,
) -> list[SqlChange]:
    """Fate of each operator with state, in the order of the old plan, then new ones.

    ``matches`` maps numbers of operators of the old plan to those of the new plan, or to None for a
    state to give up; other operators are matched by their computation. ``renames`` are the new names
    of columns of tables.

    Raises:
        PlanError: ``matches`` names an operator that a plan lacks, or ``renames`` a column.
    """
    if unknown := renames.unknown(old):
        raise PlanError(f"no table of the old plan has a column {', '.join(sorted(unknown))}")
    olds, news = stateful(old, renames), stateful(new)
    pairs = dict(_given(matches or {}, olds, news))
    taken = {after.node.id for after in pairs.values() if after is not None}
    for belongs in (_is_same, _is_alike):
        for before in (olds[number] for number in tuple(olds) if number not in pairs):
            left = [it for it in news.values() if it.node.id not in taken and belongs(before, it)]
            if left:
                after = min(left, key=lambda it: it.node.id != before.node.id)
                pairs[before.node.id] = after
                taken.add(after.node.id)
    changes = [_change(before, pairs.get(number)) for number, before in olds.items()]
    for number, after in news.items():
        if number not in taken:
            reason = "the operator is new: it begins empty"
            changes.append(
                SqlChange(PlanVerdict.REBUILT, None, number, reason, after.node.description)
            )
    return changes


def _given(
    matches: Mapping[int, int | None], olds: Mapping[int, Stateful], news: Mapping[int, Stateful]
) -> Iterator[tuple[int, Stateful | None]]:
    for before, after in matches.items():
        if before not in olds:
            raise PlanError(
                f"the old plan has no operator with state {before}: it has {list(olds)}"
            )
        if after is not None and after not in news:
            raise PlanError(f"the new plan has no operator with state {after}: it has {list(news)}")
        yield before, None if after is None else news[after]


def _is_same(before: Stateful, after: Stateful) -> bool:
    return after.identity == before.identity


def _is_alike(before: Stateful, after: Stateful) -> bool:
    """Whether both are of one kind over the same tables, with different computations."""
    is_connector = before.node.kind in CONNECTORS
    is_kin = family(after.node) == family(before.node)
    return not is_connector and is_kin and bool(after.tables & before.tables)


def _change(before: Stateful, after: Stateful | None) -> SqlChange:
    number, description = before.node.id, before.node.description
    if after is None:
        reason = "the new query has no such operator"
        return SqlChange(PlanVerdict.LOST, number, None, reason, description)
    verdict = PlanVerdict.SAME
    if reason := "; ".join(rebuilding(before, after)):
        verdict = PlanVerdict.REBUILT
    elif reason := "; ".join(reshaping(before, after)):
        verdict = PlanVerdict.CARRIED_OVER
    elif reason := "; ".join(renaming(before, after)):
        verdict = PlanVerdict.RENAMED
    is_carried = verdict is PlanVerdict.CARRIED_OVER
    calls = map(str, new_calls(before, after))
    empty = (*calls, *replacing(before, after)) if is_carried else ()
    missed = tuple(not_taken_back(before, after)) if is_carried else ()
    return SqlChange(verdict, number, after.node.id, reason, after.node.description, empty, missed)
