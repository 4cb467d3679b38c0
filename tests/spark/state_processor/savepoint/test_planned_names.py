"""SQL state as DataFrames with the names of its query, read and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import col, lit

from state_processor import FieldNotFoundError, Savepoint, SchemaChangeError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CASE = "stream-exec-group-aggregate_1/group-aggregate-simple"
OPERATOR = "4_group-aggregate"


def test_rows_are_read_and_changed_by_their_names(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    plan = corpus / "sql-plans" / f"{CASE}.json"
    savepoint = Savepoint.load(spark, corpus / "sql" / CASE, plan=plan)
    shown = savepoint.read_keyed_state(OPERATOR).where("accState.cnt > 1")
    assert shown.select("key.b", "accState.cnt").collect() == [(2, 2)]
    value = col("accState").withField("cnt", lit(7).cast("bigint"))
    savepoint.update_state(OPERATOR, "accState", value, where="key.b = 1").write(tmp_path / "new")
    # Without the plan: the names are nowhere in the bytes.
    written = Savepoint.open(tmp_path / "new", uids=[OPERATOR])
    rows = written.scan(f"{OPERATOR}.keyed_state").to_arrow().to_pylist()
    assert {row["key"]["f0"]: list(row["accState"].values()) for row in rows} == {
        1: [7, 0, 0, "Hi", "+I"],
        2: [2, 4, 2, "Hello", "+I"],
    }


JOIN = "stream-exec-join_1/join-left-join"


def opened(spark: SparkSession, corpus: Path, case: str) -> Savepoint:
    return Savepoint.load(spark, corpus / "sql" / case, plan=corpus / "sql-plans" / f"{case}.json")


def test_fields_of_rows_are_changed_by_their_names(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    changed = (
        opened(spark, corpus, CASE)
        .add_field(
            OPERATOR, "accState", "rest", "INT", col("accState.cnt").cast("int"), before="avg_a_sum"
        )
        .drop_field(OPERATOR, "accState", "avg_a_count")
        .widen_field(OPERATOR, "accState", "rest", "BIGINT")
        .add_field(OPERATOR, "accState", "last", "VARCHAR(3)")
    )
    changed.write(tmp_path / "new")
    rows = Savepoint.open(tmp_path / "new", uids=[OPERATOR]).scan(f"{OPERATOR}.keyed_state")
    assert {row["key"]["f0"]: row["accState"] for row in rows.to_arrow().to_pylist()} == {
        1: {"f0": 1, "f1": 1, "f2": 0, "f3": "Hi", "f4": None, "$row_kind": "+I"},
        2: {"f0": 2, "f1": 2, "f2": 4, "f3": "Hello", "f4": None, "$row_kind": "+I"},
    }


def test_a_name_that_a_row_lacks_is_an_error(spark: SparkSession, corpus: Path) -> None:
    savepoint = opened(spark, corpus, CASE)
    with pytest.raises(FieldNotFoundError, match=r"'total'.*cnt"):
        savepoint.drop_field(OPERATOR, "accState", "total")
    with pytest.raises(FieldNotFoundError, match=r"'total'.*cnt"):
        savepoint.add_field(OPERATOR, "accState", "new", "INT", before="total")
    with pytest.raises(SchemaChangeError, match="has a field 'cnt' already"):
        savepoint.add_field(OPERATOR, "accState", "cnt", "INT")


def test_rows_of_a_join_get_other_columns(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    savepoint = opened(spark, corpus, JOIN)
    operator = "81_join"
    before = savepoint.scan(f"{operator}.keyed_state").to_arrow().to_pylist()
    changed = savepoint.add_field(operator, "left-records", "city", "VARCHAR(9)", before="name")
    changed = changed.widen_field(operator, "left-records", "deptno", "BIGINT")
    changed.write(tmp_path / "new")
    rows = Savepoint.open(tmp_path / "new", uids=[operator]).scan(f"{operator}.keyed_state")
    after = {row["key"]["f0"]: row["left-records"] for row in rows.to_arrow().to_pylist()}
    expected = {
        row["key"]["deptno"]: [
            (
                {"f0": key["deptno"], "f1": None, "f2": key["name"], "$row_kind": key["$row_kind"]},
                {"f0": value["count"], "f1": value["matches"]},
            )
            for key, value in row["left-records"]
        ]
        for row in before
        if row["left-records"]
    }
    assert expected
    assert {key: rows for key, rows in after.items() if rows} == expected
    with pytest.raises(SchemaChangeError, match="as sql-migrate does"):
        savepoint.drop_field(operator, "left-records", "name")
