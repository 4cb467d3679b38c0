"""State of a query in the form of a new job: timers of windows, and states that begin empty."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.commands import result_of
from support.commands import run as command
from support.each import each
from support.stream_queries import input_rows, put, read, run

from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.savepoint_warnings import LostStateWarning
from state_processor import (
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two queries, and the new job, whose savepoint has all types and no rows."""
    folder = tmp_path_factory.mktemp("windows")
    put(folder / "in", input_rows())
    rows = read(spark, folder / "in")
    windows = rows.groupBy("k", F.window("ts", "30 seconds")).agg(F.sum("v").alias("total"))
    run(windows, folder / "windows")
    renamed = rows.groupBy(F.window("ts", "30 seconds").alias("minute"), "k")
    run(renamed.agg(F.sum("v").alias("total")), folder / "renamed")
    run(rows.groupBy("k").agg(F.sum("v")), folder / "totals")
    nothing = spark.sql("SELECT 'k' AS k, 0L AS total, named_struct('start', 0L, 'end', 1L) AS w")
    begun = OperatorTransformation.bootstrap_with(nothing.limit(0)).key_by("k")
    several = begun
    for name in ("total", "new", "old"):
        several = several.with_state(ValueStateDescriptor(name, Types.LONG()), "total")
    windowed = begun.window("w").reduce(Types.LONG(), "total")
    # Windows are a column of this name in the tables of a savepoint.
    named = begun.window("w").with_state(
        ReducingStateDescriptor("namespace", Types.LONG()), "total"
    )
    writer = (
        Savepoint.create(spark).with_operator("windows", windowed).with_operator("named", named)
    )
    writer.with_operator("totals", several).write(folder / "empty")
    return folder


def moved(
    spark: SparkSession, folder: Path, name: str, query: str = "windows", **words: Any
) -> DataFrame:
    """The timers of the windows in the new savepoint."""
    new_job = Savepoint.load(spark, folder / "empty", uids=["windows", "totals"])
    state = SparkCheckpoint.load(spark, folder / query).state_like(
        new_job.operator("windows"), 0, **words
    )
    Savepoint.create(spark).with_operator("windows", state).write(folder / name)
    return Savepoint.load(spark, folder / name, uids=["windows"]).read_timers("windows")


@each(
    ("words", "domain", "times"),
    [
        ({}, "EVENT_TIME", [-1]),
        ({"allowed_lateness_ms": HOUR_MS}, "EVENT_TIME", [-1, HOUR_MS - 1]),
        ({"window_time": "processing_time"}, "PROCESSING_TIME", [-1]),
        # Flink removes a window of processing time when it fires.
        ({"window_time": "processing_time", "allowed_lateness_ms": 5}, "PROCESSING_TIME", [-1]),
    ],
)
def test_windows_have_the_timers_of_the_new_job(
    spark: SparkSession,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    words: dict[str, Any],
    domain: str,
    times: list[int],
) -> None:
    name = tmp_path_factory.mktemp("moved").name
    timers = moved(spark, folder, name, **words).collect()
    windows = SparkCheckpoint.load(spark, folder / "windows").aggregation(0).count()
    assert {row["time_domain"] for row in timers} == {domain}
    assert len(timers) == windows * len(times)
    assert {row["timestamp"] - row["namespace"]["end"] for row in timers} == {*times}


def test_a_window_may_have_another_name_in_the_query(spark: SparkSession, folder: Path) -> None:
    renamed = moved(spark, folder, "moved renamed", "renamed").collect()
    assert {*renamed} == {*moved(spark, folder, "moved windows").collect()}
    assert renamed


def test_a_state_of_windows_may_be_called_namespace(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "windows")
    like = Savepoint.load(spark, folder / "empty", uids=["named"]).operator("named")
    writer = Savepoint.create(spark).with_operator("named", checkpoint.state_like(like))
    writer.write(tmp_path / "out")
    table = Savepoint.load(spark, tmp_path / "out", uids=["named"]).read_window_state("named")
    (column,) = {*table.columns} - {"key", "namespace", "key_group"}
    stored = checkpoint.aggregation(0, total="sum")
    stored = stored.selectExpr("k", "unix_millis(window.start)", "unix_millis(window.end)", "total")
    answers = table.select("key", "namespace.start", "namespace.end", column).collect()
    assert {*answers} == {*stored.collect()}
    assert answers


def test_words_of_windows_are_refused_without_windows(spark: SparkSession, folder: Path) -> None:
    new_job = Savepoint.load(spark, folder / "empty", uids=["windows", "totals"])
    checkpoint = SparkCheckpoint.load(spark, folder / "totals")
    names = {"aggregates": {"total": "sum"}, "begin_empty": ("new", "old")}
    for words in ({"allowed_lateness_ms": 1}, {"window_time": "processing_time"}):
        with pytest.raises(RefusedError, match="is for windows, and operator 0 has none"):
            checkpoint.state_like(new_job.operator("totals"), 0, **names, **words)  # type: ignore[arg-type]  # words by name


def test_states_without_a_column_are_named_in_the_answer_and_beside_it(folder: Path) -> None:
    words: list[str | Path] = [
        "import",
        "--from-spark",
        folder / "totals",
        "--uid",
        "totals",
        "--like",
    ]
    words += [folder / "empty", folder / "named", "--aggregate", "total=sum"]
    result = result_of(*words, "--output", "json")
    assert json.loads(result.stdout)["left_out"] == ["totals.new", "totals.old"]
    named = "operator totals begins without new, old: no column of the query has that state"
    assert named in result.stderr
    assert "made anew" not in result.stderr


def test_states_that_are_wanted_empty_are_in_the_savepoint(
    spark: SparkSession, folder: Path
) -> None:
    words: list[str | Path] = [
        "import",
        "--from-spark",
        folder / "totals",
        "--uid",
        "totals",
        "--like",
    ]
    words += [folder / "empty", folder / "wanted", "--aggregate", "total=sum"]
    code, printed = command(*words, "--begin-empty", "new", "--begin-empty", "old")
    assert (code, "totals begins without" in printed) == (0, False), printed
    table = Savepoint.load(spark, folder / "wanted", uids=["totals"]).read_keyed_state("totals")
    assert {"key", "total", "new", "old"} <= {*table.columns}
    assert table.where("new IS NOT NULL OR old IS NOT NULL OR total IS NULL").isEmpty()
    assert table.count() == 3
    code, printed = command(*words, "--overwrite", "--begin-empty", "nwe")
    assert (code, "begin_empty='nwe', but operator totals has no such state" in printed) == (
        2,
        True,
    )


def test_no_warning_without_a_reason(spark: SparkSession, folder: Path) -> None:
    new_job = Savepoint.load(spark, folder / "empty", uids=["windows", "totals"])
    checkpoint = SparkCheckpoint.load(spark, folder / "windows")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostStateWarning)
        state = checkpoint.state_like(new_job.operator("windows"))
        new_job.with_operator("windows", state)
        with pytest.raises(StateNotFoundError, match="begin_empty='window-contents'"):
            checkpoint.state_like(new_job.operator("windows"), begin_empty=["window-contents"])
