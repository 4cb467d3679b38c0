"""Rows are aggregated to the same result with and without aggregation before the shuffle."""

from __future__ import annotations

import math
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from support import aggregated_rows
from support.aggregated_rows import AGGREGATES, data_of, in_spark, sorted_rows, tables

from savepoint_formats.errors import ColumnNotFoundError, NullKeyError
from savepoint_functions.aggregating.aggregates import Avg, Count, Max, Sum, TopN
from savepoint_functions.functions.process_functions import KeyedProcessFunction
from savepoint_functions.windows.window_assigners import SessionWindows, assign_windows
from savepoint_spark.session.tasks import typed_errors
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Workers do not find the modules of tests.
for module in (aggregated_rows, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]

END_OF_TIME = 2**63 - 1


class Totals(KeyedProcessFunction):
    """Adds up a column, whether of rows or of totals."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> None:
        self.total.update((self.total.value() or 0) + value.total)
        context.timer_service.register_event_time_timer(END_OF_TIME)

    def on_timer(self, timestamp: int, context: Any) -> Any:
        yield context.current_key, self.total.value()


TOTALS = "word STRING, total BIGINT"


@pytest.fixture
def sales(spark: SparkSession) -> DataFrame:
    """Half of them are of one word."""
    word = F.when(F.col("id") % 2 == 0, "hot").otherwise(F.concat(F.lit("w"), F.col("id") % 31))
    hour = F.timestamp_seconds(F.col("id") * 60)
    return spark.range(0, 4000, 1, 3).select(
        word.alias("word"),
        (F.col("id") % 5).alias("shop"),
        F.col("id").alias("total"),
        hour.alias("at"),
        F.window(hour, "1 hour").alias("hour"),
    )


class TestAggregate:
    @settings(max_examples=5)
    @given(
        table=tables(),
        names=st.lists(st.sampled_from(sorted(AGGREGATES)), min_size=1, unique=True),
        partitions=st.integers(1, 5),
        keys=st.sampled_from([("word",), ("number",), ("word", "number")]),
        table_size=st.sampled_from([0, 1 << 20]),
    )
    def test_every_combination_of_functions_has_the_same_results(
        self,
        spark: SparkSession,
        table: pa.Table,
        names: list[str],
        partitions: int,
        keys: tuple[str, ...],
        table_size: int,
    ) -> None:
        data = data_of(spark, table, partitions)
        rows = OperatorTransformation.bootstrap_with(data)
        aggregates = {name: AGGREGATES[name] for name in names}
        local = rows.local_key_by(*keys, table_size=table_size).aggregate(**aggregates)
        found = sorted_rows(local.key_by(*keys).rows())
        assert found == sorted_rows(rows.key_by(*keys).aggregate(**aggregates).rows())
        assert found == sorted_rows(in_spark(data, keys, names))

    def test_all_functions_at_once_have_the_types_of_spark(
        self, spark: SparkSession, sales: DataFrame
    ) -> None:
        data = sales.select(
            "word",
            F.col("total").alias("long"),
            F.col("total").cast("int").alias("int"),
            F.col("total").cast("double").alias("float"),
            F.col("total").cast("decimal(12,3)").alias("decimal"),
            F.col("total").cast("string").alias("text"),
            F.col("at").alias("time"),
        )
        rows = OperatorTransformation.bootstrap_with(data)
        found = rows.local_key_by("word").aggregate(**AGGREGATES).key_by("word").rows()
        expected = in_spark(data, ["word"], AGGREGATES)
        types = [field.dataType.simpleString() for field in expected.schema]
        assert [field.dataType.simpleString() for field in found.schema] == types
        assert sorted_rows(found) == sorted_rows(expected)

    def test_a_partition_sends_a_row_per_key(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        partial = rows.local_key_by("word").aggregate(count=Count(), total=Sum("total"))
        found = partial.accumulators().collect()
        assert Counter(row.word for row in found)["hot"] == 3
        assert len(found) == 3 * 32
        assert sum(row["count"] for row in found) == 4000

    def test_keys_of_several_columns_combine_under_some_of_them(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        partial = rows.local_key_by("word", "shop").aggregate(total=Sum("total"), n=Count())
        expected = sales.groupBy("shop").agg(F.sum("total"), F.count("*"))
        assert sorted_rows(partial.key_by("shop").rows()) == sorted_rows(expected)
        all_of_them = partial.key_by("word", "shop")
        assert sorted_rows(all_of_them.key_by("shop").rows()) == sorted_rows(expected)

    def test_windows_combine_by_key_and_window(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        local = rows.local_key_by("word").window("hour")
        partial = local.aggregate(total=Sum("total"), best=TopN(2, "total"))
        found = partial.key_by("word").rows()
        assert found.columns == ["word", "hour", "total", "best"]
        best = F.slice(F.sort_array(F.collect_list("total"), asc=False), 1, 2)
        expected = sales.groupBy("word", "hour").agg(F.sum("total"), best)
        assert sorted_rows(found) == sorted_rows(expected)

    def test_sessions_merge_as_they_do_in_flink(self, spark: SparkSession) -> None:
        data = spark.range(0, 600, 1, 5).selectExpr(
            "concat('user ', id % 3) AS user", "id * id % 7919 AS at", "id % 11 AS clicks"
        )
        sessions = assign_windows(data, "at", SessionWindows(9), "session")
        named = sessions.withColumnRenamed("user", "namespace")
        rows = OperatorTransformation.bootstrap_with(named).local_key_by("namespace")
        expected = dict[tuple[str, int, int], list[int]]()
        for user, visits in sorted_visits(data).items():
            for start, end, clicks in merged(visits, gap=9):
                expected[user, start, end] = clicks
        best: dict[str, Any] = {"best": TopN(2, "clicks")}
        for more in ({}, best):
            local = rows.window("session", is_merging=True)
            total: dict[str, Any] = {"total": Sum("clicks"), "mean": Avg("clicks")}
            found = local.aggregate(**total, **more).key_by("namespace").rows().collect()
            assert len(found) == len(expected)
            for row in found:
                clicks = expected[row.namespace, millis(row.session.start), millis(row.session.end)]
                assert row.total == sum(clicks)
                assert row.mean == pytest.approx(sum(clicks) / len(clicks))
                if more:
                    assert row.best == sorted(clicks, reverse=True)[:2]

    def test_windows_do_not_replace_a_column_of_the_key(self, sales: DataFrame) -> None:
        named = sales.withColumnRenamed("word", "window of the key")
        rows = OperatorTransformation.bootstrap_with(named).local_key_by("window of the key")
        local = rows.window("hour", is_merging=True).aggregate(total=Sum("total"))
        with pytest.raises(ValueError, match=r"a column 'window of the key'.*rename it"):
            local.key_by("window of the key").rows()

    def test_keys_are_equal_where_their_bytes_are(self, spark: SparkSession) -> None:
        data = spark.sql("SELECT x FROM VALUES (-0.0D), (0.0D), (0.0D) AS t(x)")
        rows = OperatorTransformation.bootstrap_with(data).local_key_by("x")
        found = rows.aggregate(n=Count()).key_by("x").rows().collect()
        assert sorted((math.copysign(1, row.x), row.n) for row in found) == [(-1, 1), (1, 2)]


def sorted_visits(data: DataFrame) -> dict[str, list[tuple[int, int]]]:
    visits = dict[str, list[tuple[int, int]]]()
    for row in data.orderBy("at").collect():
        visits.setdefault(row.user, []).append((row.at, row.clicks))
    return visits


def merged(visits: list[tuple[int, int]], gap: int) -> list[tuple[int, int, list[int]]]:
    """Sessions of sorted visits; one that begins where another ends goes on with it."""
    found: list[tuple[int, int, list[int]]] = []
    for at, clicks in visits:
        if found and at <= found[-1][1]:
            start, _, before = found.pop()
            found.append((start, at + gap, [*before, clicks]))
        else:
            found.append((at, at + gap, [clicks]))
    return found


def millis(at: Any) -> int:
    return at if isinstance(at, int) else round(at.timestamp() * 1000)


class TestReduce:
    def test_rows_are_reduced_to_one_with_and_without_local_aggregation(
        self, sales: DataFrame
    ) -> None:
        def latest(one: Any, other: Any) -> Any:
            row = one if one.total > other.total else other
            return {"word": row.word, "total": row.total, "shop": one.shop + other.shop}

        data = sales.select("word", "shop", "total")
        rows = OperatorTransformation.bootstrap_with(data)
        found = rows.local_key_by("word").reduce(latest).key_by("word").rows()
        assert found.schema.simpleString() == data.schema.simpleString()
        expected = data.groupBy("word").agg(F.sum("shop"), F.max("total"))
        assert sorted_rows(found) == sorted_rows(expected)
        assert sorted_rows(rows.key_by("word").reduce(latest).rows()) == sorted_rows(expected)

    def test_rows_of_windows_have_one_column_of_the_window(self, sales: DataFrame) -> None:
        def latest(one: Any, other: Any) -> Any:
            return one if one.total > other.total else other

        data = sales.select("word", "hour", "total")
        local = OperatorTransformation.bootstrap_with(data).local_key_by("word").window("hour")
        found = local.reduce(latest).key_by("word")
        assert found.rows().columns == ["word", "hour", "total"]
        expected = data.groupBy("word", "hour").agg(F.max("total"))
        assert sorted_rows(found.rows()) == sorted_rows(expected)
        assert found.window("hour").reduce(Types.LONG(), "total").plan()


class TestProcess:
    def test_a_function_has_the_state_of_a_key_in_its_partition(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales.select("word", "total"))
        partial = rows.local_key_by("word").process(Totals(), TOTALS)
        assert partial.where("word = 'hot'").count() == 3
        keyed = OperatorTransformation.bootstrap_with(partial).key_by("word")
        expected = sales.groupBy("word").agg(F.sum("total"))
        assert sorted_rows(keyed.process(Totals(), TOTALS)) == sorted_rows(expected)


class TestRefusals:
    def test_a_second_input(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        with pytest.raises(TypeError, match="local keyed rows can't be connected"):
            rows.local_key_by("word").connect(rows.key_by("word"))
        second: Any = rows.local_key_by("word")
        with pytest.raises(TypeError, match="local keyed rows can't be connected"):
            rows.key_by("word").connect(second)

    def test_a_key_that_was_not_part_of_the_local_one(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        partial = rows.local_key_by("word").aggregate(n=Count())
        with pytest.raises(ColumnNotFoundError, match="'shop' is none of the columns by which"):
            partial.key_by("shop")

    @pytest.mark.parametrize(
        ("aggregates", "message"),
        [({}, "there are no aggregates"), ({"word": Count()}, "'word' is a column of the key")],
    )
    def test_aggregates_without_a_column_of_their_own(
        self, sales: DataFrame, aggregates: dict[str, Any], message: str
    ) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        with pytest.raises(ValueError, match=message):
            rows.local_key_by("word").aggregate(**aggregates)

    def test_a_function_over_windows(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales).local_key_by("word").window("hour")
        with pytest.raises(ValueError, match="has the state of a key, not of a window"):
            rows.process(Totals(), TOTALS)

    def test_a_sum_that_no_bigint_holds(self, spark: SparkSession) -> None:
        data = spark.sql(f"SELECT 'a' AS word, {END_OF_TIME} AS long FROM range(3)")
        rows = OperatorTransformation.bootstrap_with(data)
        for aggregate in (Sum("long"), Avg("long")):
            found = rows.local_key_by("word").aggregate(x=aggregate).key_by("word").rows()
            with pytest.raises(PySparkException, match="a sum of column 'long' is too large"):
                found.collect()
        kept = rows.local_key_by("word").aggregate(x=Max("long")).key_by("word").rows()
        assert sorted_rows(kept) == [("a", END_OF_TIME)]

    def test_a_null_key(self, spark: SparkSession) -> None:
        rows = OperatorTransformation.bootstrap_with(spark.sql("SELECT STRING(NULL) AS word"))
        with pytest.raises(PySparkException, match="is null: leave such rows out"):
            rows.local_key_by("word").aggregate(n=Count()).key_by("word").rows().collect()

    def test_a_null_key_that_spark_groups_by_is_told_as_all_others_are(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        rows = OperatorTransformation.bootstrap_with(spark.sql("SELECT STRING(NULL) AS word"))
        counts = rows.key_by("word").aggregate(n=Count())
        with pytest.raises(NullKeyError, match="1 keys of 1 are null"):
            Savepoint.create(spark).with_operator("counts", counts).write(str(tmp_path / "a"))
        with pytest.raises(NullKeyError) as raised, typed_errors():
            rows.local_key_by("word").aggregate(n=Count()).key_by("word").rows().collect()
        assert str(raised.value).startswith("a key, or a column of it, is null: leave such rows")
        assert "\n" not in str(raised.value)

    def test_what_is_no_aggregate_and_what_is_no_name_of_a_column(self, sales: DataFrame) -> None:
        rows = OperatorTransformation.bootstrap_with(sales)
        column = sales.columns[0]
        with pytest.raises(TypeError, match=r"n='x' is a str, expected an aggregate, e.g. n=Sum"):
            rows.key_by(column).aggregate(n="x")  # type: ignore[arg-type]
        for wrong in (lambda row: row.k, sales[column]):
            with pytest.raises(TypeError, match=r"key_by takes names of columns, but was given a"):
                rows.key_by(wrong)  # type: ignore[arg-type]
