"""Plans whose fields have other shapes than Flink writes are refused, with the node and the field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from savepoint_extensions.sql_jobs.plan_diff import plan_changes
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_formats.errors import PlanError


def plan(**fields: Any) -> CompiledPlan:
    """A plan of a source and a join of it with itself, which has these fields too."""
    nodes = [
        {"id": 1, "type": "stream-exec-table-source-scan_1", "outputType": "ROW<`a` INT>"},
        {"id": 2, "type": "stream-exec-join_1", "outputType": "ROW<`a` INT, `b` INT>", **fields},
    ]
    edges = [{"source": 1, "target": 2}] * 2
    return CompiledPlan.parse(json.dumps({"nodes": nodes, "edges": edges}), "plan.json")


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"state": 1}, "state is '1'"),
        ({"state": [None]}, r"state\[0\] is 'None'"),
        ({"state": [{"index": "a"}]}, r"state\[0\]\.index is 'a'"),
        ({"configuration": ["a"]}, "configuration is"),
        ({"outputType": {"fields": [1]}}, r"outputType\.fields\[0\]"),
        ({"aggCalls": [{"argList": "a"}]}, r"aggCalls\[0\]\.argList"),
        ({"overSpec": {"groups": [{"aggCalls": [1]}]}}, r"overSpec\.groups\[0\]\.aggCalls\[0\]"),
        ({"grouping": [0, "a"]}, r"grouping\[1\] is 'a'"),
        ({"leftUpsertKeys": [0]}, r"leftUpsertKeys\[0\]"),
        ({"windowing": {"window": 1}}, r"windowing\.window"),
        ({"condition": deep(300)}, "200 deep"),
    ],
)
def test_other_shapes_are_refused(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(PlanError, match=rf"plan\.json: node 2 .*{place}"):
        plan(**fields)


def test_missing_and_null_fields_are_taken() -> None:
    assert plan(state=None, aggCalls=None, windowing={}, joinSpec={"leftKeys": None}).nodes
    assert plan(condition=deep(100)).nodes


def test_a_key_may_name_a_column_that_is_not_there() -> None:
    (source, join) = plan_changes(plan(leftUpsertKeys=[[7]]), plan(leftUpsertKeys=[[0]]))
    assert source.verdict == "same"
    assert join.verdict == "rebuilt"
