"""Windows made of DataFrames read back as what was put in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.bootstrapped import rows, written

from savepoint_formats.errors import OverlappingWindowsError
from state_processor import OperatorTransformation, ReducingStateDescriptor, Types

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


class TestWindows:
    @pytest.fixture
    def sessions(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(
            [("a", 1000, 0, 60_000), ("a", 7, 90_000, 120_000), ("b", 5, 0, 60_000)],
            "word STRING, total BIGINT, start BIGINT, end BIGINT",
        ).select("word", "total", F.struct("start", "end").alias("window"))

    @pytest.mark.parametrize(("is_merging", "name"), [(False, "word"), (True, "namespace")])
    def test_have_contents_and_timers(
        self, spark: SparkSession, sessions: DataFrame, tmp_path: Path, is_merging: bool, name: str
    ) -> None:
        windowed = (
            OperatorTransformation.bootstrap_with(sessions.withColumnRenamed("word", name))
            .key_by(name)
            .window("window", is_merging=is_merging)
            .reduce(Types.LONG(), "total")
        )
        savepoint = written(spark, windowed, tmp_path)
        found = savepoint.read_window_state("operator")
        assert rows(found, "key", "namespace") == [
            {"key": "a", "namespace": {"start": 0, "end": 60_000}, "window-contents": 1000},
            {"key": "a", "namespace": {"start": 90_000, "end": 120_000}, "window-contents": 7},
            {"key": "b", "namespace": {"start": 0, "end": 60_000}, "window-contents": 5},
        ]
        timers = savepoint.read_timers("operator").collect()
        assert sorted((row.key, row.namespace.end, row.timestamp) for row in timers) == [
            ("a", 60_000, 59_999),
            ("a", 120_000, 119_999),
            ("b", 60_000, 59_999),
        ]
        assert {(row.time_domain, row.service) for row in timers} == {
            ("EVENT_TIME", "window-timers")
        }
        if is_merging:
            sets = savepoint.read_keyed_state("operator").orderBy("key").collect()
            assert [(row.key, len(row["merging-window-set"])) for row in sets] == [
                ("a", 2),
                ("b", 1),
            ]

    def test_of_processing_time_are_never_late_and_have_one_timer_each(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        rows = spark.sql(
            "SELECT 'x' AS word, array(1L) AS total, struct(0L AS start, 60L AS end) AS window"
        )
        windowed = (
            OperatorTransformation.bootstrap_with(rows)
            .key_by("word")
            .window("window", is_processing_time=True, allowed_lateness_ms=1000)
            .process(Types.LONG(), "total")
        )
        timers = written(spark, windowed, tmp_path).read_timers("operator").collect()
        assert [(row.timestamp, row.time_domain) for row in timers] == [(59, "PROCESSING_TIME")]

    def test_of_sparks_own_window_function(self, spark: SparkSession, tmp_path: Path) -> None:
        sales = spark.createDataFrame(
            [("x", 3, 30), ("x", 4, 59), ("x", 5, 61)], "shop STRING, cents BIGINT, at INT"
        ).withColumn("time", F.timestamp_seconds("at"))
        by_minute = sales.groupBy("shop", F.window("time", "1 minute")).agg(
            F.collect_list("cents").alias("cents")
        )
        windowed = (
            OperatorTransformation.bootstrap_with(by_minute)
            .key_by("shop")
            .window("window", allowed_lateness_ms=1000)
            .process(Types.LONG(), "cents")
        )
        savepoint = written(spark, windowed, tmp_path)
        found = savepoint.read_window_state("operator").orderBy("namespace").collect()
        assert [(row.namespace.start, sorted(row["window-contents"])) for row in found] == [
            (0, [3, 4]),
            (60_000, [5]),
        ]
        timers = savepoint.read_timers("operator").collect()
        assert sorted(row.timestamp for row in timers) == [59_999, 60_999, 119_999, 120_999]

    @pytest.mark.parametrize(
        "name", ["Window of the KEY", "window timers", "number of the merged window"]
    )
    def test_do_not_replace_a_column_of_the_rows(self, sessions: DataFrame, name: str) -> None:
        """In Spark a new column replaces one whose name differs in case only."""
        named = sessions.withColumnRenamed("total", name)
        keyed = OperatorTransformation.bootstrap_with(named).key_by("word")
        with pytest.raises(ValueError, match=rf"(?i)have a column '{name}'.*rename it"):
            keyed.window("window", is_merging=True).reduce(Types.LONG(), name, merge="sum").plan()


class TestSessions:
    @pytest.fixture
    def overlapping(self, spark: SparkSession) -> DataFrame:
        """Two chains of windows of the key a; the last window of the first chain touches the second chain."""
        rows = [
            ("a", 1, 0, 60),
            ("a", 2, 20, 30),
            ("a", 4, 50, 90),
            ("a", 8, 90, 95),
            ("a", 16, 96, 99),
            ("a", 32, 96, 97),
            ("b", 64, 0, 60),
        ]
        frame = spark.createDataFrame(rows, "word STRING, total BIGINT, start BIGINT, end BIGINT")
        window = F.struct("start", "end").alias("window")
        return frame.select("word", "total", F.array("total").alias("totals"), window)

    def test_that_overlap_are_merged_as_flink_merges_them(
        self, spark: SparkSession, overlapping: DataFrame, tmp_path: Path
    ) -> None:
        windowed = (
            OperatorTransformation.bootstrap_with(overlapping)
            .key_by("word")
            .window("window", is_merging=True, allowed_lateness_ms=5)
            .process(Types.LONG(), "totals", merge="concat")
            .with_state(ReducingStateDescriptor("sum", Types.LONG()), "total", merge="sum")
        )
        savepoint = written(spark, windowed, tmp_path)
        sorted_contents = F.array_sort("window-contents").alias("window-contents")
        windows = savepoint.read_window_state("operator")
        windows = windows.select("key", "namespace", sorted_contents, "sum")
        assert rows(windows, "key", "namespace") == [
            {
                "key": key,
                "namespace": {"start": start, "end": end},
                "window-contents": totals,
                "sum": sum(totals),
            }
            for key, start, end, totals in (
                ("a", 0, 95, [1, 2, 4, 8]),
                ("a", 96, 99, [16, 32]),
                ("b", 0, 60, [64]),
            )
        ]
        timers = savepoint.read_timers("operator").collect()
        assert sorted((row.key, row.namespace.end, row.timestamp) for row in timers) == [
            ("a", 95, 94),
            ("a", 95, 99),
            ("a", 99, 98),
            ("a", 99, 103),
            ("b", 60, 59),
            ("b", 60, 64),
        ]
        sets = savepoint.read_keyed_state("operator").orderBy("key").collect()
        assert [
            (row.key, sorted(pair.f0.start for pair in row["merging-window-set"])) for row in sets
        ] == [("a", [0, 96]), ("b", [0])]

    def test_that_overlap_are_refused_without_a_rule(
        self, spark: SparkSession, overlapping: DataFrame, tmp_path: Path
    ) -> None:
        one = OperatorTransformation.bootstrap_with(overlapping.where("total != 32")).key_by("word")
        merging = one.window("window", is_merging=True).reduce(Types.LONG(), "total")
        with pytest.raises(OverlappingWindowsError, match=r"key 'a' .* merge=…"):
            written(spark, merging, tmp_path / "merging")
        # Windows that slide overlap, and nothing is wrong with them.
        sliding = one.window("window").reduce(Types.LONG(), "total")
        savepoint = written(spark, sliding, tmp_path / "sliding")
        assert savepoint.read_window_state("operator").count() == 6

    def test_that_touch_are_refused_without_a_rule(
        self, spark: SparkSession, overlapping: DataFrame, tmp_path: Path
    ) -> None:
        touching = overlapping.where("total IN (4, 8)")
        one = OperatorTransformation.bootstrap_with(touching).key_by("word")
        merging = one.window("window", is_merging=True).reduce(Types.LONG(), "total")
        with pytest.raises(OverlappingWindowsError, match=r"\[50, 90\) and \[90, 95\)"):
            written(spark, merging, tmp_path)
