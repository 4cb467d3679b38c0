"""Fate of the state of a query when its plan changes, operator by operator; see ``SqlChange``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_formats.errors import PlanError
from savepoint_formats.plans.aggregate_calls import ROW_COUNT
from savepoint_formats.plans.lineage import (
    Lineage,
    Rows,
    calls,
    family,
    keys,
    origin_of,
    settings,
    tables,
    takes_rows_back,
)
from savepoint_formats.plans.node_rows import KINDS_WITH_STATE
from savepoint_formats.plans.wider_types import holds, type_text

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping

    from savepoint_formats.plans.aggregate_calls import AggregateCall
    from savepoint_formats.plans.compiled_plan import CompiledPlan, NamedColumn, PlanNode, Row
    from savepoint_formats.plans.node_rows import NodeRows

_CONNECTORS = {
    "table-source-scan": ("scanTableSource", "table", "identifier"),
    "sink": ("dynamicTableSink", "table", "identifier"),
}
"""Nodes whose state belongs to a connector, and where the name of their table is."""

CONNECTORS = frozenset(_CONNECTORS)
"""Kinds of nodes whose state belongs to a connector."""


class PlanVerdict(StrEnum):
    """Fate of an operator's state; see ``SqlChange``."""

    SAME = "same"
    RENAMED = "renamed"
    CARRIED_OVER = "carried over"
    REBUILT = "rebuilt"
    LOST = "lost"


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
        begin_empty: Aggregates of an operator that is carried over that count only from now on.
        rows: Number of its rows in the savepoint; None without a savepoint.
        size: Bytes of its state in the savepoint; None without a savepoint.
    """

    verdict: PlanVerdict
    old: int | None
    new: int | None
    reason: str
    description: str
    begin_empty: tuple[str, ...] = ()
    rows: int | None = None
    size: int | None = None


@dataclass(frozen=True)
class _Stateful:
    """An operator with state."""

    node: PlanNode
    lineage: Lineage

    @cached_property
    def inputs(self) -> tuple[Rows, ...]:
        return self.lineage.inputs(self.node)

    @cached_property
    def rows(self) -> NodeRows:
        """Its columns, with their origins."""
        return self.lineage.node_rows(self.node)

    @property
    def keeps_rows(self) -> bool:
        """Whether it is a sink that keeps the rows of a key in the order of their arrival."""
        return self.node.kind == "sink" and bool(self.node.spec.get("requireUpsertMaterialize"))

    @cached_property
    def identity(self) -> Hashable:
        """Equal for operators whose rows mean the same, whatever their columns are."""
        if (table := _table(self.node)) is not None:
            return self.node.kind, table
        if self.node.kind.endswith("aggregate") and not self.node.kind.startswith("over"):
            return self.lineage.rows(self.node).row_set
        return (
            family(self.node),
            *(rows.row_set for rows in self.inputs),
            settings(self.node, self.inputs),
        )

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables that its rows come from."""
        return frozenset(name for rows in self.inputs for name in tables(rows.row_set))


def plan_changes(
    old: CompiledPlan, new: CompiledPlan, matches: Mapping[int, int | None] | None = None
) -> list[SqlChange]:
    """Fate of each operator with state, in the order of the old plan, then new ones.

    ``matches`` maps numbers of operators of the old plan to those of the new plan, or to None for a
    state to give up; other operators are matched by their computation.

    Raises:
        PlanError: ``matches`` names an operator that a plan lacks.
    """
    olds, news = _stateful(old), _stateful(new)
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


def _stateful(plan: CompiledPlan) -> dict[int, _Stateful]:
    lineage = Lineage(plan)
    return {
        number: _Stateful(node, lineage)
        for number, node in plan.nodes.items()
        if node.kind in KINDS_WITH_STATE or node.kind in CONNECTORS or _is_session(node)
    }


def _is_session(node: PlanNode) -> bool:
    is_session = node.at("windowing", "window", "type") == "SessionWindow"
    return node.kind == "window-table-function" and is_session


def _table(node: PlanNode) -> str | None:
    """The table of a source or sink."""
    if node.kind not in CONNECTORS:
        return None
    return str(node.at(*_CONNECTORS[node.kind]))


def _given(
    matches: Mapping[int, int | None], olds: Mapping[int, _Stateful], news: Mapping[int, _Stateful]
) -> Iterator[tuple[int, _Stateful | None]]:
    for before, after in matches.items():
        if before not in olds:
            raise PlanError(
                f"the old plan has no operator with state {before}: it has {list(olds)}"
            )
        if after is not None and after not in news:
            raise PlanError(f"the new plan has no operator with state {after}: it has {list(news)}")
        yield before, None if after is None else news[after]


def _is_same(before: _Stateful, after: _Stateful) -> bool:
    return after.identity == before.identity


def _is_alike(before: _Stateful, after: _Stateful) -> bool:
    """Whether both are of one kind over the same tables, with different computations."""
    is_connector = before.node.kind in CONNECTORS
    is_kin = family(after.node) == family(before.node)
    return not is_connector and is_kin and bool(after.tables & before.tables)


def _change(before: _Stateful, after: _Stateful | None) -> SqlChange:
    number, description = before.node.id, before.node.description
    if after is None:
        reason = "the new query has no such operator"
        return SqlChange(PlanVerdict.LOST, number, None, reason, description)
    verdict = PlanVerdict.SAME
    if reason := "; ".join(_rebuilding(before, after)):
        verdict = PlanVerdict.REBUILT
    elif reason := "; ".join(_reshaping(before, after)):
        verdict = PlanVerdict.CARRIED_OVER
    elif reason := "; ".join(_renaming(before, after)):
        verdict = PlanVerdict.RENAMED
    is_carried = verdict is PlanVerdict.CARRIED_OVER
    empty = tuple(map(str, _new_calls(before, after))) if is_carried else ()
    return SqlChange(verdict, number, after.node.id, reason, after.node.description, empty)


def _rebuilding(before: _Stateful, after: _Stateful) -> Iterator[str]:
    """Reasons why the new state does not follow from the old one."""
    old, new = before.node, after.node
    if family(old) != family(new):
        yield f"{old.kind} became {new.kind}"
        return
    if _table(old) is not None:
        yield from _of_other_table(before, after)
        if not (before.keeps_rows and after.keeps_rows):
            return
    if _differs_in_rows(before, after):
        yield "its input has other rows: a condition, a table or an operator in front of it changed"
    if frozenset(keys(old, before.inputs)) != frozenset(keys(new, after.inputs)):
        yield "it groups by other columns"
    elif (
        _table(old) is None
        and before.identity != after.identity
        and not _differs_in_rows(before, after)
    ):
        yield "it computes something else: its keys, order, range or condition changed"
    if old.version != new.version:
        yield f"version {new.version} of the operator, {old.version} before"
    if old.spec.get("needRetraction") != new.spec.get("needRetraction"):
        yield "its accumulators take rows back now, or no longer do"
    elif _has_calls(before) and not set(_calls(before)) & set(_calls(after)):
        yield "none of its aggregates is kept"
    else:
        yield from _unfillable(before, after)
    if _unique_keys(before) != _unique_keys(after):
        yield "the unique keys of its inputs changed"
    yield from _changed_types(before, after)


def _has_calls(operator: _Stateful) -> bool:
    return bool(operator.node.spec.get("aggCalls"))


def _calls(operator: _Stateful) -> tuple[Hashable, ...]:
    return calls(operator.node, operator.inputs)


def _differs_in_rows(before: _Stateful, after: _Stateful) -> bool:
    return [rows.row_set for rows in before.inputs] != [rows.row_set for rows in after.inputs]


def _unique_keys(operator: _Stateful) -> Hashable:
    spec = operator.node.spec
    unique = []
    for side, rows in zip(("left", "right"), operator.inputs, strict=False):
        given = spec.get(f"{side}UpsertKeys") or ()
        unique.append(frozenset(frozenset(origin_of(at, (rows,)) for at in key) for key in given))
    return tuple(unique)


def _of_other_table(before: _Stateful, after: _Stateful) -> Iterator[str]:
    old, new = _table(before.node), _table(after.node)
    if old != new:
        yield f"it is the table {new} now"
    if before.keeps_rows != after.keeps_rows:
        yield "it keeps rows by their arrival now, or no longer does"
    elif after.keeps_rows and _origins(before.rows.key()) != _origins(after.rows.key()):
        yield "the columns of its primary key are computed in another way"


def _unfillable(before: _Stateful, after: _Stateful) -> Iterator[str]:
    """Reasons why new aggregates or new columns can't begin empty."""
    seen, kept = before.rows.calls.distinct, after.rows.calls.distinct
    for call in _new_calls(before, after):
        if call.is_retracting:
            yield f"{call} is new, and takes back rows that it hasn't counted"
        elif any(column.type is None for column in call.columns):
            yield f"{call} is new, and its accumulator isn't known"
        elif call.is_distinct and call.argument_origins in seen:
            yield f"{call} is new, and shares the distinct values of other aggregates"
    for origins in seen.keys() & kept.keys():
        if seen[origins].filters != kept[origins].filters:
            yield "aggregates that share distinct values have other conditions, or another order"
    if not _has_calls(after):
        for number in range(min(len(before.inputs), len(after.inputs))):
            old, new = _columns(before, number), _columns(after, number)
            yield from _never_null(old, new)
            finds_rows = after.rows.finds_whole_rows(number) and new.keys() - old.keys()
            if finds_rows and takes_rows_back(after.inputs[number].row_set):
                yield "its input takes rows back, and old rows without new columns are not found"


def _never_null(
    old: Mapping[Hashable, NamedColumn], new: Mapping[Hashable, NamedColumn]
) -> Iterator[str]:
    for origin in new.keys() - old.keys():
        column = new[origin]
        if column.type is not None and not column.type.is_nullable:
            yield f"column {column.name} is new and NOT NULL: old rows have no value for it"


def _new_calls(before: _Stateful, after: _Stateful) -> Iterator[AggregateCall]:
    """Aggregates that begin empty; the number of rows may be there already."""
    old = before.rows.calls
    known = {call.origin for call in old.calls}
    counts_rows = any(column.origin == ROW_COUNT for column in old.accumulators() or ())
    for call in after.rows.calls.calls:
        if call.origin not in known and not (call.counts_rows and counts_rows):
            yield call


def _origins(row: Row | None) -> list[Hashable] | None:
    return None if row is None else [column.origin for column in row]


def _changed_types(before: _Stateful, after: _Stateful) -> Iterator[str]:
    for old, new in _columns_of_both(before, after):
        if old.type is not None and new.type is not None and not holds(new.type, old.type):
            yield f"column {new.name} is {type_text(new.type)}, it was {type_text(old.type)}"


def _columns_of_both(
    before: _Stateful, after: _Stateful
) -> Iterator[tuple[NamedColumn, NamedColumn]]:
    """Columns of rows in the state that both have, old and new."""
    for number in range(min(len(before.inputs), len(after.inputs))):
        old, new = _columns(before, number), _columns(after, number)
        kept = [origin for origin in new if origin in old]
        if _has_calls(after):
            kept = [origin for origin in kept if origin in keys(after.node, after.inputs)]
        yield from ((old[origin], new[origin]) for origin in kept)


def _columns(operator: _Stateful, number: int) -> dict[Hashable, NamedColumn]:
    """Origin of each column of an input -> the column."""
    return {column.origin: column for column in operator.rows.input(number) or ()}


def _reshaping(before: _Stateful, after: _Stateful) -> Iterator[str]:
    """Reasons why the state needs another shape."""
    old, new = before.node, after.node
    if _table(old) is not None and not after.keeps_rows:
        return
    if keys(old, before.inputs) != keys(new, after.inputs):
        yield "the columns of its key are in another order: new key groups"
    if _ttls(old) != _ttls(new):
        yield f"values live {_ttls(new) or 'forever'}, before {_ttls(old) or 'forever'}"
    if "aggCalls" in new.spec:
        yield from _changed_calls(before, after)
    else:
        yield from _changed_columns(before, after)
    for was, now in _columns_of_both(before, after):
        if was.type is not None and now.type is not None and was.type != now.type:
            yield f"column {now.name} becomes {type_text(now.type)}, it was {type_text(was.type)}"


def _ttls(node: PlanNode) -> str:
    return ", ".join(state.ttl for state in node.states if not state.ttl.startswith("0 "))


def _changed_calls(before: _Stateful, after: _Stateful) -> Iterator[str]:
    old, new = _calls(before), _calls(after)
    for call in _new_calls(before, after):
        yield f"{call} is new: it begins empty"
    for call in before.rows.calls.calls:
        if call.origin not in new:
            yield f"{call} is gone"
    if _is_reordered(old, new):
        yield "aggregates are in another order"


def _changed_columns(before: _Stateful, after: _Stateful) -> Iterator[str]:
    for number in range(len(after.inputs)):
        old, new = _columns(before, number), _columns(after, number)
        for origin in new.keys() - old.keys():
            remark = ", which can't be taken back" * after.rows.finds_whole_rows(number)
            yield f"column {new[origin].name} is new: null in old rows{remark}"
        for origin in old.keys() - new.keys():
            yield f"column {old[origin].name} is gone"
        if _is_reordered(old, new):
            yield "columns are in another order"


def _is_reordered(old: Collection[Hashable], new: Collection[Hashable]) -> bool:
    return [item for item in old if item in new] != [item for item in new if item in old]


def _renaming(before: _Stateful, after: _Stateful) -> Iterator[str]:
    old, new = before.node, after.node
    if old.id != new.id or old.kind != new.kind:
        yield f"its uid is {new.id}_{new.kind}, it was {old.id}_{old.kind}"
    elif old.description != new.description and _table(old) is None:
        yield "columns have other names"
