"""Savepoints made of DataFrames read back as what was put in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F
from support.bootstrapped import rows, written

from savepoint_formats.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    DuplicateKeyError,
    NullKeyError,
    NullValueError,
    UnstableHashError,
)
from savepoint_formats.key_groups.ranges import key_group
from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    PyFlink,
    ReducingStateDescriptor,
    Savepoint,
    TypeInformation,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.transformations.transformation import OneInputStateTransformation

TOTAL = ValueStateDescriptor("total", Types.DOUBLE())


@pytest.fixture
def accounts(spark: SparkSession) -> DataFrame:
    return spark.range(1000).select(
        F.col("id").alias("account"),
        (F.col("id") * 1.5).alias("total"),
        F.expr("if(id % 3 = 0, null, sequence(0, id % 3))").alias("memos"),
        F.expr("if(id % 2 = 0, map(concat('k', id), id, 'all', null), map())").alias("by_name"),
        F.struct(F.col("id").alias("f0"), (F.col("id") + 1).alias("f1")).alias("average"),
    )


class TestKeyedState:
    @pytest.mark.parametrize("max_parallelism", [128, 300])
    def test_of_every_kind_reads_back(
        self, spark: SparkSession, accounts: DataFrame, tmp_path: Path, max_parallelism: int
    ) -> None:
        keyed = (
            OperatorTransformation.bootstrap_with(accounts)
            .key_by("account")
            .with_state(TOTAL)
            .with_state(ListStateDescriptor("memos", Types.LONG()))
            .with_state(MapStateDescriptor("by_name", Types.STRING(), Types.LONG()))
            .with_state(ReducingStateDescriptor("most", Types.DOUBLE()), "total")
            .with_state(
                AggregatingStateDescriptor("average", Types.TUPLE([Types.LONG(), Types.LONG()]))
            )
        )
        path = str(tmp_path / "savepoint")
        writer = Savepoint.create(spark, max_parallelism=max_parallelism, parallelism=3)
        writer.with_operator("accounts", keyed).write(path)
        found = Savepoint.load(spark, path, uids=["accounts"]).read_keyed_state("accounts")
        expected = accounts.select(
            F.col("account").alias("key"),
            "total",
            F.col("memos"),
            F.when(F.size("by_name") > 0, F.col("by_name")).alias("by_name"),
            F.col("total").alias("most"),
            "average",
        )
        assert found.columns == expected.columns
        assert rows(found, "key") == rows(expected, "key")

    def test_each_key_is_in_its_key_group(
        self, spark: SparkSession, accounts: DataFrame, tmp_path: Path
    ) -> None:
        """The look-up of a key reads the key group of its hash code alone."""
        keyed = OperatorTransformation.bootstrap_with(accounts).key_by("account").with_state(TOTAL)
        path = str(tmp_path / "savepoint")
        Savepoint.create(spark).with_operator("accounts", keyed).write(path)
        savepoint = Savepoint.load(spark, path, uids=["accounts"])
        for key in (0, 17, 999):
            found = savepoint.read_keyed_state("accounts", keys=[key]).collect()
            assert [(row.key, row.total) for row in found] == [(key, key * 1.5)]

    def test_without_rows_there_are_states_all_the_same(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        data = spark.createDataFrame([], "key BIGINT, total DOUBLE")
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key").with_state(TOTAL)
        found = written(spark, keyed, tmp_path).read_keyed_state("operator")
        assert found.columns == ["key", "total"]
        assert rows(found, "key") == []

    def test_a_list_that_is_empty_and_a_null_are_no_state(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        data = spark.createDataFrame(
            [(1, [], None), (2, None, 2.0), (3, [7], None)],
            "key BIGINT, tags ARRAY<BIGINT>, total DOUBLE",
        )
        keyed = (
            OperatorTransformation.bootstrap_with(data)
            .key_by("key")
            .with_state(ListStateDescriptor("tags", Types.LONG()))
            .with_state(TOTAL)
        )
        found = written(spark, keyed, tmp_path).read_keyed_state("operator")
        assert rows(found, "key") == [
            {"key": 2, "tags": None, "total": 2.0},
            {"key": 3, "tags": [7], "total": None},
        ]

    def test_several_columns_are_a_tuple(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame(
            [("a", 1, 1.0), ("b", 2, 2.0)], "shop STRING, till INT, total DOUBLE"
        )
        keyed = OperatorTransformation.bootstrap_with(data).key_by("shop", "till").with_state(TOTAL)
        found = written(spark, keyed, tmp_path).read_keyed_state("operator")
        assert rows(found, "key") == [
            {"key": {"f0": "a", "f1": 1}, "total": 1.0},
            {"key": {"f0": "b", "f1": 2}, "total": 2.0},
        ]

    def test_several_columns_are_a_row(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame([("a", 1, 1.0)], "shop STRING, till INT, total DOUBLE")
        named = "['shop', 'till'], [Types.STRING(), Types.INT()]"
        row = Types.ROW_NAMED(["shop", "till"], [Types.STRING(), Types.INT()])
        types = {"own": row, "python": PyFlink.key(f"Types.ROW_NAMED({named})")}
        for folder, key_type in types.items():
            keyed = OperatorTransformation.bootstrap_with(data)
            keyed_rows = keyed.key_by("shop", "till", key_type=key_type).with_state(TOTAL)
            found = written(spark, keyed_rows, tmp_path / folder).read_keyed_state("operator")
            ((key, total),) = found.collect()
            assert (*(key[0] if folder == "python" else key)[:2], total) == ("a", 1, 1.0)

    @pytest.mark.parametrize("key_type", [Types.INT(), Types.TUPLE([Types.STRING()])], ids=str)
    def test_another_number_of_columns_is_refused(
        self, spark: SparkSession, tmp_path: Path, key_type: TypeInformation
    ) -> None:
        data = spark.createDataFrame([("a", 1, 1.0)], "shop STRING, till INT, total DOUBLE")
        keyed = OperatorTransformation.bootstrap_with(data).key_by(
            "shop", "till", key_type=key_type
        )
        with pytest.raises(ColumnTypeError, match=r"takes 1 columns: .*'shop', 'till'"):
            written(spark, keyed.with_state(TOTAL), tmp_path)

    def test_values_with_ttl_have_the_time_of_their_last_access(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        data = spark.createDataFrame(
            [(1, 2.5, [1, 2], {"a": 1}, 1_700_000_000_000), (2, None, None, None, 5)],
            "key INT, total DOUBLE, tags ARRAY<BIGINT>, counts MAP<STRING, BIGINT>, seen BIGINT",
        )
        keyed = (
            OperatorTransformation.bootstrap_with(data)
            .key_by("key")
            .with_state(TOTAL.with_ttl(), last_access="seen")
            .with_state(ListStateDescriptor("tags", Types.LONG()).with_ttl(), last_access="seen")
            .with_state(
                MapStateDescriptor("counts", Types.STRING(), Types.LONG()).with_ttl(),
                last_access="seen",
            )
        )
        savepoint = written(spark, keyed, tmp_path)
        (row,) = savepoint.read_keyed_state("operator", with_times=True).collect()
        seen = datetime.fromtimestamp(1_700_000_000, UTC).replace(tzinfo=None)
        assert (row.total.value, row.total.timestamp) == (2.5, seen)
        assert [(one.value, one.timestamp) for one in row.tags] == [(1, seen), (2, seen)]
        assert {key: (one.value, one.timestamp) for key, one in row.counts.items()} == {
            "a": (1, seen)
        }

    def test_timers_are_a_table_of_their_own(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame(
            [(1, [10, -5], 7), (2, None, None), (3, [], 8)],
            "key BIGINT, at ARRAY<BIGINT>, due BIGINT",
        )
        keyed = (
            OperatorTransformation.bootstrap_with(data)
            .key_by("key")
            .with_timers(event_time="at", processing_time="due")
        )
        found = written(spark, keyed, tmp_path).read_timers("operator")
        assert sorted(
            (row.key, row.timestamp, row.time_domain, row.service) for row in found.collect()
        ) == [
            (1, -5, "EVENT_TIME", "user-timers"),
            (1, 7, "PROCESSING_TIME", "user-timers"),
            (1, 10, "EVENT_TIME", "user-timers"),
            (3, 8, "PROCESSING_TIME", "user-timers"),
        ]

    def test_timers_alone_may_have_a_row_each(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame([(1, 10), (1, 20)], "key BIGINT, at BIGINT")
        keyed = (
            OperatorTransformation.bootstrap_with(data).key_by("key").with_timers(event_time="at")
        )
        found = written(spark, keyed, tmp_path).read_timers("operator")
        assert sorted(row.timestamp for row in found.collect()) == [10, 20]

    @pytest.mark.parametrize("is_alone", [True, False])
    def test_a_timer_is_there_once_however_often_it_is_given(
        self, spark: SparkSession, tmp_path: Path, is_alone: bool
    ) -> None:
        given = [(1, [5, 5, 7]), (2, [5])] + ([(1, [8, 7])] if is_alone else [])
        data = spark.createDataFrame(given, "key BIGINT, at ARRAY<BIGINT>").withColumn(
            "due", F.col("at")
        )
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
        if not is_alone:
            keyed = keyed.with_state(ValueStateDescriptor("key", Types.LONG()))
        keyed = keyed.with_timers(event_time="at", processing_time="due")
        found = written(spark, keyed, tmp_path).read_timers("operator").collect()
        expected = [(1, 5), (1, 7), (2, 5)] + ([(1, 8)] if is_alone else [])
        for domain in ("EVENT_TIME", "PROCESSING_TIME"):
            timers = [(row.key, row.timestamp) for row in found if row.time_domain == domain]
            assert sorted(timers) == sorted(expected)

    @pytest.mark.parametrize("name", ["count", "Text of key"])
    def test_keys_that_flink_tells_apart_stay_two(
        self, spark: SparkSession, tmp_path: Path, name: str
    ) -> None:
        given = [(key, 5, 1) for key in (0.0, -0.0, 0.0, float("nan"))]
        data = spark.createDataFrame(given, f"key DOUBLE, at BIGINT, `{name}` BIGINT")
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
        count = keyed.with_state(ValueStateDescriptor(name, Types.LONG()), merge="sum")
        path = str(tmp_path / "savepoint")
        writer = Savepoint.create(spark).with_operator("timers", keyed.with_timers(event_time="at"))
        writer.with_operator("counts", count).write(path)
        savepoint = Savepoint.load(spark, path, uids=["timers", "counts"])
        timers = savepoint.read_timers("timers").collect()
        assert sorted((str(row.key), row.timestamp) for row in timers) == [
            ("-0.0", 5),
            ("0.0", 5),
            ("nan", 5),
        ]
        counts = savepoint.read_keyed_state("counts").collect()
        assert sorted((str(row.key), row[name]) for row in counts) == [
            ("-0.0", 1),
            ("0.0", 2),
            ("nan", 1),
        ]

    def test_rows_of_a_key_are_merged_by_a_rule(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame(
            [(1, 2.0, [1]), (1, 3.0, [2]), (2, 4.0, [3])],
            "key BIGINT, total DOUBLE, tags ARRAY<BIGINT>",
        )
        keyed = (
            OperatorTransformation.bootstrap_with(data)
            .key_by("key")
            .with_state(TOTAL, merge="sum")
            .with_state(ListStateDescriptor("tags", Types.LONG()), merge="concat")
        )
        found = written(spark, keyed, tmp_path).read_keyed_state("operator").orderBy("key")
        assert [(row.key, row.total, sorted(row.tags)) for row in found.collect()] == [
            (1, 5.0, [1, 2]),
            (2, 4.0, [3]),
        ]

    def test_rows_of_sql_are_inserts_unless_they_say_what_they_are(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        data = spark.createDataFrame(
            [(1, ("a", 2)), (2, None)], "key BIGINT, row STRUCT<name: STRING, n: BIGINT>"
        ).withColumn("rows", F.array("row"))
        row = Types.ROW_DATA([("name", "STRING"), ("n", "BIGINT")])
        keyed = (
            OperatorTransformation.bootstrap_with(data.where("key = 1"))
            .key_by("key")
            .with_state(ValueStateDescriptor("row", row))
            .with_state(ListStateDescriptor("rows", row))
        )
        (found,) = written(spark, keyed, tmp_path).read_keyed_state("operator").collect()
        assert tuple(found.row) == ("a", 2, "+I")
        assert [tuple(one) for one in found.rows] == [("a", 2, "+I")]

    def test_a_hash_function_of_the_user_serves_keys_of_a_class_with_its_own_hash_code(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        data = spark.range(10).select(F.struct("id").alias("key"), F.col("id").alias("n"))
        pojo = Types.POJO("com.example.Account", {"id": Types.LONG()})

        def hash_code(keys: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
            return (np.asarray(keys.field("id")) * 31).astype(np.int32)

        state = ValueStateDescriptor("n", Types.LONG())
        begun = OperatorTransformation.bootstrap_with(data)
        keyed = begun.key_by("key", key_type=pojo, hash_code=hash_code).with_state(state)
        found = written(spark, keyed, tmp_path).read_keyed_state("operator", with_key_group=True)
        assert [(row.key.id, row.key_group, row.n) for row in found.orderBy("n").collect()] == [
            (number, key_group(number * 31, 128), number) for number in range(10)
        ]


class TestWhatIsRefused:
    @pytest.fixture
    def begun(self, accounts: DataFrame) -> OneInputStateTransformation:
        return OperatorTransformation.bootstrap_with(accounts)

    def test_a_key_with_two_rows_is_named(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame([(1, 1.0), (5, 2.0), (5, 3.0)], "key BIGINT, total DOUBLE")
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key").with_state(TOTAL)
        with pytest.raises(DuplicateKeyError, match=r"has two rows: e\.g\. key 5; make one row"):
            written(spark, keyed, tmp_path)
        assert not list((tmp_path / "savepoint").iterdir())

    def test_a_null_key(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.createDataFrame([(1, 1.0), (None, 2.0)], "key BIGINT, total DOUBLE")
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key").with_state(TOTAL)
        with pytest.raises(NullKeyError, match=r"1 keys of [12] are null"):
            written(spark, keyed, tmp_path)

    def test_a_null_where_the_serializer_knows_none(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        data = spark.createDataFrame([(1, [1, None])], "key BIGINT, tags ARRAY<BIGINT>")
        keyed = (
            OperatorTransformation.bootstrap_with(data)
            .key_by("key")
            .with_state(ListStateDescriptor("tags", Types.LONG()))
        )
        with pytest.raises(NullValueError, match="in state 'tags'"):
            written(spark, keyed, tmp_path)

    def test_a_pojo_without_a_hash_function(self, spark: SparkSession, tmp_path: Path) -> None:
        data = spark.range(1).select(F.struct("id").alias("key"), F.lit(1.0).alias("total"))
        pojo = Types.POJO("com.example.Account", {"id": Types.LONG()})
        begun = OperatorTransformation.bootstrap_with(data)
        with pytest.raises(UnstableHashError, match=r"com\.example\.Account"):
            written(spark, begun.key_by("key", key_type=pojo).with_state(TOTAL), tmp_path)

    def test_a_column_that_is_not_there(self, begun: OneInputStateTransformation) -> None:
        with pytest.raises(ColumnNotFoundError, match="no column 'sum'; it has: account, total"):
            begun.key_by("account").with_state(TOTAL, "sum")

    def test_a_column_of_another_type(self, begun: OneInputStateTransformation) -> None:
        with pytest.raises(
            ColumnTypeError, match="'memos' is array<bigint>, but state 'total' takes double"
        ):
            begun.key_by("account").with_state(TOTAL, "memos")

    def test_a_key_of_several_possible_types(self, begun: OneInputStateTransformation) -> None:
        with pytest.raises(ColumnTypeError, match="add key_type=Types"):
            begun.key_by("memos")

    def test_a_descriptor_without_a_type(self, begun: OneInputStateTransformation) -> None:
        with pytest.raises(ValueError, match="has no value_type, which writing needs"):
            begun.key_by("account").with_state(ValueStateDescriptor("total"))

    def test_a_state_that_was_added_already(self, begun: OneInputStateTransformation) -> None:
        with pytest.raises(ValueError, match="'total' was added already"):
            begun.key_by("account").with_state(TOTAL).with_state(TOTAL)

    def test_a_state_without_a_rule_beside_one_with(
        self, begun: OneInputStateTransformation
    ) -> None:
        keyed = begun.key_by("account").with_state(TOTAL, merge="sum")
        most = ReducingStateDescriptor("most", Types.DOUBLE())
        with pytest.raises(ValueError, match="'memos' has no rule for merging"):
            keyed.with_state(ListStateDescriptor("memos", Types.LONG())).plan()
        with pytest.raises(ValueError, match="expected one of sum, min, max, concat"):
            keyed.with_state(most, "total", merge="avg")

    def test_a_time_of_last_access_without_ttl(self, begun: OneInputStateTransformation) -> None:
        with pytest.raises(ValueError, match="has no time to live"):
            begun.key_by("account").with_state(TOTAL, last_access="account")
