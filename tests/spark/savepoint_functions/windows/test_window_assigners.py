"""Windows are assigned by columns as Flink assigns them, before the epoch too."""

from __future__ import annotations

from math import fmod
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from savepoint_functions.windows.window_assigners import (
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    assign_windows,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = [*range(-75, 75), -(2**40), 2**40 + 7]
OFFSETS = (-29, -7, 0, 7, 29)


def start_with_offset(timestamp: int, offset: int, size: int) -> int:
    """``TimeWindow.getWindowStartWithOffset``, whose remainder has the sign of the dividend."""
    remainder = int(fmod(timestamp - offset, size))
    return timestamp - (remainder + size) if remainder < 0 else timestamp - remainder


def sliding(timestamp: int, offset: int, size: int, slide: int) -> list[tuple[int, int]]:
    """``SlidingEventTimeWindows.assignWindows``."""
    start = start_with_offset(timestamp, offset, slide)
    windows = []
    while start > timestamp - size:
        windows.append((start, start + size))
        start -= slide
    return windows


def test_windows_are_those_of_flink(spark: SparkSession) -> None:
    times = spark.createDataFrame([(time,) for time in TIMES], "at BIGINT")
    expected = []
    assigned: list[tuple[TumblingWindows | SlidingWindows, str]] = []
    for offset in OFFSETS:
        tumbling = TumblingWindows(30, offset)
        starts = [(time, start_with_offset(time, offset, 30)) for time in TIMES]
        expected += [(time, start, start + 30, f"{tumbling}") for time, start in starts]
        assigned.append((tumbling, f"{tumbling}"))
        for size, slide in ((100, 30), (90, 30), (20, 30), (30, 30)):
            windows = SlidingWindows(size, slide, offset)
            expected += [
                (time, *window, f"{windows}")
                for time in TIMES
                for window in sliding(time, offset, size, slide)
            ]
            assigned.append((windows, f"{windows}"))
    frames = [
        assign_windows(times, "at", assigner).withColumn("assigner", F.lit(name))
        for assigner, name in assigned
    ]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    found = whole.select("at", "window.start", "window.end", "assigner").collect()
    assert sorted(map(tuple, found)) == sorted(expected)


def test_timestamps_of_spark_and_none(spark: SparkSession) -> None:
    data = spark.sql(
        "SELECT timestamp_millis(at) AS at FROM VALUES (-1L), (1500L), (NULL) AS t(at)"
    )
    rows = assign_windows(data, "at", SessionWindows(10), "session").select("session.*").collect()
    assert sorted(map(tuple, rows)) == [(-1, 9), (1500, 1510)]
    with pytest.raises(ValueError, match="there is a column 'at' already"):
        assign_windows(data, "at", SessionWindows(10), "at")


def test_lengths_that_flink_refuses() -> None:
    for wrong, message in (
        (lambda: TumblingWindows(0), "size_ms=0, expected 1 ms or more"),
        (lambda: TumblingWindows(10, -10), "offset_ms=-10, expected less than the size, 10 ms"),
        (lambda: SlidingWindows(10, 5, 5), "offset_ms=5, expected less than the slide, 5 ms"),
        (lambda: SlidingWindows(10, -5), "slide_ms=-5"),
        (lambda: SessionWindows(0), "gap_ms=0"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
