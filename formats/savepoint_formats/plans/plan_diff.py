"""Fate of the state of a query when its plan changes, operator by operator.

| verdict      | meaning                                                                                |
|--------------|----------------------------------------------------------------------------------------|
| same         | Flink restores the state as it is                                                      |
| renamed      | the state is the same; its operator has another uid, or columns have other names       |
| carried over | the rows of the state can be given another shape                                       |
| rebuilt      | the state follows from rows that are gone: it needs history                            |
| lost         | the new query has no such operator                                                     |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_formats.errors import PlanError
from savepoint_formats.plans.aggregate_calls import AggregateCalls
from savepoint_formats.plans.lineage import Lineage, Rows, calls, family, keys, settings
from savepoint_formats.plans.node_rows import KINDS_WITH_STATE

if TYPE_CHECKING:
    from collections.abc import Hashable

    from savepoint_formats.plans.compiled_plan import CompiledPlan, PlanNode, Row

_CONNECTORS = {
    "table-source-scan": ("scanTableSource", "table", "identifier"),
    "sink": ("dynamicTableSink", "table", "identifier"),
}
"""Nodes whose state belongs to a connector, and where the name of their table is."""

_WIDER = {
    "TINYINT": {"SMALLINT", "INTEGER", "BIGINT"},
    "SMALLINT": {"INTEGER", "BIGINT"},
    "INTEGER": {"BIGINT"},
    "FLOAT": {"DOUBLE"},
    "CHAR": {"VARCHAR"},
    "BINARY": {"VARBINARY"},
}


class PlanVerdict(StrEnum):
    """Fate of an operator's state; see ``plan_diff``."""

    SAME = "same"
    RENAMED = "renamed"
    CARRIED_OVER = "carried over"
    REBUILT = "rebuilt"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class SqlChange:
    """Fate of the state of an operator of a query.

    Attributes:
        verdict: ``same``: Flink restores it as it is. ``renamed``: its operator has another uid, or columns
            have other names. ``carried over``: its rows can be given another shape. ``rebuilt``: it follows
            from rows that are gone. ``lost``: the new query has no such operator.
        old: Number of the operator in the old plan; None if it is new.
        new: Number of the operator in the new plan; None if it is lost.
        reason: Why, in one line; empty if nothing differs.
        description: The operator in the new plan, or in the old one if it is lost.
        rows: Number of its rows in the savepoint; None without a savepoint.
        size: Bytes of its state in the savepoint; None without a savepoint.
    """

    verdict: PlanVerdict
    old: int | None
    new: int | None
    reason: str
    description: str
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
    def tables(self) -> frozenset[Hashable]:
        """The tables that its rows come from."""
        return frozenset(_tables([rows.row_set for rows in self.inputs]))


def plan_changes(
    old: CompiledPlan, new: CompiledPlan, matches: Mapping[int, int | None] | None = None
) -> list[SqlChange]:
    """Fate of each operator with state, in the order of the old plan, then new ones.

    ``matches`` maps numbers of operators of the old plan to those of the new plan, or to None for a
    state that shall be lost; other operators are matched by what they compute.

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
        if node.kind in KINDS_WITH_STATE or node.kind in _CONNECTORS or _is_session(node)
    }


def _is_session(node: PlanNode) -> bool:
    window = (node.spec.get("windowing") or {}).get("window") or {}
    return node.kind == "window-table-function" and window.get("type") == "SessionWindow"


def _table(node: PlanNode) -> str | None:
    """The table of a source or sink."""
    if node.kind not in _CONNECTORS:
        return None
    value: object = node.spec
    for name in _CONNECTORS[node.kind]:
        value = value.get(name) if isinstance(value, Mapping) else None
    return str(value)


def _tables(row_set: object) -> Iterator[Hashable]:
    match row_set:
        case ("table", str() as name, _):
            yield name
        case tuple() | list():
            for part in row_set:
                yield from _tables(part)


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
    """Whether both are of one kind over the same tables, though they compute something else."""
    is_connector = before.node.kind in _CONNECTORS
    is_kin = family(after.node) == family(before.node)
    return not is_connector and is_kin and bool(after.tables & before.tables)


def _change(before: _Stateful, after: _Stateful | None) -> SqlChange:
    number, description = before.node.id, before.node.description
    if after is None:
        reason = "the new query has no such operator"
        return SqlChange(PlanVerdict.LOST, number, None, reason, description)
    reasons = list(_rebuilding(before, after))
    verdict = PlanVerdict.REBUILT
    if not reasons:
        reasons, verdict = list(_reshaping(before, after)), PlanVerdict.CARRIED_OVER
    if not reasons:
        reasons, verdict = list(_renaming(before.node, after.node)), PlanVerdict.RENAMED
    if not reasons:
        verdict = PlanVerdict.SAME
    return SqlChange(verdict, number, after.node.id, "; ".join(reasons), after.node.description)


def _rebuilding(before: _Stateful, after: _Stateful) -> Iterator[str]:
    """Reasons why the new state does not follow from the old one."""
    old, new = before.node, after.node
    if family(old) != family(new):
        yield f"{old.kind} became {new.kind}"
        return
    if _table(old) is not None:
        if _table(old) != _table(new):
            yield f"it is the table {_table(new)} now"
        return
    if _differs_in_rows(before, after):
        yield "its input has other rows: a condition, a table or an operator in front of it changed"
    if frozenset(keys(old, before.inputs)) != frozenset(keys(new, after.inputs)):
        yield "it groups by other columns"
    elif before.identity != after.identity and not _differs_in_rows(before, after):
        yield "it computes something else: its keys, order, range or condition changed"
    if old.version != new.version:
        yield f"version {new.version} of the operator, {old.version} before"
    if old.spec.get("needRetraction") != new.spec.get("needRetraction"):
        yield "its accumulators take rows back now, or no longer do"
    elif _has_calls(before) and not set(_calls(before)) & set(_calls(after)):
        yield "none of its aggregates is kept"
    if _unique_keys(before) != _unique_keys(after):
        yield "the unique keys of its inputs are others"
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
        unique.append(frozenset(frozenset(rows.columns[index] for index in key) for key in given))
    return tuple(unique)


def _changed_types(before: _Stateful, after: _Stateful) -> Iterator[str]:
    for old, new, name in _columns_of_both(before, after):
        if old != new and new not in _WIDER.get(old, ()):
            yield f"column {name} is {new}, it was {old}"


def _columns_of_both(before: _Stateful, after: _Stateful) -> Iterator[tuple[str, str, str]]:
    """Roots of the types of columns that both have, old and new, and the new name."""
    for number in range(min(len(before.inputs), len(after.inputs))):
        old, new = _named_columns(before, number), _named_columns(after, number)
        kept = old.keys() & new.keys()
        for origin in kept & set(keys(after.node, after.inputs)) if _has_calls(after) else kept:
            yield old[origin][1], new[origin][1], new[origin][0]


def _named_columns(operator: _Stateful, number: int) -> dict[Hashable, tuple[str, str]]:
    """Origin of each column of an input -> its name, and the root of its type."""
    row = operator.lineage.plan.inputs(operator.node)[number] or ()
    columns = operator.inputs[number].columns
    pairs = zip(columns, row, strict=False)
    return {origin: (column.name, column.root) for origin, column in pairs}


def _reshaping(before: _Stateful, after: _Stateful) -> Iterator[str]:
    """Reasons why the state needs another shape."""
    old, new = before.node, after.node
    if _table(old) is not None:
        return
    if keys(old, before.inputs) != keys(new, after.inputs):
        yield "its key has its columns in another order: key groups anew"
    if _ttls(old) != _ttls(new):
        yield f"values live {_ttls(new) or 'forever'}, before {_ttls(old) or 'forever'}"
    if "aggCalls" in new.spec:
        yield from _changed_calls(before, after)
    else:
        yield from _changed_columns(before, after)
    for was, now, name in _columns_of_both(before, after):
        if was != now:
            yield f"column {name} becomes {now}, it was {was}"


def _ttls(node: PlanNode) -> str:
    return ", ".join(state.ttl for state in node.states if not state.ttl.startswith("0 "))


def _changed_calls(before: _Stateful, after: _Stateful) -> Iterator[str]:
    old, new = _calls(before), _calls(after)
    shown = [str(call) for call in AggregateCalls.of(after.node, _row(after)).calls]
    gone = [str(call) for call in AggregateCalls.of(before.node, _row(before)).calls]
    for number, call in enumerate(new):
        if call not in old:
            yield f"{shown[number]} is new: it begins empty"
    for number, call in enumerate(old):
        if call not in new:
            yield f"{gone[number]} is gone"
    kept = [call for call in old if call in new]
    if kept != [call for call in new if call in old]:
        yield "aggregates are in another order"


def _row(operator: _Stateful) -> Row | None:
    rows = operator.lineage.plan.inputs(operator.node)
    return rows[0] if rows else None


def _changed_columns(before: _Stateful, after: _Stateful) -> Iterator[str]:
    for number in range(len(after.inputs)):
        old, new = _named_columns(before, number), _named_columns(after, number)
        for origin in new.keys() - old.keys():
            yield f"column {new[origin][0]} is new: null in old rows"
        for origin in old.keys() - new.keys():
            yield f"column {old[origin][0]} is gone"
        kept = [origin for origin in old if origin in new]
        if kept != [origin for origin in new if origin in old]:
            yield "columns are in another order"


def _renaming(old: PlanNode, new: PlanNode) -> Iterator[str]:
    if old.id != new.id or old.kind != new.kind:
        yield f"its uid is {new.id}_{new.kind}, it was {old.id}_{old.kind}"
    elif old.description != new.description and _table(old) is None:
        yield "columns have other names"
