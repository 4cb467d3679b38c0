"""States get other names, values, fields and keys; what is not named stays as it was."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.changed_savepoints import load, rows, tables, written
from support.sample_rows import Sample

from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

NATIVE = Sample("states-2.2.1-rocksdb-native")
STATES = [NATIVE, Sample("states-1.20.5-hashmap-canonical"), Sample("states-1.20.5-hashmap-native")]
SQL = Sample("sql-2.2.1-rocksdb-native")
WINDOWS = Sample("windows-1.20.5-hashmap-canonical")
CURRENCY = Sample("currency-2.2.1-hashmap-native")
CUSTOMER = "stateful.keyed_state"


def customers(savepoint: SparkSavepoint, *expressions: str) -> list[str]:
    return rows(savepoint.read_keyed_state("stateful").selectExpr("key", *expressions))


@pytest.mark.parametrize("sample", STATES, ids=str)
class TestNames:
    def test_of_classes_change_in_headers(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        renamed = before.rename_class("shop.Customer", "a.Client").rename_class(
            "shop.TransactionKind", "a.Kind", uid="stateful"
        )
        after = written(spark, renamed, sample, tmp_path)
        assert tables(after) == tables(before)
        text = str(StoredTypes.of(after.operator("stateful")).states)
        assert "a.Client" in text
        assert "a.Kind" in text
        assert "shop.Customer" not in text
        assert "shop.Address" in text

    def test_of_a_state_changes_in_headers(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        swapped = (
            before.rename_state("stateful", "last_id", "x")
            .rename_state("stateful", "cents_sum", "last_id")
            .rename_state("stateful", "x", "cents_sum")
            .rename_state("buffer", "elements", "waiting")
        )
        after = written(spark, swapped, sample, tmp_path)
        assert customers(after, "last_id", "cents_sum") == customers(
            before, "cents_sum last_id", "last_id cents_sum"
        )
        assert rows(after.read_list_state("buffer", "waiting")) == rows(
            before.read_list_state("buffer", "elements")
        )
        changed = (CUSTOMER, "buffer.elements")
        assert tables(after, *changed, "buffer.waiting") == tables(before, *changed)

    def test_of_a_field_change_with_the_order_of_fields(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        renamed = before.rename_field("stateful", "customer", "name", "aName").rename_field(
            "stateful", "customer", "address.zip", "postcode"
        )
        after = written(spark, renamed, sample, tmp_path)
        found = after.read_keyed_state("stateful").select("customer.*")
        assert found.columns[:2] == ["aName", "address"]
        assert customers(after, "customer.aName n", "customer.address.postcode z") == customers(
            before, "customer.name n", "customer.address.zip z"
        )
        assert tables(after, CUSTOMER) == tables(before, CUSTOMER)


class TestFields:
    def test_of_a_pojo_are_added_dropped_and_widened(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        before = load(spark, NATIVE)
        changed = (
            before.add_field("stateful", "customer", "newest", Types.LONG(), F.col("last_id"))
            .add_field("stateful", "customer", "note", Types.STRING())
            .add_field("stateful", "customer", "address.country", Types.STRING(), "DE")
            .widen_field("stateful", "customer", "purchases", Types.LONG())
            .drop_field("stateful", "customer", "tags")
        )
        after = written(spark, changed, NATIVE, tmp_path)
        is_there = "customer IS NOT NULL"
        here = f"IF({is_there}, last_id, NULL) newest"
        where = "IF(customer.address IS NOT NULL, 'DE', NULL) country"
        same = ("customer.name", "customer.age", "CAST(customer.purchases AS BIGINT) purchases")
        assert customers(
            after, *same, "customer.newest", "customer.note", "customer.address.country"
        ) == customers(before, *same, here, "CAST(NULL AS STRING) note", where)
        kind = after.read_keyed_state("stateful").select("customer").schema.simpleString()
        assert kind == (
            "struct<customer:struct<address:struct<city:string,country:string,zip:int>,"
            "adult:boolean,age:int,lastAmount:double,name:string,newest:bigint,note:string,"
            "purchases:bigint>>"
        )
        kept = before.read_keyed_state("stateful").drop("customer")
        assert rows(after.read_keyed_state("stateful").select(kept.columns)) == rows(kept)
        assert tables(after, CUSTOMER) == tables(before, CUSTOMER)

    def test_of_a_row_of_sql_are_added_dropped_and_widened(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        before, uid = load(spark, SQL), "13_deduplicate"
        changed = (
            before.add_field(uid, "deduplicate-state", "f4", "DECIMAL(10, 2)", Decimal("1.00"))
            .widen_field(uid, "deduplicate-state", "f1", "BIGINT NOT NULL")
            .drop_field(uid, "deduplicate-state", "f2")
        )
        after = written(spark, changed, SQL, tmp_path)
        name = "`deduplicate-state`"
        found = after.read_keyed_state(uid).selectExpr("key", f"{name}.*")
        expected = before.read_keyed_state(uid).selectExpr(
            "key",
            f"{name}.f0",
            f"CAST({name}.f1 AS BIGINT) f1",
            f"{name}.f3 f2",
            "CAST(1 AS DECIMAL(10, 2)) f3",
            f"{name}.`$row_kind`",
        )
        assert rows(found) == rows(expected)
        assert found.schema["f1"].dataType == expected.schema["f1"].dataType
        changed_table = f"{uid}.keyed_state"
        assert tables(after, changed_table) == tables(before, changed_table)

    def test_of_lists_maps_and_values_with_a_time_to_live(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        order = Types.POJO("a.Order", {"cents": Types.INT(), "item": Types.STRING()})
        data = spark.sql(
            "SELECT 1 key, array(named_struct('cents', 5, 'item', 'tea')) orders,"
            " map('x', named_struct('cents', 6, 'item', null), 'y', null) by_name,"
            " named_struct('cents', 7, 'item', 'egg') last, 12345L used"
        )
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.INT())
        keyed = keyed.with_state(ValueStateDescriptor("orders", Types.LIST(order)))
        keyed = keyed.with_state(ValueStateDescriptor("by_name", Types.MAP(Types.STRING(), order)))
        last = ValueStateDescriptor("last", order).with_ttl()
        keyed = keyed.with_state(last, last_access="used")
        Savepoint.create(spark).with_operator("shop", keyed).write(str(tmp_path / "first"))
        writer = Savepoint.open(str(tmp_path / "first"), uids=["shop"]).writer()
        for state in ("orders", "by_name", "last"):
            writer = writer.widen_field("shop", state, "cents", Types.LONG())
            writer = writer.rename_field("shop", state, "item", "article")
        writer.plan(str(tmp_path / "second"), check=True)
        writer = writer.with_session(spark)
        for state in ("orders", "by_name", "last"):
            writer = writer.add_field("shop", state, "open", Types.BOOLEAN(), True)
        writer.write(str(tmp_path / "second"))
        after = Savepoint.load(spark, str(tmp_path / "second"), uids=["shop"])
        (row,) = after.read_keyed_state("shop", with_times=True).collect()
        found = row.asDict(recursive=True)

        def ordered(article: str | None, cents: int) -> dict[str, Any]:
            return {"article": article, "cents": cents, "open": True}

        assert found["orders"] == [ordered("tea", 5)]
        assert found["by_name"] == {"x": ordered(None, 6), "y": None}
        assert found["last"]["value"] == ordered("egg", 7)
        assert found["last"]["timestamp"].timestamp() == 12.345


class TestValues:
    def test_are_computed_from_all_states_of_a_key(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        before = load(spark, NATIVE)
        changed = before.update_state(
            "stateful", "cents_sum", F.col("cents_sum") + F.col("last_id"), where="last_id > 100"
        ).update_state("stateful", "last_id", "IF(cents_sum % 2 = 0, NULL, last_id)")
        after = written(spark, changed, NATIVE, tmp_path)
        new_sum = "IF(last_id > 100, cents_sum + last_id, cents_sum)"
        expected = customers(
            before, f"{new_sum} cents_sum", f"IF({new_sum} % 2 = 0, NULL, last_id) last_id"
        )
        assert customers(after, "cents_sum", "last_id") == expected
        same = before.read_keyed_state("stateful").drop("cents_sum", "last_id").columns
        assert customers(after, *same) == customers(before, *same)

    def test_of_windows_and_of_broadcast_state(self, spark: SparkSession, tmp_path: Path) -> None:
        before = load(spark, WINDOWS)
        uid, name = "tumbling_aggregate", "`window-contents`"
        doubled = f"named_struct('f0', {name}.f0 * 2, 'f1', {name}.f1)"
        after = written(
            spark, before.update_state(uid, "window-contents", doubled), WINDOWS, tmp_path
        )
        expected = before.read_window_state(uid).selectExpr("key", "namespace", f"{doubled} {name}")
        assert rows(after.read_window_state(uid)) == rows(expected)
        currency = load(spark, CURRENCY)
        rates = currency.update_state("currency_converter", "rates", F.col("value") / 2)
        halved = written(spark, rates, CURRENCY, tmp_path / "rates")
        expected = currency.read_broadcast_state("currency_converter", "rates")
        assert rows(halved.read_broadcast_state("currency_converter", "rates")) == rows(
            expected.withColumn("value", F.col("value") / 2)
        )

    def test_with_a_time_to_live_keep_their_time(self, spark: SparkSession, tmp_path: Path) -> None:
        before = load(spark, NATIVE)
        changed = before.update_state("stateful", "recent_memo", F.upper("recent_memo"))
        after = written(spark, changed, NATIVE, tmp_path)
        timed = before.read_keyed_state("stateful", with_times=True, columns=["recent_memo"])
        expected = timed.selectExpr(
            "IF(recent_memo IS NULL, NULL, named_struct('timestamp', recent_memo.timestamp,"
            " 'value', upper(recent_memo.value))) recent_memo"
        )
        found = after.read_keyed_state("stateful", with_times=True, columns=["recent_memo"])
        assert rows(found) == rows(expected)


class TestKeys:
    @pytest.mark.parametrize("sample", STATES, ids=str)
    def test_are_deleted_with_all_that_they_have(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        after = written(
            spark, before.delete_keys("stateful", F.col("last_id") % 2 == 0), sample, tmp_path
        )
        gone = before.read_keyed_state("stateful").where("last_id % 2 = 0").select("key")
        assert gone.count()
        for table in (CUSTOMER, "stateful.timers"):
            kept = before.read_table(table).join(gone, "key", "left_anti")
            assert rows(after.read_table(table).select(kept.columns)) == rows(kept)

    def test_are_chosen_by_what_was_changed_before(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        before = load(spark, CURRENCY)
        totals = before.read_keyed_state("summarize")
        new = totals.select("key", F.lit(1.0).alias("total"))
        changed = (
            before.update_state("summarize", "count", F.lit(-1), where="key % 2 = 0")
            .delete_keys("summarize", "count = -1")
            .update_state("summarize", "count", F.col("count") + 1)
            .with_state("summarize", "total", new.where("key % 2 <> 0"))
        )
        after = written(spark, changed, CURRENCY, tmp_path)
        expected = totals.where("key % 2 <> 0").selectExpr("key", "1.0D total", "count + 1 count")
        found = after.read_keyed_state("summarize").select("key", "total", "count")
        assert rows(found) == rows(expected)

    def test_of_windows_and_of_rows_of_sql_are_deleted(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        before, uid = load(spark, SQL), "8_window-aggregate"
        after = written(spark, before.delete_keys(uid, "key.f0 = 1"), SQL, tmp_path)
        for table in (f"{uid}.window_state", f"{uid}.timers"):
            kept = before.read_table(table).where("key.f0 <> 1")
            assert rows(after.read_table(table)) == rows(kept)
