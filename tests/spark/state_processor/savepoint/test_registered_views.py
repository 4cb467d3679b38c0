"""Views of Spark SQL over tables of savepoints: what is made of them, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from support.many_operators import job_of_many_operators
from support.sample_rows import Sample
from support.sent_statements import statements_of

from savepoint_database.snapshot.sql_tables import SqlTable
from state_processor import Savepoint
from state_processor.savepoint.spark_database import SqlViews

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

CURRENCY = Sample("currency-2.2.1-rocksdb-native")


def test_of_a_job_that_is_registered_again_no_table_is_made_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    savepoint = Savepoint.load(spark, str(job_of_many_operators(tmp_path)))
    names = savepoint.register()
    assert len(names) == len(savepoint.tables())
    sent = statements_of(spark, monkeypatch)
    assert savepoint.register() == names
    made = [text for text in sent if not text.startswith("CREATE OR REPLACE VIEW")]
    assert not [text for text in made if "TABLE " in text]
    # A statement per operator, and one for the database of all tables.
    assert len([text for text in made if "DATABASE" in text]) <= 1 + 21
    assert spark.table("sql_4_group_aggregate.keyed_state").columns == ["key", "accState"]


def test_of_names_that_are_the_same_but_for_the_dot(spark: SparkSession) -> None:
    (operator,) = [one for one in CURRENCY.open().operators() if one.name == "summarize"]
    views, told = SqlViews(spark), {"savepoint": CURRENCY.path}
    one, other = (SqlTable(*names, operator, "") for names in (("a_b", "c"), ("a", "b_c")))
    views.create(one, pa.schema([("key", pa.int32())]), told)
    views.create(other, pa.schema([("value", pa.string())]), told)
    assert spark.table("a_b.c").columns == ["key"]
    assert spark.table("a.b_c").columns == ["value"]
    views.create(one, pa.schema([("other", pa.int32())]), told)
    assert spark.table("a_b.c").columns == ["other"]
    assert spark.table("a.b_c").columns == ["value"]


def test_of_the_same_columns_are_over_the_same_table(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (operator,) = [one for one in CURRENCY.open().operators() if one.name == "summarize"]
    views, told = SqlViews(spark), {"savepoint": CURRENCY.path}
    columns = pa.schema([("a column of no other view", pa.int32())])
    sent = statements_of(spark, monkeypatch)
    for name in ("first", "second"):
        views.create(SqlTable("same_columns", name, operator, ""), columns, told)
    assert len([text for text in sent if text.startswith("CREATE TABLE")]) == 1
    assert len([text for text in sent if text.startswith("CREATE OR REPLACE VIEW")]) == 2


def test_tables_are_converted_once_and_read_by_spark_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    sample = Sample("windows-2.2.1-rocksdb-native")
    savepoint, folder = Savepoint.load(spark, sample.path), tmp_path / "cache"
    question = "SELECT * FROM `session`.window_state ORDER BY key, namespace"
    savepoint.register()
    expected = spark.sql(question)
    rows, schema = expected.collect(), expected.schema
    written = []
    for _ in range(2):
        savepoint.register(cache=folder)
        stored = spark.sql(question)
        assert (stored.collect(), stored.schema) == (rows, schema)
        plan = stored._jdf.queryExecution().executedPlan().toString()
        assert "FileScan parquet" in plan
        written.append(sorted(path.name for path in folder.iterdir()))
    assert written[0] == written[1] != []
