"""Functions that users write to read windows, on those that real jobs left open."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import Row
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
from support.reader_jobs import calls_of, content, state_of
from support.sample_rows import Sample, in_order, samples

from savepoint_formats.layout import Long, Text
from savepoint_spark.reading.functions import (
    GlobalWindow,
    RuntimeContext,
    TimeWindow,
    WindowReaderContext,
    WindowReaderFunction,
)
from savepoint_spark.reading.per_key import ReaderPlan
from savepoint_spark.reading.window_reader import WindowReaderJob
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

# Workers of Spark cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

WINDOWS = [sample for sample in samples() if sample.name.startswith("windows")]
SESSIONS = Sample("windows-2.2.1-rocksdb-canonical")


class Windows(WindowReaderFunction):
    """Gives windows, their contents and timers."""

    def read_window(
        self, key: Any, context: WindowReaderContext, elements: Sequence[Any]
    ) -> Iterator[Any]:
        window = context.window()
        is_time = isinstance(window, TimeWindow)
        yield {
            "key": key,
            "window": [window.start, window.end] if is_time else "global",
            "elements": list(elements),
            "timers": context.registered_event_time_timers(),
            "others": context.registered_processing_time_timers(),
        }


@dataclass
class WindowStates(WindowReaderFunction):
    """Gives a state beside the window that it is shown at."""

    kind: str
    name: str

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = state_of(runtime_context, self.kind, self.name)

    def read_window(
        self, key: Any, context: WindowReaderContext, elements: Sequence[Any]
    ) -> Iterator[Any]:
        yield {"key": key, "window": context.window(), "state": content(self.state)}


@pytest.mark.parametrize("uid", ["tumbling", "tumbling_aggregate", "session", "count_window"])
@pytest.mark.parametrize("sample", WINDOWS, ids=str)
def test_a_window_function_sees_each_window_with_its_contents_and_timers(
    sample: Sample, uid: str
) -> None:
    expected = [
        {
            "key": row["key"],
            "window": row["window"],
            "elements": contents if isinstance(contents, list) else [contents],
            "timers": [
                timer["timestamp"]
                for timer in sample.operators()[uid].get("timers", ())
                if timer["key"] == row["key"] and timer["namespace"] == row["window"]
            ],
            "others": [],
        }
        for row in sample.operators()[uid]["window_state"]
        for contents in [row["window-contents"]]
    ]
    assert in_order(calls_of(sample, uid, Windows())) == in_order(expected)


def test_a_window_function_sees_the_state_of_a_trigger() -> None:
    found = calls_of(SESSIONS, "count_window", WindowStates("reducing", "count"))
    expected = [
        {"key": row["key"], "state": row["count"]}
        for row in SESSIONS.operators()["count_window"]["window_state"]
    ]
    assert {row.pop("window") for row in found} == {GlobalWindow()}
    assert in_order(found) == in_order(expected)


def test_a_window_function_sees_the_state_of_the_key_alone_at_each_of_its_windows() -> None:
    found = calls_of(SESSIONS, "session", WindowStates("list", "merging-window-set"))
    assert len(found) == len(SESSIONS.operators()["session"]["window_state"])
    for row in found:
        assert row["window"] in [TimeWindow(*pair.f0) for pair in row["state"]]


def test_the_window_of_another_operator_is_its_namespace() -> None:
    sample = Sample("sql-2.2.1-rocksdb-native")
    uid = next(uid for uid, state in sample.operators().items() if "window_state" in state)
    found = calls_of(sample, uid, WindowStates("value", "window-aggs"))
    expected = {row["namespace"] for row in sample.operators()[uid]["window_state"]}
    assert {row["window"] for row in found} == expected
    assert all(row["state"]["f0"] > 0 for row in found)


def test_spark_runs_a_window_function(spark: SparkSession) -> None:
    savepoint = Savepoint.load(spark, SESSIONS.path)

    class Ends(WindowReaderFunction):
        def read_window(
            self, key: str, context: WindowReaderContext, elements: Sequence[Any]
        ) -> Iterator[Row]:
            timers = context.registered_event_time_timers()
            yield Row(key=key, end=context.window().end, elements=elements, timers=timers)

    entry = "STRUCT<f0 STRING, f1 INT, f2 INT, f3 BIGINT>"
    schema = f"key STRING, end BIGINT, elements ARRAY<{entry}>, timers ARRAY<BIGINT>"
    frame = savepoint.read_window_state("session", Ends(), schema=schema)
    found = [row.asDict(recursive=True) for row in frame.collect()]
    expected = [
        {
            "key": row["key"],
            "end": row["window"][1],
            "elements": row["window-contents"],
            "timers": [row["window"][1] - 1],
        }
        for row in SESSIONS.operators()["session"]["window_state"]
    ]
    assert in_order(found) == in_order(expected)


def test_elements_that_an_evictor_sees_are_values(tmp_path: Path) -> None:
    contents = meta_info(
        "window-contents", "LIST", list_of(stream_elements_of(STRING)), TIME_WINDOW
    )
    window = encoded(Long(), 0) + encoded(Long(), 1_000)
    # Tag 0 is a record with a timestamp, 1 one without.
    records = (
        b"\0" + encoded(Long(), 7) + encoded(Text(), "a") + b"," + b"\1" + encoded(Text(), "b")
    )
    entry = (group_of("k"), 0, encoded(Text(), "k") + window, records)
    savepoint = Savepoint.open(savepoint_of(canonical_base(header(contents), [entry]), tmp_path))
    plan = ReaderPlan(savepoint, savepoint.operator("a"), Windows(), keys=("k",))
    job = WindowReaderJob.of(plan, pa.schema([]))
    (row,) = [row for split in job.scan.splits() for _, row in job.rows(split)]
    assert (row["window"], row["elements"]) == ([0, 1_000], ["a", "b"])
