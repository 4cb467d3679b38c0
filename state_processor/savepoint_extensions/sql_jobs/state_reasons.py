"""Reasons why the state of an operator of a query doesn't fit the operator of a changed query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.sql_jobs.lineage import (
    family,
    keys,
    settings_by_name,
    takes_rows_back,
)
from savepoint_extensions.sql_jobs.origins import origin_of
from savepoint_extensions.sql_jobs.plans.aggregate_calls import ROW_COUNT
from savepoint_extensions.sql_jobs.stateful import table_of
from savepoint_formats.snapshots import holds, type_text

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping

    from savepoint_extensions.sql_jobs.plans.aggregate_calls import AggregateCall
    from savepoint_extensions.sql_jobs.plans.compiled_plan import NamedColumn, PlanNode, Row
    from savepoint_extensions.sql_jobs.stateful import Stateful

_SETTINGS = {
    "joinSpec": "the type of the join, its keys or its condition",
    "intervalJoinSpec": "the type of the join, its keys, its condition or its times",
    "overSpec": "the keys, the order, the range or the aggregates",
    "matchSpec": "the pattern",
    **dict.fromkeys(("leftWindowing", "rightWindowing", "windowing", "window"), "the window"),
    **dict.fromkeys(
        ("uniqueKeys", "partition", "partitionKeys", "partitionSpec", "inputUpsertKey"), "the keys"
    ),
    **dict.fromkeys(("orderBy", "sortSpec", "orderKey", "isRowtime", "keepLastRow"), "the order"),
    **dict.fromkeys(("rankRange", "rankStrategy", "rankType"), "the range or the kind of ranks"),
    **dict.fromkeys(("joinConditions", "multiJoinCondition", "condition"), "the condition"),
    **dict.fromkeys(("temporalTable", "lookupKeys"), "the table that it looks up"),
}
"""Name of a setting in the plan -> what it says."""

_OF_KEPT_ROWS = ("upsertMaterializeStrategy", "conflictStrategy")


def rebuilding(before: Stateful, after: Stateful) -> Iterator[str]:
    """Reasons why the new state does not follow from the old one."""
    old, new = before.node, after.node
    if family(old) != family(new):
        yield f"{old.kind} became {new.kind}"
        return
    if table_of(old) is not None:
        yield from _of_other_table(before, after)
        if not (before.keeps_rows and after.keeps_rows):
            return
    if _differs_in_rows(before, after):
        yield "its input has other rows: a condition, a table or an operator in front of it changed"
    if frozenset(keys(old, before.inputs)) != frozenset(keys(new, after.inputs)):
        yield "it groups by other columns"
    elif (
        table_of(old) is None
        and before.identity != after.identity
        and not _differs_in_rows(before, after)
    ):
        yield f"it computes something else: {_changed_settings(before, after)}"
    if old.version != new.version:
        yield f"version {new.version} of the operator, {old.version} before"
    if old.spec.get("needRetraction") != new.spec.get("needRetraction"):
        yield "its accumulators take rows back now, or no longer do"
    elif before.has_calls and not set(before.calls) & set(after.calls):
        yield "none of its aggregates is kept"
    else:
        yield from _unfillable(before, after)
    if _unique_keys(before) != _unique_keys(after):
        yield "the unique keys of its inputs changed"
    yield from _changed_types(before, after)
    yield from _changed_names(before, after)
    yield from _changed_accumulators(before, after)


def _differs_in_rows(before: Stateful, after: Stateful) -> bool:
    return [rows.row_set for rows in before.inputs] != [rows.row_set for rows in after.inputs]


def _changed_settings(before: Stateful, after: Stateful) -> str:
    """What two operators of one kind compute in different ways, by the plan's names."""
    old = settings_by_name(before.node, before.inputs)
    new = settings_by_name(after.node, after.inputs)
    changed = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
    return f"{', '.join(sorted({_SETTINGS.get(name, name) for name in changed}))} changed"


def _unique_keys(operator: Stateful) -> Hashable:
    spec = operator.node.spec
    given = spec.get("inputUniqueKeys") or [
        spec.get(f"{side}UpsertKeys") or () for side in ("left", "right")
    ]
    return tuple(
        frozenset(frozenset(origin_of(at, (rows,)) for at in key) for key in keys_of_input)
        for keys_of_input, rows in zip(given, operator.inputs, strict=False)
    )


def _of_other_table(before: Stateful, after: Stateful) -> Iterator[str]:
    old, new = table_of(before.node), table_of(after.node)
    old_spec, new_spec = before.node.spec, after.node.spec
    if old != new:
        yield f"it is the table {new} now"
    if before.keeps_rows != after.keeps_rows:
        yield "it keeps rows by their arrival now, or no longer does"
    elif after.keeps_rows and _origins(before.rows.key()) != _origins(after.rows.key()):
        yield "the columns of its primary key are computed in another way"
    elif any(old_spec.get(name) != new_spec.get(name) for name in _OF_KEPT_ROWS):
        yield "it keeps rows in another way"
    elif after.keeps_rows and _upsert_key(before) != _upsert_key(after):
        yield "it finds rows to take back by other columns"


def _upsert_key(operator: Stateful) -> list[Hashable]:
    given = operator.node.spec.get("inputUpsertKey") or ()
    return [origin_of(number, operator.inputs) for number in given]


def _unfillable(before: Stateful, after: Stateful) -> Iterator[str]:
    """Reasons why new aggregates or new columns can't begin empty."""
    seen, kept = before.rows.calls.distinct, after.rows.calls.distinct
    for call in new_calls(before, after):
        if call.is_retracting:
            yield f"{call} is new, and takes back rows that it hasn't counted"
        elif any(column.type is None for column in call.columns):
            yield f"{call} is new, and its accumulator isn't known"
        elif call.is_distinct and call.argument_origins in seen:
            yield f"{call} is new, and shares the distinct values of other aggregates"
    for origins in seen.keys() & kept.keys():
        if seen[origins].types != kept[origins].types:
            yield f"the type of {', '.join(kept[origins].arguments)} changed, whose distinct values it keeps"
        if seen[origins].filters != kept[origins].filters:
            yield "aggregates that share distinct values have other conditions, or another order"
    if not after.has_calls:
        for number in range(min(len(before.inputs), len(after.inputs))):
            old, new = before.columns(number), after.columns(number)
            yield from _never_null(old, new)
            is_missed = any(True for _ in _not_found(before, after, number))
            if is_missed and takes_rows_back(after.inputs[number].row_set):
                yield "its input takes rows back, and old rows without new columns are not found"


def _not_found(before: Stateful, after: Stateful, number: int) -> Iterator[NamedColumn]:
    """New columns of an input whose old rows are not found when they are taken back."""
    if not after.has_calls and after.rows.finds_whole_rows(number):
        old, new = before.columns(number), after.columns(number)
        yield from (new[origin] for origin in new if origin not in old)


def not_taken_back(before: Stateful, after: Stateful) -> Iterator[str]:
    """Names of new columns without which old rows are not found when they are taken back."""
    if table_of(after.node) is None or after.keeps_rows:
        for number in range(min(len(before.inputs), len(after.inputs))):
            yield from (column.name for column in _not_found(before, after, number))


def replacing(before: Stateful, after: Stateful) -> Iterator[str]:
    """Names of new columns that may be old ones, renamed or computed in another way: old rows have null."""
    if after.has_calls or (table_of(after.node) is not None and not after.keeps_rows):
        return
    for number in range(min(len(before.inputs), len(after.inputs))):
        old, new = before.columns(number), after.columns(number)
        gone = [old[origin] for origin in old if origin not in new]
        for column in (new[origin] for origin in new if origin not in old):
            if any(it.name == column.name or it.root == column.root for it in gone):
                yield column.name


def _never_null(
    old: Mapping[Hashable, NamedColumn], new: Mapping[Hashable, NamedColumn]
) -> Iterator[str]:
    for origin in new.keys() - old.keys():
        column = new[origin]
        if column.type is not None and not column.type.is_nullable:
            yield f"column {column.name} is new and NOT NULL: old rows have no value for it"


def new_calls(before: Stateful, after: Stateful) -> Iterator[AggregateCall]:
    """Aggregates that begin empty; the number of rows may be there already."""
    old = before.rows.calls
    known = {call.origin for call in old.calls}
    counts_rows = any(column.origin == ROW_COUNT for column in old.accumulators() or ())
    for call in after.rows.calls.calls:
        if call.origin not in known and not (call.counts_rows and counts_rows):
            yield call


def _origins(row: Row | None) -> list[Hashable] | None:
    return None if row is None else [column.origin for column in row]


def _changed_types(before: Stateful, after: Stateful) -> Iterator[str]:
    for old, new in _columns_of_both(before, after):
        if old.type is not None and new.type is not None and not holds(new.type, old.type):
            yield f"column {new.name} is {type_text(new.type)}, it was {type_text(old.type)}"


def _changed_names(before: Stateful, after: Stateful) -> Iterator[str]:
    """A join of several inputs keeps rows in rows, whose types have the names of columns."""
    for number in range(len(before.inputs) if before.node.kind == "multi-join" else 0):
        old, new = before.columns(number), after.columns(number)
        names = [new[it].name for it in new if it in old and new[it].name != old[it].name]
        if names and before.rows.finds_whole_rows(number):
            yield f"the types in its state have the old names of {', '.join(names)}"


def _changed_accumulators(before: Stateful, after: Stateful) -> Iterator[str]:
    for old, new in _calls_of_both(before, after):
        for was, now in zip(old.columns, new.columns, strict=False):
            if was.type is None or now.type is None:
                if old.value_types != new.value_types:
                    yield f"{new} has values of other types, and its accumulator isn't known"
            elif not holds(now.type, was.type):
                yield f"{new} keeps {type_text(now.type)}, it was {type_text(was.type)}"


def _calls_of_both(
    before: Stateful, after: Stateful
) -> Iterator[tuple[AggregateCall, AggregateCall]]:
    """Aggregate calls that both have, old and new."""
    old = {call.origin: call for call in before.rows.calls.calls}
    for call in after.rows.calls.calls:
        if call.origin in old:
            yield old[call.origin], call


def _columns_of_both(
    before: Stateful, after: Stateful
) -> Iterator[tuple[NamedColumn, NamedColumn]]:
    """Columns of rows in the state that both have, old and new."""
    for number in range(min(len(before.inputs), len(after.inputs))):
        old, new = before.columns(number), after.columns(number)
        kept = [origin for origin in new if origin in old]
        if after.has_calls:
            kept = [origin for origin in kept if origin in keys(after.node, after.inputs)]
        yield from ((old[origin], new[origin]) for origin in kept)


def reshaping(before: Stateful, after: Stateful) -> Iterator[str]:
    """Reasons why the state needs another shape."""
    old, new = before.node, after.node
    if table_of(old) is not None and not after.keeps_rows:
        return
    if _origins(before.rows.key()) != _origins(after.rows.key()):
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


def _changed_calls(before: Stateful, after: Stateful) -> Iterator[str]:
    old, new = before.calls, after.calls
    for call in new_calls(before, after):
        yield f"{call} is new: it begins empty"
    for call in before.rows.calls.calls:
        if call.origin not in new:
            yield f"{call} is gone"
    if _is_reordered(old, new):
        yield "aggregates are in another order"
    for was, now in _calls_of_both(before, after):
        for column, wider in zip(was.columns, now.columns, strict=False):
            if column.type != wider.type and column.type is not None and wider.type is not None:
                yield f"{now} becomes {type_text(wider.type)}, it was {type_text(column.type)}"


def _changed_columns(before: Stateful, after: Stateful) -> Iterator[str]:
    for number in range(len(after.inputs)):
        old, new = before.columns(number), after.columns(number)
        for origin in new.keys() - old.keys():
            remark = ", which can't be taken back" * after.rows.finds_whole_rows(number)
            yield f"column {new[origin].name} is new: null in old rows{remark}"
        for origin in old.keys() - new.keys():
            yield f"column {old[origin].name} is gone"
        if _is_reordered(old, new):
            yield "columns are in another order"


def _is_reordered(old: Collection[Hashable], new: Collection[Hashable]) -> bool:
    return [item for item in old if item in new] != [item for item in new if item in old]


def renaming(before: Stateful, after: Stateful) -> Iterator[str]:
    """Reasons why an operator, or columns of its rows, have other names."""
    old, new = before.node, after.node
    if old.id != new.id or old.kind != new.kind:
        yield f"its uid is {new.id}_{new.kind}, it was {old.id}_{old.kind}"
    elif old.description != new.description and table_of(old) is None:
        yield "columns have other names"
