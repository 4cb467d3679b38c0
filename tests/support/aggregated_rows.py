"""Rows of all types that aggregates take, and what Spark's own aggregation makes of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql import functions as F

from savepoint_functions.aggregating.aggregates import (
    Aggregate,
    Aggregating,
    Avg,
    Count,
    Max,
    Min,
    Reducing,
    Sum,
    TopN,
)
from state_processor import AggregatingStateDescriptor, ReducingStateDescriptor, Types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession


class Average:
    """The average, by a function of a user."""

    def create_accumulator(self) -> Any:
        return {"f0": 0, "f1": 0}

    def add(self, value: int, accumulator: Any) -> Any:
        return {"f0": accumulator["f0"] + value, "f1": accumulator["f1"] + 1}

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator["f0"] / accumulator["f1"])

    def merge(self, accumulator: Any, other: Any) -> Any:
        return tuple(map(sum, zip(accumulator, other, strict=True)))


PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
AGGREGATES: dict[str, Aggregate] = {
    "rows": Count(),
    "values": Count("long"),
    "sum": Sum("long"),
    "sum_of_ints": Sum("int"),
    "sum_of_floats": Sum("float"),
    "sum_of_decimals": Sum("decimal"),
    "mean": Avg("long"),
    "mean_of_floats": Avg("float"),
    "mean_of_decimals": Avg("decimal"),
    "least": Min("float"),
    "first": Min("time"),
    "last_text": Max("text"),
    "greatest": Max("decimal"),
    "best": TopN(3, "long"),
    "texts": TopN(2, "text"),
    "reduced": Reducing("long", ReducingStateDescriptor("reduced", Types.LONG(), max)),
    "averaged": Aggregating(
        "long", AggregatingStateDescriptor("averaged", PAIR, Average()), Types.DOUBLE()
    ),
}
"""Results -> the aggregates that have them."""


IN_SPARK: dict[str, str] = {
    "rows": "count(*)",
    "values": "count(long)",
    "sum": "sum(long)",
    "sum_of_ints": "sum(int)",
    "sum_of_floats": "sum(float)",
    "sum_of_decimals": "sum(decimal)",
    "mean": "avg(long)",
    "mean_of_floats": "avg(float)",
    "mean_of_decimals": "avg(decimal)",
    "least": "min(float)",
    "first": "min(time)",
    "last_text": "max(text)",
    "greatest": "max(decimal)",
    "best": "slice(sort_array(collect_list(long), false), 1, 3)",
    "texts": "slice(sort_array(collect_list(text), false), 1, 2)",
    "reduced": "max(long)",
    "averaged": "avg(long)",
}
"""Results -> how Spark comes to them."""


def in_spark(data: DataFrame, keys: Iterable[str], names: Iterable[str]) -> DataFrame:
    """Result of Spark's own aggregation."""
    return data.groupBy(*keys).agg(*(F.expr(IN_SPARK[name]).alias(name) for name in names))


_SCHEMA = pa.schema(
    [
        ("word", pa.utf8()),
        ("number", pa.int64()),
        ("long", pa.int64()),
        ("int", pa.int32()),
        ("float", pa.float64()),
        ("decimal", pa.decimal128(12, 3)),
        ("text", pa.utf8()),
        ("time", pa.timestamp("us", "UTC")),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows of many keys, one of which has most of them; few values are null."""
    count = draw(st.integers(1, 300))
    random = draw(st.randoms(use_true_random=False))
    columns: dict[str, list[Any]] = {field.name: [] for field in _SCHEMA}
    for _ in range(count):
        key = 0 if random.random() < 0.5 else random.randrange(40)
        number = random.randrange(-(10**6), 10**6)
        values = {
            "word": ["", "wörd", "a\0b"][key % 3] + str(key),
            "number": key - 20,
            "long": number << 12,
            "int": number,
            # Sums of such floats are exact, in whatever order.
            "float": number / 8,
            "decimal": Decimal(number) / 8,
            "text": str(number % 997),
            "time": number,
        }
        for name, value in values.items():
            is_null = name not in ("word", "number") and random.random() < 0.3
            columns[name].append(None if is_null else value)
    arrays = [pa.array(columns[field.name], field.type) for field in _SCHEMA]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def data_of(spark: SparkSession, table: pa.Table, partitions: int) -> DataFrame:
    """The rows in so many partitions."""
    return spark.createDataFrame(table).repartition(partitions)


def sorted_rows(data: DataFrame) -> list[tuple[Any, ...]]:
    """The rows in the order of their texts."""
    return sorted(map(tuple, data.collect()), key=repr)
