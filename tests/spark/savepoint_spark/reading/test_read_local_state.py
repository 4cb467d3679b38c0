"""Local keyed state as tables, as what is told of it, and as a function sees it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.local_counts import KEY_GROUPS, SUBTASKS, local_state, open_local

from savepoint_formats.errors import ColumnTypeError, StateNotFoundError
from savepoint_spark.reading.functions import KeyedStateReaderFunction
from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Savepoint,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

TABLE = "counts.keyed_state"


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """Two subtasks, of which one has two instances of one word, and of another but one."""
    folder = tmp_path_factory.mktemp("local")
    rows = spark.sql(
        """
        SELECT subtask, word, 10L + subtask AS count, named_struct('f0', 1L, 'f1', count) AS mean,
            array(count) AS ids, map('x', count, concat('y', subtask), 1L) AS by_subtask,
            subtask AS last
        FROM VALUES (0, 'a', 5L), (1, 'a', 6L), (2, 'a', 7L), (2, 'b', 8L) AS (subtask, word, count)
        """
    )
    writer = Savepoint.create(spark, parallelism=SUBTASKS, max_parallelism=KEY_GROUPS)
    writer.with_operator("counts", local_state(rows)).write(str(folder / "before"))
    alone = open_local(spark, folder / "before").rescale(parallelism=1)
    alone.write(str(folder / "savepoint"))
    return open_local(spark, folder / "savepoint")


def of_words(frame: Any, column: str) -> list[Any]:
    return [row[column] for row in frame.orderBy("key").collect()]


def test_values_are_arrays_of_their_instances(local: SparkSavepoint) -> None:
    found = local.read_local_state("counts")
    assert of_words(found, "count") == [[10, 11, 12], [12]]
    assert of_words(found, "ids") == [[5, 6, 7], [8]]
    assert of_words(found, "by_subtask")[0] == {"x": [5, 6, 7], "y0": [1], "y1": [1], "y2": [1]}


def test_rules_functions_and_expressions_merge_them(local: SparkSavepoint) -> None:
    rules = {"count": "sum", "by_subtask": "sum", "mean": "sum"}
    found = local.read_local_state("counts", rules)
    assert of_words(found, "count") == [33, 12]
    assert of_words(found, "by_subtask")[0] == {"x": 18, "y0": 1, "y1": 1, "y2": 1}
    assert [tuple(one) for one in of_words(found, "mean")] == [(3, 18), (1, 8)]
    assert of_words(found, "last") == [[0, 1, 2], [2]]
    merge: dict[str, Any] = {
        "count": operator.mul,
        "last": F.array_min("last"),
        "by_subtask": "max",
    }
    found = local.read_local_state("counts", merge, with_key_group=True)
    assert of_words(found, "count") == [1320, 12]
    assert of_words(found, "last") == [0, 2]
    assert of_words(found, "by_subtask")[0]["x"] == 7
    assert "key_group" in found.columns


def test_a_condition_is_about_what_rules_have_merged(local: SparkSavepoint) -> None:
    found = local.read_local_state("counts", {"count": "sum"}, where="count > 12")
    assert of_words(found, "count") == [33]
    with pytest.raises(ValueError, match="where goes with rules that merge, not with functions"):
        local.read_local_state("counts", {"count": operator.mul}, where="count > 12")


def test_flat_views_show_instances_or_what_they_make(local: SparkSavepoint) -> None:
    found = local.read_local_state("counts", {"by_subtask": "sum"}, flat="by_subtask")
    entries = {(row.key, row.map_key): row.map_value for row in found.collect()}
    assert entries["a", "x"] == 18
    numbered = local.read_local_state("counts", flat="count", keys=["a"]).collect()
    assert [(row.list_index, row.list_value) for row in numbered] == [(0, 10), (1, 11), (2, 12)]


def test_the_data_source_merges_by_rules_and_shows_the_scope(
    spark: SparkSession, local: SparkSavepoint
) -> None:
    reader = spark.read.format("savepoint").option("uids", "counts").option("withScope", "true")
    found = reader.option("merge", '{"count": "sum"}').option("keys", '["a"]').load(local.path)
    (row,) = found.collect()
    assert (row.subtask, row["count"], row.scope) == (0, 33, "local")
    assert found.columns[-1] == "scope"


def test_ordinary_state_has_a_scope_where_it_is_asked_for(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "currency-2.2.1-rocksdb-native"))
    asked = savepoint.scan("summarize.keyed_state", with_scope=True)
    assert asked.schema.names[-1] == "scope"
    batch = next(asked.read(asked.splits()[0]))
    assert set(batch.column("scope").to_pylist()) == {"keyed"}
    assert "scope" not in savepoint.scan("summarize.keyed_state").schema.names
    with pytest.raises(StateNotFoundError, match="no local keyed state"):
        _ = savepoint.scan("summarize.keyed_state", merge={"total": "sum"}).schema


def test_what_is_told_of_the_savepoint_says_local(local: SparkSavepoint) -> None:
    kinds = {one.state: one.kind for one in local.describe().states()}
    assert kinds == {
        "count": "local reducing",
        "mean": "local aggregating",
        "ids": "local list",
        "by_subtask": "local map",
        "last": "local value",
    }
    (table,) = local.tables()
    assert "local reducing" in table.kinds
    types = {one.column: one.type for one in local.schema()}
    assert types["subtask"] == "INT"
    assert types["count"] == types["ids"] == "ARRAY<BIGINT>"


def test_sql_sees_the_subtask(spark: SparkSession, local: SparkSavepoint) -> None:
    local.register()
    found = spark.sql("SELECT subtask, sum(size(count)) AS n FROM counts.keyed_state GROUP BY 1")
    assert [(row.subtask, row.n) for row in found.collect()] == [(0, 4)]


def test_a_rule_that_cannot_merge_values_of_the_type_is_refused(local: SparkSavepoint) -> None:
    with pytest.raises(ColumnTypeError, match="have no concat"):
        local.read_local_state("counts", {"count": "concat"})
    with pytest.raises(ValueError, match="'ids' are appended"):
        local.read_local_state("counts", {"ids": "concat"})


def reader(*, merges: bool) -> KeyedStateReaderFunction:
    """A function sent to workers as a whole because they can't import this module."""

    class Mean:
        def merge(self, one: Any, other: Any) -> Any:
            # The next instance is merged with what this gives, as a named tuple again.
            return {"f0": one.f0 + other.f0, "f1": one.f1 + other.f1}

    class Totals(KeyedStateReaderFunction):
        def open(self, context: Any) -> None:
            add = operator.add if merges else None
            self.count = context.get_reducing_state(
                ReducingStateDescriptor("count", reduce_function=add)
            )
            function: Any = Mean() if merges else None
            self.mean = context.get_aggregating_state(
                AggregatingStateDescriptor("mean", aggregate_function=function)
            )
            self.ids = context.get_list_state(ListStateDescriptor("ids"))
            self.by_subtask = context.get_map_state(
                MapStateDescriptor("by_subtask", merge_function=add)
            )
            self.last = context.get_state(ValueStateDescriptor("last", merge_function=max))

        def read_key(self, key: Any, context: Any) -> Any:
            mean = self.mean.get() if merges else None
            count = self.count.get() if merges or key == "b" else None
            yield (
                key,
                count,
                mean and mean["f1"],
                self.ids.get(),
                self.by_subtask.get("x") if merges else None,
                self.last.value(),
            )

    return Totals()


SCHEMA = "key STRING, count BIGINT, mean BIGINT, ids ARRAY<BIGINT>, x BIGINT, last INT"


def test_a_function_sees_one_value_that_is_merged_when_it_asks(local: SparkSavepoint) -> None:
    found = local.read_keyed_state("counts", reader(merges=True), schema=SCHEMA)
    assert sorted(map(tuple, found.collect())) == [
        ("a", 33, 18, [5, 6, 7], 18, 2),
        ("b", 12, 8, [8], 8, 2),
    ]


def test_a_function_that_asks_for_no_instances_needs_nothing_to_merge_them(
    local: SparkSavepoint,
) -> None:
    found = local.read_keyed_state("counts", reader(merges=False), schema=SCHEMA)
    assert sorted((row.key, row["count"]) for row in found.collect()) == [("a", None), ("b", 12)]


def test_a_function_that_asks_for_them_without_is_told_what_to_give(local: SparkSavepoint) -> None:
    class Asks(KeyedStateReaderFunction):
        def open(self, context: Any) -> None:
            self.last = context.get_state(ValueStateDescriptor("last"))

        def read_key(self, key: Any, context: Any) -> Any:
            yield key, self.last.value()

    found = local.read_keyed_state("counts", Asks(), schema="key STRING, last INT", keys=["a"])
    with pytest.raises(Exception, match=r"'last' is local and has 3 instances.*merge_function"):
        found.collect()
