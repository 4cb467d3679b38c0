"""Lists of operators keep each element once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.commands import run

from savepoint_extensions.lifecycle.distinct_elements import element_counts
from savepoint_formats.errors import SchemaChangeError, StateNotFoundError
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

UID = "operator"
NAMES = ["a"] * 60 + ["b"] * 3 + ["", ""] + ["c"]


@pytest.fixture(scope="module")
def doubled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """A union list and a list whose elements repeat within and across two subtasks, and keyed state."""
    frame = spark.createDataFrame([(name,) for name in NAMES], "value STRING").repartition(3)
    data = OperatorTransformation.bootstrap_with(
        spark.sql("SELECT id AS key, id AS count, array(1, 1) AS several FROM range(5)")
    )
    keyed = data.key_by("key", key_type=Types.LONG())
    keyed = keyed.with_state(ValueStateDescriptor("count", Types.LONG()))
    keyed = keyed.with_state(ListStateDescriptor("several", Types.INT()))
    bootstrap = OperatorTransformation.bootstrap_with(frame)
    union = bootstrap.union_state(ListStateDescriptor("union", Types.STRING()), "value")
    lists = bootstrap.list_state(ListStateDescriptor("list", Types.STRING()), "value")
    folder = tmp_path_factory.mktemp("doubled")
    path = str(folder / "savepoint")
    writer = Savepoint.create(spark, parallelism=2).with_operator(UID, keyed, union, lists)
    writer.write(path)
    return Savepoint.load(spark, path, uids=[UID])


def elements(savepoint: Savepoint, state: str) -> Counter[str]:
    rows = savepoint.scan(f"{UID}.{state}").to_arrow().to_pylist()
    return Counter(row["value"] for row in rows)


def keyed(savepoint: Savepoint) -> dict[int, object]:
    rows = savepoint.scan(f"{UID}.keyed_state").to_arrow().to_pylist()
    return {row["key"]: row for row in rows}


def test_each_element_stays_once_and_all_else_as_it_is(
    doubled: SparkSavepoint, tmp_path: Path
) -> None:
    doubled.dedupe_list(UID, "union").write(str(tmp_path / "out"))
    out = Savepoint.open(tmp_path / "out", uids=[UID])
    assert out.verify().is_whole
    assert elements(out, "union") == {"a": 1, "b": 1, "c": 1, "": 1}
    assert elements(out, "list") == elements(doubled, "list") == Counter(NAMES)
    assert keyed(out) == keyed(doubled)
    kinds = {state.name: state.kind for state in out.operator(UID).catalog.states}
    assert kinds["union"].value == "union list"


def test_it_goes_with_a_rename_and_another_parallelism(
    doubled: SparkSavepoint, tmp_path: Path
) -> None:
    changed = doubled.rename_state(UID, "union", "all").dedupe_list(UID, "all")
    changed = changed.dedupe_list(UID, "list").rename_state(UID, "list", "some")
    changed.rescale(parallelism=4).write(str(tmp_path / "out"))
    out = Savepoint.open(tmp_path / "out", uids=[UID])
    assert elements(out, "all") == elements(out, "some") == {"a": 1, "b": 1, "c": 1, "": 1}
    assert out.operator(UID).record.parallelism == 4


def test_stats_and_a_dry_run_count_what_differs(doubled: SparkSavepoint, tmp_path: Path) -> None:
    report = doubled.stats()
    counts = {state.state: (state.entries, state.different) for state in report.states}
    assert counts["union"] == counts["list"] == (66, 4)
    assert counts["count"] == (5, None)
    assert f"{UID}.union has 66 elements, of which 4 differ" in report.verdict
    assert f"{UID}.list has 66 elements" not in report.verdict
    before = doubled.writer().operator(UID).change
    assert before is not None
    assert element_counts(before, "union") == (UID, "union", 66, 4)
    words = ("dedupe-list", doubled.path, UID, "union", tmp_path / "no", "--uid", UID)
    code, output = run(*words, "--dry-run", "--output", "json")
    assert (code, '"elements": 66, "different": 4' in output) == (0, True), output
    assert not (tmp_path / "no").exists()


def test_other_state_is_refused_with_the_way_out(doubled: SparkSavepoint, tmp_path: Path) -> None:
    with pytest.raises(SchemaChangeError, match=r"is list state, .*array_distinct"):
        doubled.dedupe_list(UID, "several")
    with pytest.raises(SchemaChangeError, match="is value state, expected a list"):
        doubled.dedupe_list(UID, "count")
    with pytest.raises(StateNotFoundError, match="no state 'unions'"):
        doubled.dedupe_list(UID, "unions")
    # Values that are new are deduped; a change that reads the elements would see those that go.
    values = doubled.update_state(UID, "union", "substring(value, 1, 0)").dedupe_list(UID, "union")
    values.write(str(tmp_path / "values"))
    assert elements(Savepoint.open(tmp_path / "values", uids=[UID]), "union") == {"": 1}
    with pytest.raises(SchemaChangeError, match="would not see"):
        doubled.dedupe_list(UID, "union").update_state(UID, "union", "upper(value)")
