"""Origins of columns: equal ones must have equal values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from savepoint_extensions.sql_jobs.lineage import Lineage, takes_rows_back
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan


def node(number: int, kind: str, columns: str, **more: object) -> dict[str, Any]:
    row = ", ".join(f"`{column}` INT" for column in columns)
    return {"id": number, "type": f"stream-exec-{kind}_1", "outputType": f"ROW<{row}>", **more}


def scan(number: int, table: str, columns: str = "ab") -> dict[str, Any]:
    return node(
        number, "table-source-scan", columns, scanTableSource={"table": {"identifier": table}}
    )


def lineage(*nodes: dict[str, Any]) -> Lineage:
    """The plan in which the last node reads all others."""
    *inputs, last = nodes
    edges = [{"source": it["id"], "target": last["id"]} for it in inputs]
    content = {"flinkVersion": "2.2", "nodes": nodes, "edges": edges}
    return Lineage(CompiledPlan.parse(json.dumps(content), "plan.json"))


def test_the_sides_of_a_join_of_a_table_with_itself_differ() -> None:
    join = node(3, "join", "abab", joinSpec={"joinType": "INNER"})
    of_itself = lineage(scan(1, "t"), scan(2, "t"), join)
    columns = of_itself.rows(of_itself.plan.nodes[3]).columns
    assert len(set(columns)) == 4
    of_two = lineage(scan(1, "t"), scan(2, "u"), join)
    assert ("column", "t", "a") in of_two.rows(of_two.plan.nodes[3]).columns


def test_a_column_of_a_union_comes_from_all_inputs() -> None:
    same = [lineage(scan(1, "t"), scan(2, "u"), node(3, "union", "ab")) for _ in range(2)]
    other = lineage(scan(1, "t"), scan(2, "u", "ac"), node(3, "union", "ab"))
    first, second, third = (it.rows(it.plan.nodes[3]).columns for it in (*same, other))
    assert first == second
    assert (first[0] == third[0], first[1] == third[1]) == (True, False)


@pytest.mark.parametrize(
    ("kind", "is_updating"),
    [("group-aggregate", True), ("rank", True), ("window-aggregate", False)],
)
def test_operators_that_take_rows_back(kind: str, is_updating: bool) -> None:
    made = lineage(scan(1, "t"), node(2, kind, "ab"))
    assert takes_rows_back(made.rows(made.plan.nodes[2]).row_set) == is_updating
    assert not takes_rows_back(made.rows(made.plan.nodes[1]).row_set)


def test_numbers_of_columns_of_the_right_side_are_its_own() -> None:
    windows = {"window": {"type": "TumblingWindow"}, "windowStart": 1}
    join = {"joinSpec": {"joinType": "INNER"}, "rightWindowing": windows}
    whole = lineage(scan(1, "t"), scan(2, "u"), node(3, "window-join", "abab", **join))
    more = lineage(scan(1, "t", "xab"), scan(2, "u"), node(3, "window-join", "xabab", **join))
    other = lineage(scan(1, "t"), scan(2, "u", "ba"), node(3, "window-join", "abba", **join))
    first, second, third = (it.rows(it.plan.nodes[3]).row_set for it in (whole, more, other))
    assert first == second
    assert first != third


def test_the_order_of_keys_changes_no_row() -> None:
    keys = [{"leftKeys": [0, 1], "rightKeys": [0, 1], "filterNulls": [True, False]}]
    keys.append({"leftKeys": [1, 0], "rightKeys": [1, 0], "filterNulls": [False, True]})
    keys.append({"leftKeys": [0, 1], "rightKeys": [1, 0], "filterNulls": [True, False]})
    joins = [
        lineage(scan(1, "t"), scan(2, "u"), node(3, "join", "abab", joinSpec=it)) for it in keys
    ]
    first, second, third = (it.rows(it.plan.nodes[3]).row_set for it in joins)
    assert first == second
    assert first != third
    kept = [
        lineage(scan(1, "t"), node(2, "deduplicate", "ab", uniqueKeys=it))
        for it in ([0, 1], [1, 0])
    ]
    first, second = (it.rows(it.plan.nodes[2]).row_set for it in kept)
    assert first == second


def _filtered(columns: str, number: int) -> Lineage:
    predicate = {"kind": "INPUT_REF", "inputIndex": number}
    schema = {"schema": {"columns": [{"name": column} for column in columns]}}
    table = {
        "table": {"identifier": "t", "resolvedTable": schema},
        "abilities": [{"type": "FilterPushDown", "predicates": [predicate]}],
    }
    return lineage(node(1, "table-source-scan", columns, scanTableSource=table))


def test_a_condition_that_is_pushed_down_is_that_of_a_column() -> None:
    made = [_filtered("ab", 0), _filtered("ba", 1), _filtered("ba", 0)]
    first, second, third = (it.rows(it.plan.nodes[1]).row_set for it in made)
    assert first == second
    assert first != third


def test_an_outer_join_takes_rows_back() -> None:
    for join_type, is_updating in (("INNER", False), ("LEFT", True)):
        join = node(3, "join", "abab", joinSpec={"joinType": join_type})
        made = lineage(scan(1, "t"), scan(2, "u"), join)
        assert takes_rows_back(made.rows(made.plan.nodes[3]).row_set) == is_updating


def test_a_cast_that_keeps_all_values_is_no_other_column() -> None:
    def cast(kind: str, to: str) -> dict[str, Any]:
        column = {"kind": "INPUT_REF", "inputIndex": 0, "type": kind}
        return {"kind": "CALL", "internalName": "$CAST$1", "operands": [column], "type": to}

    casts = [cast("INT", "BIGINT"), cast("BIGINT", "INT"), cast("INT", "INT NOT NULL")]
    made = lineage(scan(1, "t"), node(2, "calc", "abc", projection=casts))
    wider, *others = made.rows(made.plan.nodes[2]).columns
    assert wider == ("column", "t", "a")
    assert wider not in others
