"""Local keyed state over other numbers of subtasks and key groups: nothing is lost, or twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.local_counts import KEY_GROUPS, MERGE, merged_counts, open_local, write_local

from savepoint_formats.errors import (
    FunctionResultError,
    MergeError,
    SchemaChangeError,
    StateNotFoundError,
)
from savepoint_formats.state_files.header import HeaderBytes
from savepoint_formats.tables.catalog import base_handles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.savepoint import Savepoint
    from state_processor.savepoint.spark_savepoint import SparkSavepoint
    from state_processor.savepoint.writer import SavepointWriter

    Write = Callable[[SavepointWriter], SparkSavepoint]


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    return write_local(spark, tmp_path_factory.mktemp("local") / "savepoint")


@pytest.fixture
def write(spark: SparkSession, tmp_path: Path) -> Write:
    """Writes a savepoint, each time to another folder, and opens it."""

    def written(writer: SavepointWriter) -> SparkSavepoint:
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        writer.write(str(out))
        return open_local(spark, out)

    return written


def keyed_rows(savepoint: SparkSavepoint) -> list[dict[str, Any]]:
    rows = savepoint.read_keyed_state("counts").orderBy("key").collect()
    return [row.asDict(recursive=True) for row in rows]


def places(savepoint: SparkSavepoint) -> set[tuple[int, int, str]]:
    """The subtask and the key group of each instance, and its key."""
    rows = savepoint.read_local_state("counts", with_key_group=True).collect()
    return {(row.subtask, row.key_group, row.key) for row in rows}


def test_merged_results_are_the_same_before_and_after_each_of_3_to_2_to_5_to_1(
    local: SparkSavepoint, write: Write
) -> None:
    savepoint = local
    for parallelism in (2, 5, 1):
        savepoint = write(savepoint.rescale(parallelism=parallelism))
        assert keyed_rows(write(savepoint.merge_local("counts", MERGE))) == merged_counts()


@pytest.mark.parametrize("shares", [(18, 18), (8, 7, 7, 7, 7), (36,)])
def test_local_key_groups_are_spread_in_order_and_evenly(
    local: SparkSavepoint, write: Write, shares: tuple[int, ...]
) -> None:
    owners = [new for new, share in enumerate(shares) for _ in range(share)]
    expected = {(owners[old * KEY_GROUPS + group], group, key) for old, group, key in places(local)}
    assert places(write(local.rescale(parallelism=len(shares)))) == expected


def test_instances_that_come_together_are_one_row_in_the_order_of_their_subtasks(
    local: SparkSavepoint, write: Write
) -> None:
    alone = write(local.rescale(parallelism=1))
    (row,) = alone.read_local_state("counts", keys=["Wörd 5"]).collect()
    assert row.subtask == 0
    assert row["count"] == [5, 105, 205]
    assert row.ids == [0, 5, 1, 5, 2, 5]
    assert row.by_subtask == {"all": [5, 5, 5], "of 0": [0], "of 1": [1], "of 2": [2]}


@pytest.mark.parametrize("parallelism", [None, 5])
def test_another_number_of_key_groups_hashes_keys_inside_their_subtasks(
    local: SparkSavepoint, write: Write, parallelism: int | None
) -> None:
    wider = write(local.rescale(max_parallelism=300, parallelism=parallelism))
    if parallelism is None:
        assert {(old, key) for old, _, key in places(wider)} == {
            (old, key) for old, _, key in places(local)
        }
    found = wider.read_keyed_state("counts", keys=["Wörd 5"])
    assert found.count() == wider.read_keyed_state("counts").where("key = 'Wörd 5'").count() > 0
    assert keyed_rows(write(wider.merge_local("counts", MERGE))) == merged_counts()


def test_a_copy_keeps_the_marks_byte_for_byte(local: SparkSavepoint, write: Write) -> None:
    def headers(savepoint: Savepoint) -> list[bytes]:
        operator = savepoint.operator("counts")
        handles = (base_handles(one.managed_keyed_state) for one in operator.record.subtasks)
        return [HeaderBytes.of_keyed_state(operator.directory, one).data for (one,) in handles]

    copied = write(local.writer())
    assert headers(copied) == headers(local)
    assert b"KEY_SCOPE" in headers(copied)[0]
    assert headers(write(local.rescale(parallelism=2)))[0] == headers(local)[0]


def test_what_passes_through_a_change_stays_local_in_its_subtask(
    local: SparkSavepoint, write: Write
) -> None:
    smaller = write(local.remove_state("counts", "ids").rename_state("counts", "count", "seen"))
    assert smaller.read_keyed_state("counts").columns[:3] == ["subtask", "key", "seen"]
    assert places(smaller) == places(local)
    without = write(local.delete_keys("counts", "key = 'Wörd 5'"))
    assert places(without) == {one for one in places(local) if one[2] != "Wörd 5"}


def test_names_may_change_where_local_state_is_merged(local: SparkSavepoint, write: Write) -> None:
    merged = write(local.merge_local("counts", MERGE).rename_state("counts", "count", "seen"))
    (row,) = merged.read_keyed_state("counts", keys=["Wörd 5"]).collect()
    assert row.seen == 315


def test_other_values_of_local_state_are_refused(
    spark: SparkSession, local: SparkSavepoint
) -> None:
    rows = spark.createDataFrame([("a", 1)], "key STRING, count BIGINT")
    with pytest.raises(SchemaChangeError, match="merge_local first"):
        local.with_state("counts", "count", rows)
    with pytest.raises(SchemaChangeError, match="merge_local first"):
        local.update_state("counts", "count", "array(0L)")


def test_functions_merge_what_rules_do_not(local: SparkSavepoint, write: Write) -> None:
    class Mean:
        """A job's aggregate function."""

        def merge(self, one: Any, other: Any) -> Any:
            # The next instance is merged with what this gives, as a named tuple again.
            return {"f0": one.f0 + other.f0, "f1": one.f1 + other.f1}

    functions: dict[str, Any] = {
        "mean": Mean(),
        "by_subtask": lambda one, other: one + other,
        "last": max,
    }
    merged = write(local.merge_local("counts", {"count": "sum", **functions}))
    assert keyed_rows(merged) == merged_counts()


@pytest.mark.parametrize(
    ("merge", "error", "message"),
    [
        ({**MERGE, "ids": "concat"}, ValueError, "list state 'ids' are appended"),
        ({**MERGE, "total": "sum"}, StateNotFoundError, "no local state 'total'; it has: count"),
        ({"count": "sum"}, MergeError, "aggregating state 'mean' of counts"),
        ({**MERGE, "count": "average"}, ValueError, "expected one of sum, min, max, concat"),
        ({**MERGE, "count": 7}, TypeError, "merge of state 'count' is 7"),
    ],
)
def test_what_does_not_say_how_to_merge_is_refused_at_once(
    local: SparkSavepoint, merge: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        local.merge_local("counts", merge)


def test_a_function_that_gives_what_is_no_value_is_told_by_its_state(
    local: SparkSavepoint, tmp_path: Path
) -> None:
    wrong = local.merge_local("counts", {**MERGE, "count": lambda *_: "many"})
    with pytest.raises(MergeError, match="merge function of state 'count'"):
        wrong.write(str(tmp_path / "out"))
    no_pair = local.merge_local("counts", {**MERGE, "mean": lambda *_: (1,)})
    with pytest.raises(FunctionResultError, match=r"a function gave \(1,\) as state 'mean'"):
        no_pair.write(str(tmp_path / "out"))
    assert not (tmp_path / "out" / "_metadata").exists()


def test_ordinary_state_has_nothing_to_merge(local: SparkSavepoint, write: Write) -> None:
    merged = write(local.merge_local("counts", MERGE))
    with pytest.raises(StateNotFoundError, match="has no local keyed state"):
        merged.merge_local("counts", {"count": "sum"})
    with pytest.raises(StateNotFoundError, match="has no local keyed state"):
        merged.read_local_state("counts")
