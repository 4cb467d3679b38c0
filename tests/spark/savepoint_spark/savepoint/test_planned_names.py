"""SQL state as DataFrames with the names of its query, read and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import col, lit

from state_processor import Savepoint

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
