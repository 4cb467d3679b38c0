"""Calls that can't make the state of a SQL operator are refused, and say why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from state_processor import (
    ColumnNotFoundError,
    ColumnTypeError,
    OperatorTransformation,
    PlanError,
    Savepoint,
    UnencodableError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SIMPLE = "stream-exec-group-aggregate_1/group-aggregate-simple.json"
ROW = "b BIGINT, a INT, `$f2` BOOLEAN, c STRING"
ROWS = [(1, 2, True, "x"), (1, 4, False, "w"), (2, None, True, "y")]


def plan(corpus: Path, case: str = SIMPLE) -> Path:
    return corpus / "sql-plans" / case


def test_an_operator_is_found_by_number_uid_or_word(corpus: Path) -> None:
    for name in (4, "4_group-aggregate", "GroupAggregate"):
        operator = OperatorTransformation.for_plan(plan(corpus), name)
        assert (operator.uid, operator.inputs) == ("4_group-aggregate", (("b", "a", "$f2", "c"),))


@pytest.mark.parametrize(
    ("case", "operator", "message"),
    [
        (SIMPLE, 99, "no operator 99; with state it has 4: GroupAggregate"),
        (SIMPLE, "Sink", "it has no state, or none that can be made of history"),
        ("stream-exec-join_1/join-with-state-ttl-hint.json", "GroupAggregate", "2 operators"),
        ("stream-exec-match_1/match-simple.json", 3, "it has no state, or none"),
        (
            "stream-exec-interval-join_1/interval-join-event-time.json",
            "IntervalJoin",
            r"it has no state.* Cast the times to TIMESTAMP\(3\) .* makes it a Join",
        ),
    ],
)
def test_operators_without_history(
    corpus: Path, case: str, operator: int | str, message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        OperatorTransformation.for_plan(plan(corpus, case), operator)


def test_asynchronous_state_is_refused_by_its_option(corpus: Path, tmp_path: Path) -> None:
    content = json.loads(plan(corpus).read_text(encoding="utf-8"))
    (node,) = (node for node in content["nodes"] if node["id"] == 4)
    node.setdefault("configuration", {})["table.exec.async-state.enabled"] = "true"
    changed = tmp_path / "plan.json"
    changed.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(PlanError, match=r"^GroupAggregate.* without table.exec.async-state"):
        OperatorTransformation.for_plan(changed, 4)


@pytest.mark.parametrize(("kind", "shown"), [("'+X'", r"'\+X'"), ("CAST(NULL AS STRING)", "null")])
def test_an_unknown_kind_of_a_row_is_named(
    spark: SparkSession, corpus: Path, tmp_path: Path, kind: str, shown: str
) -> None:
    case = "stream-exec-join_1/join-outer-join.json"
    operator = OperatorTransformation.for_plan(plan(corpus, case), 74)
    row = ("1 AS deptno", "'a' AS name", "1 AS department_num", "'b' AS department_name")
    rows = spark.range(1).selectExpr(*row, f"{kind} AS op")
    history = operator.bootstrap_with(rows, rows, row_kind="op")
    writer = Savepoint.create(spark).with_operator(operator.uid, history)
    with pytest.raises(UnencodableError, match=f"'74_join': column 'op' has {shown}, which is no"):
        writer.write(tmp_path / "new")
    assert not (tmp_path / "new" / "_metadata").exists()


def test_rows_that_do_not_fit(spark: SparkSession, corpus: Path) -> None:
    operator = OperatorTransformation.for_plan(plan(corpus), 4)
    rows = spark.createDataFrame(ROWS, ROW)
    with pytest.raises(ColumnNotFoundError, match="no column 'a'"):
        operator.bootstrap_with(rows.drop("a"))
    with pytest.raises(ColumnTypeError, match="'a' is string, but the operator takes int"):
        operator.bootstrap_with(rows.withColumn("a", rows.a.cast("string")))
    with pytest.raises(ValueError, match="1 inputs, but was given rows of 2"):
        operator.bootstrap_with(rows, rows)
    with pytest.raises(ValueError, match="reads no changelog in this plan"):
        operator.bootstrap_with(rows, row_kind="c")


@pytest.mark.parametrize(
    ("case", "operator", "row", "message"),
    [
        (
            "stream-exec-join_1/join-with-state-ttl-hint.json",
            113,
            "deptno INT; department_num INT",
            "its state lives 1 d",
        ),
        (
            "stream-exec-deduplicate_1/deduplicate-desc.json",
            "Deduplicate",
            (
                "order_id BIGINT, user STRING, product STRING, order_time BIGINT,"
                " event_time TIMESTAMP_NTZ"
            ),
            "name the columns that order the rows",
        ),
        (
            "stream-exec-window-aggregate_1/window-aggregate-tumble-event-time-with-offset.json",
            "WindowAggregate",
            "name STRING, a_int INT, comment STRING, rowtime TIMESTAMP_NTZ",
            "give watermark",
        ),
    ],
)
def test_what_history_does_not_tell(
    spark: SparkSession, corpus: Path, case: str, operator: int | str, row: str, message: str
) -> None:
    found = OperatorTransformation.for_plan(plan(corpus, case), operator)
    history = [spark.createDataFrame([], columns) for columns in row.split("; ")]
    with pytest.raises((PlanError, ValueError), match=message):
        found.bootstrap_with(*history)


def test_state_of_history_is_read_by_the_plan(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    operator = OperatorTransformation.for_plan(plan(corpus), 4)
    history = operator.bootstrap_with(spark.createDataFrame(ROWS, ROW))
    Savepoint.create(spark).with_operator(operator.uid, history).write(tmp_path / "new")
    written = Savepoint.load(spark, tmp_path / "new", plan=plan(corpus))
    rows = written.read_keyed_state(operator.uid).collect()
    found = {row["key"]["b"]: (row["accState"]["cnt"], row["accState"]["min_c"]) for row in rows}
    assert found == {1: (2, "w"), 2: (1, "y")}
