"""Aggregates say on the driver what they cannot take, and have the semantics of Spark's SQL."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F
from support import aggregated_rows
from support.aggregated_rows import PAIR, Average, sorted_rows

from savepoint_database.types.descriptors import AggregateFunction
from savepoint_formats.errors import ColumnNotFoundError, ColumnTypeError, NotMergeableError
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
from state_processor import (
    AggregatingStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Types,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Workers do not find the modules of tests.
for module in (aggregated_rows, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


class Distinct:
    """How many values there are: it keeps no values, so two of it can't become one."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


class Inherited(AggregateFunction):
    """Has but the merge of the protocol, which does nothing."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 'a' AS word, 1L AS long, 1.5D AS double, map('a', 1) AS tags")


# Python makes one of it, though checkers of types would not.
INHERITED: Any = Inherited


@pytest.mark.parametrize("function", [Distinct(), INHERITED()])
def test_an_aggregate_without_a_merge_is_refused_with_the_reason(
    data: DataFrame, function: Any
) -> None:
    descriptor = AggregatingStateDescriptor("n", Types.LONG(), function)
    rows = OperatorTransformation.bootstrap_with(data).local_key_by("word")
    with pytest.raises(NotMergeableError, match="has no merge: each partition has an accumulator"):
        rows.aggregate(n=Aggregating("long", descriptor))


@pytest.mark.parametrize(
    ("aggregate", "error", "message"),
    [
        (Sum("word"), ColumnTypeError, "column 'word' is string, expected numbers"),
        (Avg("tags"), ColumnTypeError, "column 'tags' is map<string,int>, expected numbers"),
        (Min("tags"), ColumnTypeError, "whose values can.t be compared"),
        (TopN(3, "tags"), ColumnTypeError, "whose values can.t be compared"),
        (Count("amount"), ColumnNotFoundError, "no column 'amount'"),
        (
            Reducing("long", ReducingStateDescriptor("most", Types.LONG())),
            ValueError,
            "state 'most' has no reduce_function",
        ),
        (
            Reducing("double", ReducingStateDescriptor("most", Types.LONG(), max)),
            ColumnTypeError,
            "column 'double' is double, but state 'most' takes bigint",
        ),
        (
            Aggregating("long", AggregatingStateDescriptor("mean")),
            ValueError,
            "has no accumulator_type and no aggregate_function",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_an_aggregate_does_not_take(
    data: DataFrame, aggregate: Aggregate, error: type[Exception], message: str
) -> None:
    rows = OperatorTransformation.bootstrap_with(data).local_key_by("word")
    with pytest.raises(error, match=message):
        rows.aggregate(found=aggregate)


def test_the_greatest_of_no_values() -> None:
    with pytest.raises(ValueError, match="the 0 greatest values, expected 1 or more"):
        TopN(0, "long")


def test_nan_is_the_greatest_float_as_in_spark(spark: SparkSession) -> None:
    data = spark.sql(
        "SELECT 'a' AS word, DOUBLE(x) AS x FROM VALUES ('NaN'), ('1'), ('-inf') AS t(x)"
    )
    rows = OperatorTransformation.bootstrap_with(data).local_key_by("word")
    found = rows.aggregate(low=Min("x"), high=Max("x"), best=TopN(2, "x")).key_by("word").rows()
    row = found.first()
    assert row is not None
    assert (row.low, row.best[1]) == (-math.inf, 1.0)
    assert math.isnan(row.high)
    assert math.isnan(row.best[0])
    assert repr(TopN(2, "x").merge([math.nan, 1.0], [2.0, math.nan])) == "[nan, nan]"


def test_sums_wrap_where_spark_lets_them(spark: SparkSession) -> None:
    data = spark.sql(f"SELECT 'a' AS word, {2**63 - 1} AS long FROM range(0, 3, 1, 3)")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        rows = OperatorTransformation.bootstrap_with(data).local_key_by("word")
        found = sorted_rows(rows.aggregate(total=Sum("long")).key_by("word").rows())
        assert found == sorted_rows(data.groupBy("word").agg(F.sum("long")))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_results_are_accumulators_unless_they_have_a_type(spark: SparkSession) -> None:
    data = spark.sql("SELECT 'a' AS word, id AS long FROM range(0, 4, 1, 2)")
    rows = OperatorTransformation.bootstrap_with(data).local_key_by("word")
    descriptor = AggregatingStateDescriptor("mean", PAIR, Average())
    found = rows.aggregate(
        accumulator=Aggregating("long", descriptor),
        mean=Aggregating("long", descriptor, Types.DOUBLE()),
    )
    row = found.key_by("word").rows().first()
    assert row is not None
    assert row.asDict(recursive=True) == {
        "word": "a",
        "accumulator": {"f0": 6, "f1": 4},
        "mean": 1.5,
    }
