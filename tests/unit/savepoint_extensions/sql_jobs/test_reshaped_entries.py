"""Entries of a SQL operator get the columns of another query: real state of Flink, changed plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from savepoint_extensions.sql_jobs.lineage import Lineage
from savepoint_extensions.sql_jobs.plans.carried_state import (
    CarriedState,
    ReshapedState,
    carried_state,
)
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_extensions.sql_jobs.reshaped_entries import ReshapedStates
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import PlanError
from savepoint_formats.layout import (
    BinaryRow,
    Framed,
    Int,
    Layout,
    LogicalType,
    MapOf,
    Nullable,
    Struct,
)
from savepoint_formats.program.encode import Encoder
from savepoint_formats.snapshots.constructed import long
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.state_files.header import KeyedStateType, StateMetaInfo
from savepoint_formats.state_files.state import State, StateKind, entry_layouts
from savepoint_formats.state_files.state_chunk import StateChunk
from savepoint_formats.tables.catalog import keyed_headers
from savepoint_formats.values.state_entries import EntryReader
from state_processor import MigrationError, Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows

AGGREGATE = "stream-exec-group-aggregate_1/group-aggregate-simple"
JOIN = "stream-exec-join_1/join-inner-join-with-duplicate-key"
SUM = {
    "name": "total",
    "internalName": "$SUM$1",
    "argList": [1],
    "filterArg": -1,
    "distinct": False,
    "approximate": False,
    "ignoreNulls": False,
    "type": "INT",
}


def changed_plan(corpus: Path, case: str, change: Callable[[dict[int, Any]], None]) -> str:
    content = json.loads((corpus / "sql-plans" / f"{case}.json").read_text())
    change({node["id"]: node for node in content["nodes"]})
    return json.dumps(content)


def reshaped(
    corpus: Path, case: str, number: int, text: str
) -> Iterator[tuple[StateChunk, StateChunk, CarriedState]]:
    """The pieces of an operator's states, before and after."""
    path = corpus / "sql-plans" / f"{case}.json"
    old, new = CompiledPlan.parse(path.read_text(), "old"), CompiledPlan.parse(text, "new")
    savepoint = Savepoint.open(corpus / "sql" / case)
    ids = {it: node.id for it, (_, node) in old.nodes_by_operator().items()}
    operator = next(it for it in savepoint.operators() if ids.get(it.record.operator_id) == number)
    rows = [Lineage(plan).node_rows(plan.nodes[number]) for plan in (old, new)]
    subtasks = operator.record.subtasks
    headers = [it for task in subtasks for it in keyed_headers(operator.directory, task)]
    key = headers[0].key_serializer
    carried = carried_state(rows[0], rows[1], key, headers[0].states)
    states = ReshapedStates(carried.states, None, 7, carried.moves_keys)
    settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
    for task in subtasks:
        handle = task.managed_keyed_state
        if handle is None:
            continue
        source = keyed_source(operator.directory, handle, key.layout(), settings)
        names = frozenset(carried.states)
        for piece in states.gathered(source.state_chunks(names, handle.key_groups)):
            made = states.entries(piece)
            yield (
                piece,
                StateChunk(carried.states[piece.state.name].new, made, piece.key_groups),
                carried,
            )


def values(piece: StateChunk) -> list[Any]:
    layout = entry_layouts(piece.state)[1]
    assert layout is not None
    return [
        EntryReader(DataInputView(value.as_py())).read(layout) for value in piece.entries.values
    ]


def test_accumulators_go_to_their_calls_and_new_ones_begin_empty(corpus: Path) -> None:
    def change(nodes: dict[int, Any]) -> None:
        count, _, least = nodes[4]["aggCalls"]
        nodes[4]["aggCalls"] = [least, SUM, {**SUM, "internalName": "$AVG$1"}, count]
        nodes[4]["aggCallNeedRetractions"] = [False] * 4

    text = changed_plan(corpus, AGGREGATE, change)
    pieces = [
        (before, after)
        for before, after, _ in reshaped(corpus, AGGREGATE, 4, text)
        if before.state.name == "accState"
    ]
    assert pieces
    for before, after in pieces:
        assert before.entries.keys == after.entries.keys
        for was, now in zip(values(before), values(after), strict=True):
            count, _, _, least = list(was.values())[:4]
            assert list(now.values())[:5] == [least, None, 0, 0, count]


def test_an_aggregate_whose_accumulator_is_unknown_needs_history(
    corpus: Path, tmp_path: Path
) -> None:
    def change(nodes: dict[int, Any]) -> None:
        nodes[4]["aggCalls"].append({**SUM, "internalName": "$FIRST_VALUE$1"})
        nodes[4]["aggCallNeedRetractions"] = [False] * 4

    new = tmp_path / "new.json"
    new.write_text(changed_plan(corpus, AGGREGATE, change))
    old = corpus / "sql-plans" / f"{AGGREGATE}.json"
    savepoint = Savepoint.open(corpus / "sql" / AGGREGATE, plan=old)
    with pytest.raises(MigrationError, match="its accumulator isn't known"):
        savepoint.sql_migrate(new)
    dropped = savepoint.sql_migrate(new, allow_loss=True)
    assert "4_group-aggregate" not in [operator.name for operator in dropped.operators]


def test_rows_that_are_not_described_are_refused(corpus: Path) -> None:
    def change(nodes: dict[int, Any]) -> None:
        nodes[4]["type"] = "stream-exec-process-table-function_1"

    old = CompiledPlan.parse(changed_plan(corpus, AGGREGATE, change), "old")

    def swap(nodes: dict[int, Any]) -> None:
        change(nodes)
        nodes[2]["projection"].reverse()

    new = CompiledPlan.parse(changed_plan(corpus, AGGREGATE, swap), "new")
    rows = [Lineage(plan).node_rows(plan.nodes[4]) for plan in (old, old, new)]
    row = row_data([INT])
    info = StateMetaInfo.of_keys("last", KeyedStateType.VALUE, row, row)
    assert carried_state(rows[0], rows[1], row, (info,)).is_same
    with pytest.raises(PlanError, match="it isn't known which columns"):
        carried_state(rows[0], rows[2], long(), (info,))
    count = StateMetaInfo.of_keys("count", KeyedStateType.VALUE, long(), long())
    assert carried_state(rows[0], rows[2], long(), (count,)).is_same


@pytest.mark.parametrize("kind", ["join", "deduplicate"])
def test_columns_of_keys_in_another_order_move_the_keys(kind: str) -> None:
    def rows(order: list[int]) -> NodeRows:
        keys = {"leftKeys": order, "rightKeys": order, "filterNulls": [True, True]}
        node = {"id": 3, "type": f"stream-exec-{kind}_1", "joinSpec": keys, "uniqueKeys": order}
        tables = [
            {
                "id": number,
                "type": "stream-exec-table-source-scan_1",
                "outputType": "ROW<`a` INT, `b` INT>",
                "scanTableSource": {"table": {"identifier": f"t{number}"}},
            }
            for number in (1, 2)
        ]
        edges = [{"source": it["id"], "target": 3} for it in tables]
        text = json.dumps({"flinkVersion": "2.2", "nodes": [*tables, node], "edges": edges})
        plan = CompiledPlan.parse(text, "plan")
        return Lineage(plan).node_rows(plan.nodes[3])

    key = row_data([INT, INT])
    assert carried_state(rows([0, 1]), rows([0, 1]), key, ()).is_same
    assert carried_state(rows([0, 1]), rows([1, 0]), key, ()).moves_keys


def test_a_savepoint_needs_the_plan_of_its_job(corpus: Path) -> None:
    with pytest.raises(PlanError, match="open the savepoint with plan="):
        Savepoint.open(corpus / "sql" / AGGREGATE).sql_migrate(
            corpus / "sql-plans" / f"{AGGREGATE}.json"
        )


@pytest.mark.usefixtures("slow")
def test_the_same_plan_changes_nothing(corpus: Path) -> None:
    for path in sorted((corpus / "sql-plans").rglob("*.json")):
        case = path.relative_to(corpus / "sql-plans").with_suffix("")
        writer = Savepoint.open(corpus / "sql" / case, plan=path).sql_migrate(path)
        assert not writer.needs_session, case
        assert {change.verdict for change in writer.sql_changes} <= {"same"}


ROW_KIND = "$row_kind"
INT = LogicalType("INTEGER")


def _rows_of_a_join(value: Layout, columns: int) -> State:
    """The rows of an input of a join by their columns, with a number of each."""
    names = tuple(f"map_key{number}" for number in range(columns))
    row = Framed(BinaryRow(names, (INT,) * columns))
    return State("left-records", StateKind.MAP, MapOf(row, Nullable(value)), Int())


@pytest.mark.parametrize("is_outer", [False, True])
def test_rows_that_become_equal_are_one_with_the_sum_of_their_numbers(is_outer: bool) -> None:
    value = Struct(("f0", "f1"), (Int(), Int())) if is_outer else Int()
    old, new = _rows_of_a_join(value, 2), _rows_of_a_join(value, 1)
    numbers: list[Any] = [2, 3, 4]
    if is_outer:
        numbers = [{"f0": number, "f1": 9} for number in numbers]
    columns = [(1, 1, 5), (1, 1, 6), (1, 2, 5)]
    keys = [
        {
            "prefix": None,
            "key": key,
            "namespace": None,
            "user_key": {"map_key0": first, "map_key1": second, ROW_KIND: "+I"},
        }
        for key, first, second in columns
    ]
    stored, of_values = map(Encoder, filter(None, entry_layouts(old)))
    pieces = [
        StateChunk(
            old,
            StoredEntries(
                stored.encode(pa.array([key], stored.type)),
                of_values.encode(pa.array([number], of_values.type)),
            ),
            np.array([3], np.uint16),
        )
        for key, number in zip(keys, numbers, strict=True)
    ]
    info = StateMetaInfo.of_keys("left-records", KeyedStateType.MAP, long(), long())
    change = ReshapedState(info, "left-records", old, new, {"map_key0": "map_key0"}, {}, True)
    states = ReshapedStates({"left-records": change}, None, 0)
    (piece,) = states.gathered(iter(pieces))
    made = StateChunk(new, states.entries(piece), piece.key_groups)
    assert values(made) == ([{"f0": 5, "f1": 9}, {"f0": 4, "f1": 9}] if is_outer else [5, 4])
    assert made.key_groups.tolist() == [3, 3]
