"""State and timers of windows, read and then written back: they are what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.changed_savepoints import load, rows, tables, written
from support.hand_made import (
    STRING,
    TIME_WINDOW,
    canonical_base,
    encoded,
    group_of,
    header,
    list_of,
    meta_info,
    savepoint_of,
    stream_elements_of,
)
from support.sample_rows import Sample

from savepoint_formats.errors import ColumnNotFoundError
from savepoint_formats.layout import Long, Text
from savepoint_formats.savepoint_warnings import LostStateWarning
from state_processor import OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

WINDOWS = [
    Sample("windows-1.20.5-rocksdb-native"),
    Sample("windows-2.2.1-hashmap-native"),
    Sample("windows-2.2.1-rocksdb-canonical"),
]
EVENT_TIMERS = "_timer_state/event_window-timers"
CONTENTS = "window-contents"


def event_timers(timers: DataFrame) -> DataFrame:
    """Timers as the state that has them: a row each."""
    return timers.where("time_domain = 'EVENT_TIME'").withColumnRenamed("timestamp", EVENT_TIMERS)


@pytest.mark.parametrize("sample", WINDOWS, ids=str)
class TestTimersOfWindows:
    def test_replace_those_that_there_were(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        timers = before.read_timers("session")
        kept = timers.where("namespace.end % 2 = 0")
        assert 0 < kept.count() < timers.count()
        writer = before.with_state("session", EVENT_TIMERS, event_timers(kept))
        after = written(spark, writer, sample, tmp_path)
        assert rows(after.read_timers("session")) == rows(kept)
        assert tables(after, "session.timers") == tables(before, "session.timers")

    def test_become_those_of_an_operator_with_the_same_types(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        timers = before.read_timers("session")
        data = event_timers(timers).select("key", "namespace", EVENT_TIMERS)
        like = OperatorTransformation.bootstrap_with(data).like(before.operator("session"))
        with pytest.warns(LostStateWarning, match="operator session is made anew"):
            anew = before.with_operator("session", like)
        after = written(spark, anew, sample, tmp_path)
        assert rows(after.read_timers("session")) == rows(timers)

    def test_go_with_the_state_of_their_windows(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        timers = before.read_timers("session")
        data = (
            before.read_window_state("session")
            .withColumn(EVENT_TIMERS, F.col("namespace.end") - 1)
            .select("key", "namespace", EVENT_TIMERS, CONTENTS)
        )
        like = OperatorTransformation.bootstrap_with(data).like(before.operator("session"))
        with pytest.warns(LostStateWarning, match="operator session is made anew"):
            anew = before.with_operator("session", like)
        after = written(spark, anew, sample, tmp_path)
        assert rows(after.read_window_state("session")) == rows(before.read_window_state("session"))
        assert after.read_timers("session").count() == timers.count()


def test_windows_without_their_namespaces_are_refused(spark: SparkSession) -> None:
    before = load(spark, WINDOWS[0])
    data = before.read_window_state("session").drop("namespace")
    like = OperatorTransformation.bootstrap_with(data).like(before.operator("session"))
    with pytest.raises(ColumnNotFoundError, match="no column 'namespace'"):
        like.plan()


def test_contents_of_global_windows_are_what_they_were(spark: SparkSession, tmp_path: Path) -> None:
    sample = WINDOWS[1]
    before = load(spark, sample)
    windows = before.read_window_state("count_window")
    writer = before.with_state("count_window", CONTENTS, windows)
    assert tables(written(spark, writer, sample, tmp_path)) == tables(before)


class TestWindowsWithAnEvictor:
    # Tag 0 is a record with a timestamp, 1 one without.
    ELEMENTS = (b"\0" + encoded(Long(), 7) + encoded(Text(), "a"), b"\1" + encoded(Text(), "b"))
    SHOWN = ({"timestamp": 7, "value": "a"}, {"timestamp": None, "value": "b"})

    @pytest.fixture
    def path(self, tmp_path_factory: pytest.TempPathFactory) -> str:
        head = header(meta_info(CONTENTS, "LIST", list_of(stream_elements_of(STRING)), TIME_WINDOW))
        key = encoded(Text(), "k") + encoded(Long(), 0) + encoded(Long(), 1_000)
        entry = (group_of("k"), 0, key, b",".join(self.ELEMENTS))
        return savepoint_of(canonical_base(head, [entry]), tmp_path_factory.mktemp("evictor"))

    def test_have_their_contents_written_as_they_were_read(
        self, spark: SparkSession, path: str, tmp_path: Path
    ) -> None:
        before = Savepoint.load(spark, path)
        windows = before.read_window_state("a")
        (row,) = windows.collect()
        assert row[CONTENTS] == [tuple(one.values()) for one in self.SHOWN]
        after = str(tmp_path / "after")
        before.with_state("a", CONTENTS, windows).write(after)
        assert rows(Savepoint.load(spark, after).read_window_state("a")) == rows(windows)
        stored = b"".join(file.read_bytes() for file in (tmp_path / "after").glob("keyed-*"))
        assert b",".join(self.ELEMENTS) in stored

    def test_have_their_contents_updated(
        self, spark: SparkSession, path: str, tmp_path: Path
    ) -> None:
        before = Savepoint.load(spark, path)
        timed = F.expr(f"filter(`{CONTENTS}`, one -> one.timestamp IS NOT NULL)")
        before.update_state("a", CONTENTS, timed).write(str(tmp_path / "after"))
        (row,) = Savepoint.load(spark, str(tmp_path / "after")).read_window_state("a").collect()
        assert row[CONTENTS] == [(7, "a")]
