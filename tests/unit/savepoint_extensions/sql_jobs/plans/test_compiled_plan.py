"""Compiled plans are parsed as Flink writes them; anything else is a ``PlanError``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan, NamedColumn, parse_row
from savepoint_formats.errors import PlanError
from savepoint_formats.layout import LogicalType

TYPES = {
    "BIGINT NOT NULL": "BIGINT",
    "VARCHAR(2147483647)": "VARCHAR",
    "TIMESTAMP(3)": "TIMESTAMP_WITHOUT_TIME_ZONE",
    "DECIMAL(10, 2)": "DECIMAL",
    "MAP<VARCHAR(10), ARRAY<INT>>": "MAP",
    "ROW<`a` INT, `b, c` ROW<`d` DOUBLE>> NOT NULL": "ROW",
    "INTERVAL SECOND(6) NOT NULL": "",
    "RAW('org.shop.Order, (`x`', 'AEBv>')": "",
}


def plan(*nodes: dict[str, Any], edges: object = ()) -> CompiledPlan:
    content = {"flinkVersion": "2.2", "nodes": nodes, "edges": list(edges)}  # type: ignore[call-overload]
    return CompiledPlan.parse(json.dumps(content), "plan.json")


def node(number: int, kind: str, **more: object) -> dict[str, Any]:
    return {"id": number, "type": f"stream-exec-{kind}_1", "outputType": "ROW<`a` INT>", **more}


@given(
    st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.sampled_from(list(TYPES)))),
)
def test_columns_of_any_names_and_types(columns: list[tuple[str, str]]) -> None:
    text = ", ".join(f"`{name.replace('`', '``')}` {sql}" for name, sql in columns)
    row = parse_row(f"ROW<{text}>")
    assert row is not None
    expected = [(name, TYPES[sql]) for name, sql in columns]
    assert [(column.name, column.root) for column in row] == expected


def test_a_row_with_a_time_attribute_is_an_object() -> None:
    row = {
        "type": "ROW",
        "fields": [
            {"name": "id", "fieldType": "INT"},
            {"name": "ts", "fieldType": {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 3}},
        ],
    }
    assert parse_row(row) == (
        NamedColumn("id", LogicalType("INTEGER")),
        NamedColumn("ts", LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=3)),
    )


@pytest.mark.parametrize("text", ["BIGINT", "ROW<`a` INT", "ROW<a INT>", None, {"type": "MAP"}])
def test_other_types_have_no_columns(text: object) -> None:
    assert parse_row(text) is None


def test_inputs_are_in_the_order_of_the_edges() -> None:
    edges = [{"source": 2, "target": 3}, {"source": 1, "target": 3}]
    joined = plan(
        node(1, "calc", outputType="ROW<`l` INT>"), node(2, "calc"), node(3, "join"), edges=edges
    )
    assert joined.inputs(joined.nodes[3]) == (
        (NamedColumn("a", LogicalType("INTEGER")),),
        (NamedColumn("l", LogicalType("INTEGER")),),
    )


def test_uids_of_both_forms() -> None:
    assert plan(node(7, "group-aggregate")).nodes[7].uids() == (
        "7_group-aggregate_1_group-aggregate",
        "7_group-aggregate",
    )
    assert "Sink Committer: 9_sink" in plan(node(9, "sink")).nodes[9].uids()


@pytest.mark.parametrize(
    ("kind", "transformation"),
    [
        ("process-table-function", "process"),
        ("delta-join", "delta-join"),
        ("multi-join", "multi-join"),
        ("temporal-sort", "temporal-sort"),
        ("vector-search-table-function", "vector-search-table-function"),
        ("ml-predict-table-function", "ml-predict-table-function"),
        ("lookup-join", "partitioner"),
        ("sink", "watermark-timestamp-assigner"),
    ],
)
def test_uids_of_operators_of_flink_2(kind: str, transformation: str) -> None:
    assert f"7_{transformation}" in plan(node(7, kind)).nodes[7].uids()


def test_a_process_table_function_has_the_uid_that_the_query_gives_it() -> None:
    nodes = [node(7, "process-table-function", uid="scores"), node(8, "process-table-function")]
    old, new = plan(*nodes), plan(node(9, "process-table-function", uid="points"))
    assert old.nodes[7].uids() == ("scores",)
    assert old.nodes[7].uid("2.2", "process") == "scores"
    assert new.nodes[9].uid_like(old.nodes[7], "scores") == "points"
    assert old.nodes[8].uid("2.2", "process") == "8_process"


def test_the_form_of_uids_is_an_option() -> None:
    configuration = {"table.exec.uid.format": "q1-<type>-<id>-<transformation>"}
    (uid,) = plan(node(7, "deduplicate", configuration=configuration)).nodes[7].uids()
    assert uid == "q1-deduplicate-7-deduplicate"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[1]", "has no list of nodes"),
        ('{"nodes": []}', "has no list of edges"),
        ('{"nodes": [], "edges": [1]}', "is not an edge"),
        ('{"nodes": [{"id": 1, "type": "batch-exec-calc_1"}], "edges": []}', "is not a node"),
        (
            '{"nodes": [], "edges": [{"source": 4, "target": 5}]}',
            r"nodes that the plan lacks: \[4\]",
        ),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_plan(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        CompiledPlan.parse(text, "plan.json")


def test_two_nodes_with_one_id() -> None:
    with pytest.raises(PlanError, match="two nodes have the same id"):
        plan(node(1, "calc"), node(1, "sink"))
