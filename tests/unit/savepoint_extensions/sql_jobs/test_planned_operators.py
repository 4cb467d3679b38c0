"""Plans of SQL jobs: each operator of Flink's restore tests has its uid, each row its names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import lines, run

from savepoint_formats.layout import BinaryRow, Layout, parts
from state_processor import PlanError, Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGGREGATE = "stream-exec-group-aggregate_1/group-aggregate-simple"
JOIN = "stream-exec-join_1/join-with-state-ttl-hint"


def plan_of(corpus: Path, case: str) -> Path:
    return corpus / "sql-plans" / f"{case}.json"


def opened(corpus: Path, case: str) -> Savepoint:
    return Savepoint.open(corpus / "sql" / case, plan=plan_of(corpus, case))


def cases(corpus: Path) -> list[str]:
    folder = corpus / "sql"
    return sorted(str(path.parent.relative_to(folder)) for path in folder.rglob("_metadata"))


def rows_in(layout: Layout) -> Iterator[BinaryRow]:
    if isinstance(layout, BinaryRow):
        yield layout
    for part in parts(layout):
        yield from rows_in(part)


def test_every_operator_has_a_uid_and_every_row_names(corpus: Path) -> None:
    """The query of ``async-calc`` calls a column ``f0``. Sinks of these tests have rows of their own."""
    unnamed = []
    for case in cases(corpus):
        savepoint = opened(corpus, case)
        assert all(operator.uid for operator in savepoint.operators()), case
        for operator in savepoint.operators():
            for state in operator.catalog.states:
                if state.name.startswith("sink-"):
                    continue
                for layout in filter(None, (state.key, state.stored)):
                    names = [name for row in rows_in(layout) for name in row.names]
                    if "f0" in names and not case.startswith("stream-exec-async-calc"):
                        unnamed.append((case, state.name, names))
    assert len(cases(corpus)) > 70
    assert unnamed == []


@pytest.mark.usefixtures("slow")
def test_every_table_is_read_with_its_names(corpus: Path) -> None:
    """Names change nothing else: the rows have the values that they have without a plan."""
    for case in cases(corpus):
        named, plain = opened(corpus, case), Savepoint.open(corpus / "sql" / case)
        for with_names, without in zip(named.operators(), plain.operators(), strict=True):
            for table in without.tables:
                values = [
                    _values(savepoint.scan(f"{operator.name}.{table.name}").to_arrow().to_pylist())
                    for savepoint, operator in ((named, with_names), (plain, without))
                ]
                assert values[0] == values[1], (case, table.name)


def _values(value: object) -> object:
    if isinstance(value, dict):
        return [_values(item) for item in value.values()]
    return [_values(item) for item in value] if isinstance(value, list | tuple) else value


def test_accumulators_have_the_aliases_of_their_calls(corpus: Path) -> None:
    rows = opened(corpus, AGGREGATE).scan("4_group-aggregate.keyed_state").to_arrow().to_pylist()
    assert {row["key"]["b"]: row["accState"] for row in rows}[2] == {
        "cnt": 2,
        "avg_a_sum": 4,
        "avg_a_count": 2,
        "min_c": "Hello",
        "$row_kind": "+I",
    }


def test_a_key_is_looked_up_by_its_names(corpus: Path) -> None:
    savepoint = opened(corpus, AGGREGATE)
    scan = savepoint.scan("4_group-aggregate.keyed_state", keys=[{"b": 1}])
    assert [row["key"] for row in scan.to_arrow().to_pylist()] == [{"b": 1}]
    answer = savepoint.sql('SELECT accState.cnt FROM "4_group-aggregate".keyed_state ORDER BY 1')
    assert answer.to_pylist() == [{"cnt": 1}, {"cnt": 2}]


def test_notes_say_what_a_state_is_for_and_how_long_it_lives(corpus: Path) -> None:
    notes = {state.state: state.notes for state in opened(corpus, JOIN).describe().states()}
    assert notes["left-records"] == ("rows of the left input", "values live 1 d")
    assert notes["right-records"] == ("rows of the right input", "values live 4 d")
    (note,) = (
        state.notes
        for state in opened(corpus, AGGREGATE).describe().states()
        if state.state == "accState"
    )
    assert note == ("accumulators: cnt = COUNT(*), avg_a = AVG(a), min_c = MIN(c)",)


def test_the_query_is_a_tree_with_rows_and_bytes(corpus: Path) -> None:
    nodes = opened(corpus, JOIN).query()
    assert [(node.depth, node.id) for node in nodes[:4]] == [(0, 114), (1, 113), (2, 108), (3, 107)]
    join = nodes[1]
    assert (join.operators, join.rows) == (("113_join",), 5)
    assert join.size > 0
    shown = lines("describe", corpus / "sql" / JOIN, "--plan", plan_of(corpus, JOIN))
    assert [line["id"] for line in shown] == [node.id for node in nodes]


def test_a_query_needs_its_plan(corpus: Path) -> None:
    with pytest.raises(PlanError, match="open the savepoint with plan="):
        Savepoint.open(corpus / "sql" / JOIN).query()


def test_the_plan_of_another_job_is_refused(samples: Path, corpus: Path, tmp_path: Path) -> None:
    sample = samples / "currency-2.2.1-rocksdb-native"
    with pytest.raises(PlanError, match="has no operator of"):
        Savepoint.open(sample, plan=plan_of(corpus, JOIN))
    with pytest.raises(PlanError, match=r"the plan .*none\.json can't be read: No such file"):
        Savepoint.open(sample, plan=tmp_path / "none.json")
    code, output = run("describe", sample, "--plan", plan_of(corpus, JOIN))
    assert code == 2
    assert "The plan is of another job" in output


def test_a_plan_whose_types_differ_names_nothing(corpus: Path, tmp_path: Path) -> None:
    """The plan of a changed query has the operator; its rows have another form."""
    plan = json.loads(plan_of(corpus, AGGREGATE).read_text())
    aggregate = next(node for node in plan["nodes"] if node["id"] == 4)
    aggregate["aggCalls"].pop()
    changed = tmp_path / "plan.json"
    changed.write_text(json.dumps(plan))
    savepoint = Savepoint.open(corpus / "sql" / AGGREGATE, plan=changed)
    (row, _) = savepoint.scan("4_group-aggregate.keyed_state").to_arrow().to_pylist()
    assert list(row["accState"]) == ["f0", "f1", "f2", "f3", "$row_kind"]
