"""Columns are cast to the types of state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import DataType

from savepoint_spark.columns import column_of, fitting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_value_of_a_codec_is_a_new_one_without_its_undecoded_bytes(spark: SparkSession) -> None:
    undecoded = "`$undecoded`: STRUCT<bytes: BINARY, reason: STRING>"
    number = f"STRUCT<value: INT, {undecoded}>"
    rows = spark.sql("SELECT 7 AS one, array(7, null) AS many, named_struct('amount', 1) AS price")
    wanted = {
        "one": (number, {"value": 7, "$undecoded": None}),
        "many": (f"ARRAY<{number}>", [{"value": 7, "$undecoded": None}, None]),
        "price": (f"STRUCT<amount: INT, {undecoded}>", {"amount": 1, "$undecoded": None}),
    }
    for name, (kind, value) in wanted.items():
        target = DataType.fromDDL(kind)
        column = fitting(*column_of(rows, name), target, name, "a state")
        (row,) = rows.select(column.alias("it")).collect()
        assert row.asDict(recursive=True)["it"] == value
