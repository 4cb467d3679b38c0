"""Two columns of one type change places in front of each operator of real plans that keeps state.

Its rows must then have each value under the name that it had.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from savepoint_extensions.sql_jobs.lineage import Lineage
from savepoint_extensions.sql_jobs.origins import REFERENCES
from savepoint_extensions.sql_jobs.plan_diff import plan_changes
from savepoint_extensions.sql_jobs.plans.carried_state import carried_state
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_extensions.sql_jobs.reshaped_entries import ReshapedStates
from savepoint_extensions.sql_jobs.stateful import CONNECTORS, stateful
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import PlanError
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.state_files.state import StateKind, entry_layouts, keyed_state
from savepoint_formats.tables.catalog import keyed_headers
from savepoint_formats.values.state_entries import EntryReader
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
    from savepoint_formats.entries.stored_entries import StoredEntries
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk

_REFERENCES = REFERENCES | {"leftUpsertKeys", "leftUniqueKeys"}
_CARRIED = ("same", "renamed", "carried over")


def swapped(value: Any, first: int, second: int, name: str = "") -> Any:
    """A node's JSON whose numbers of columns follow two columns that change places."""
    match value:
        case dict():
            return {
                key: item if key.startswith("right") else swapped(item, first, second, key)
                for key, item in value.items()
            }
        case list():
            return [swapped(item, first, second, name) for item in value]
        case int() if name in _REFERENCES and not isinstance(value, bool):
            return {first: second, second: first}.get(value, value)
        case _:
            return value


def with_swap(plan: CompiledPlan, number: int, first: int, second: int) -> CompiledPlan:
    """The plan with a projection in front of an operator that swaps two of its columns."""
    node = plan.nodes[number]
    source = node.inputs[0]
    output = list(plan.nodes[source].output or ())
    order = list(range(len(output)))
    order[first], order[second] = second, first
    added = max(plan.nodes) + 1
    calc = replace(
        plan.nodes[source],
        id=added,
        kind="calc",
        inputs=(source,),
        output=tuple(output[place] for place in order),
        spec={"projection": [{"kind": "INPUT_REF", "inputIndex": place} for place in order]},
    )
    inputs = tuple(added if it == source else it for it in node.inputs)
    changed = replace(node, inputs=inputs, spec=swapped(node.spec, first, second))
    return replace(plan, nodes={**plan.nodes, added: calc, number: changed})


def cases(corpus: Path) -> Iterator[tuple[str, int, int, int]]:
    """Each operator with keyed state of each plan, and each pair of columns of one type or beside each other."""
    for path in sorted((corpus / "sql-plans").rglob("*.json")):
        case = str(path.relative_to(corpus / "sql-plans").with_suffix(""))
        plan = CompiledPlan.parse(path.read_text(), case)
        for number in stateful(plan):
            node = plan.nodes[number]
            row = plan.nodes[node.inputs[0]].output if node.inputs else None
            # A global aggregation reads what the local one in front of it has made of the columns.
            if row is None or node.kind in CONNECTORS or plan.local_aggregation(node):
                continue
            pairs = combinations(range(len(row)), 2)
            yield from (
                (case, number, first, second)
                for first, second in pairs
                if second == first + 1 or row[first].type == row[second].type
            )


@cache
def stored(corpus: Path, case: str, number: int) -> tuple[Any, Any, list[StateChunk]]:
    """The key's serializer, the states and their entries of an operator."""
    plan = CompiledPlan.parse((corpus / "sql-plans" / f"{case}.json").read_text(), case)
    ids = {it: node.id for it, (_, node) in plan.nodes_by_operator().items()}
    for operator in Savepoint.open(corpus / "sql" / case).operators():
        if ids.get(operator.record.operator_id) != number or not operator.has_keyed_state:
            continue
        headers = [
            header
            for task in operator.record.subtasks
            for header in keyed_headers(operator.directory, task)
        ]
        key, infos = headers[0].key_serializer, headers[0].states
        settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
        names = frozenset(info.name for info in infos)
        chunks: list[StateChunk] = []
        for task in operator.record.subtasks:
            if (handle := task.managed_keyed_state) is not None:
                source = keyed_source(operator.directory, handle, key.layout(), settings)
                chunks += source.state_chunks(names, handle.key_groups)
        return key, infos, chunks
    return None, (), []


def values(rows: NodeRows, state: State, entries: StoredEntries) -> list[Any]:
    """Keys and values of entries, with the names that a plan gives their columns."""
    named = rows.named(state)
    pairs = zip(entry_layouts(named), (entries.keys, entries.values), strict=True)
    return [
        [EntryReader(DataInputView(it.as_py())).read(layout) for it in column]
        for layout, column in pairs
        if layout is not None
    ]


@pytest.mark.usefixtures("slow")
def test_swapped_columns_keep_their_names(corpus: Path) -> None:
    carried: Counter[str] = Counter()
    refused: list[str] = []
    for case, number, first, second in cases(corpus):
        old = CompiledPlan.parse((corpus / "sql-plans" / f"{case}.json").read_text(), case)
        new = with_swap(old, number, first, second)
        kind = old.nodes[number].kind
        (change,) = (it for it in plan_changes(old, new) if it.old == number)
        key, infos, chunks = stored(corpus, case, number)
        if key is None:
            continue
        rows = [Lineage(plan).node_rows(plan.nodes[number]) for plan in (old, new)]
        if change.verdict not in _CARRIED:
            refused.append(f"{case} {number} {kind}: {change.reason}")
            continue
        try:
            made = carried_state(rows[0], rows[1], key, infos)
        except PlanError as error:
            refused.append(f"{case} {number} {kind}: {error}")
            continue
        states = ReshapedStates(made.states, None, 7, made.moves_keys)
        for chunk in states.gathered(iter(chunks)):
            state = made.states.get(chunk.state.name)
            entries = chunk.entries if state is None else states.entries(chunk)
            info = next(it for it in infos if it.name == chunk.state.name)
            now = chunk.state if state is None else keyed_state(state.info, made.key.layout())
            if chunk.state.kind is not StateKind.TIMERS:
                before = values(rows[0], keyed_state(info, key.layout()), chunk.entries)
                after = values(rows[1], now, entries)
                assert after == before, (case, number, chunk.state.name, first, second)
        carried[kind] += 1
    assert len(carried) > 15
    assert not refused
