"""Origins of columns: equal ones must have equal values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from savepoint_formats.plans.compiled_plan import CompiledPlan
from savepoint_formats.plans.lineage import Lineage, takes_rows_back


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
