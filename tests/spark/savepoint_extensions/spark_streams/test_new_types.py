"""Rows of Flink SQL get the columns of a query by name, or else by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_extensions.spark_streams.new_types import NamedField, whole_value
from savepoint_formats.errors import ColumnTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

ORDER = "say it by key="


def row(data: DataFrame, names: Sequence[str], wanted: str, way: str, *unscaled: str) -> Row:
    """Columns as a row of a type that is written as in DDL."""
    of_type = data.sparkSession.sql(f"SELECT CAST(NULL AS {wanted}) AS it").schema["it"].dataType
    fields = [NamedField.of(data, name, unscaled) for name in names]
    (answer,) = data.select(whole_value(fields, of_type, "the key", way).alias("it")).collect()
    value: Row = answer["it"]
    return value


def test_columns_go_by_name_if_the_plan_has_these_names(spark: SparkSession) -> None:
    data = spark.sql("SELECT 'Bern' AS town, 'CH' AS country, 1L AS n")
    wanted = "STRUCT<`$row_kind`: STRING, Country: STRING, town: STRING>"
    for names in (["town", "country"], ["country", "town"]):
        answer = row(data, names, wanted, ORDER)
        assert (answer["Country"], answer["town"]) == ("CH", "Bern")


def test_columns_of_other_names_go_by_position_if_no_other_order_is_possible(
    spark: SparkSession,
) -> None:
    data = spark.sql("SELECT 'Bern' AS town, 'CH' AS country, 3 AS id")
    for names in ("f0: STRING, f1: {}", "place: STRING, region: {}", "town: STRING, region: {}"):
        wanted = f"STRUCT<`$row_kind`: STRING, {names}>"
        of_texts, of_both = wanted.format("STRING"), wanted.format("INT")
        assert tuple(row(data, ["town", "id"], of_both, ORDER)) == ("Bern", 3)
        assert tuple(row(data, ["town", "country"], of_texts, "")) == ("Bern", "CH")
        with pytest.raises(ColumnTypeError, match=r"may be swapped\. say it by key="):
            row(data, ["town", "country"], of_texts, ORDER)
    tuples = "STRUCT<f0: BIGINT, f1: DECIMAL(38, 0)>"
    numbers = data.selectExpr("id", "2 * id AS other")
    with pytest.raises(ColumnTypeError, match="the key has the fields id, other"):
        row(numbers, ["id", "other"], tuples, ORDER)


def test_positions_of_tuples_are_no_names(spark: SparkSession) -> None:
    data = spark.sql("SELECT 'Bern' AS f1, 'CH' AS f0")
    for kind in ("", "`$row_kind`: STRING, "):
        wanted = f"STRUCT<{kind}f0: STRING, f1: STRING>"
        assert tuple(row(data, ["f0", "f1"], wanted, ORDER)) == ("CH", "Bern")
        assert tuple(row(data, ["f1", "f0"], wanted, "")) == ("Bern", "CH")
        with pytest.raises(ColumnTypeError, match=r"f1, f0, and .* f0, f1: .* may be swapped"):
            row(data, ["f1", "f0"], wanted, ORDER)


def test_an_order_that_contradicts_the_names_of_the_plan_is_refused(spark: SparkSession) -> None:
    data = spark.sql("SELECT 'Bern' AS town, 'CH' AS country")
    wanted = "STRUCT<`$row_kind`: STRING, Country: STRING, town: STRING>"
    assert tuple(row(data, ["country", "town"], wanted, "")) == ("CH", "Bern")
    with pytest.raises(ColumnTypeError, match="the order that you say contradicts the names"):
        row(data, ["town", "country"], wanted, "")


def test_sums_that_may_lack_their_point_become_no_decimals(spark: SparkSession) -> None:
    data = spark.sql("SELECT 4000L AS total, 2L AS n")
    wanted = "STRUCT<`$row_kind`: STRING, total: DECIMAL(38, 2), n: BIGINT>"
    assert tuple(row(data, ["total", "n"], wanted, "")) == (4000, 2)
    with pytest.raises(ColumnTypeError, match="total='sum DECIMAL"):
        row(data, ["total", "n"], wanted, "", "total", "n")
    with pytest.raises(ColumnTypeError, match="total='sum DECIMAL"):
        row(data, ["total"], "DECIMAL(38, 2)", "", "total")
