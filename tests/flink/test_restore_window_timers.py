"""Windows that a function has made, with their timers: Flink fires them, and cleans them up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import (
    BACKENDS,
    RELEASES,
    FlinkRestore,
    KeyedState,
    Operator,
    TimerService,
    TimeWindows,
)
from support.sample_rows import Rows, in_order, rows_of

from savepoint_spark.reading.functions import TimeWindow
from state_processor import (
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

everywhere = pytest.mark.parametrize(
    ("flink", "backend"), [(flink, backend) for flink in RELEASES for backend in BACKENDS]
)

SIZE, LATENESS, ALL, WORDS = 100, 150, 500, 41
# The end of the second window, and the time at which it is too late for the first ones.
WATERMARK = 349


@dataclass(frozen=True)
class Case:
    """Windows of one operator: which timers they have."""

    uid: str
    lateness: int = 0
    is_by_clock: bool = False
    has_timers: bool = True

    @property
    def operator(self) -> Operator:
        assigner = "tumbling by clock" if self.is_by_clock else "tumbling"
        return Operator(
            self.uid,
            key="STRING",
            states=(KeyedState.reducing("window-contents", "LONG").under("TIME_WINDOW"),),
            timers=(TimerService("window-timers", "TIME_WINDOW"),),
            windows=TimeWindows(assigner, SIZE, "reduce", "LONG", self.lateness),
        )

    def timestamps(self, end: int) -> list[int]:
        """The timers of a window."""
        return sorted({end - 1, end - 1 + self.lateness}) if self.has_timers else []

    def windows(self) -> Rows:
        return [
            {
                "key": f"Wörd {word}",
                "namespace": [start, start + SIZE],
                "window-contents": found[-1],
            }
            for word in range(WORDS)
            for start in range(0, ALL, SIZE)
            if (found := [one for one in range(start, start + SIZE) if one % WORDS == word])
        ]

    def function(self) -> KeyedStateBootstrapFunction:
        """A function sent to workers as a whole because they can't import this module."""
        is_by_clock, lateness, has_timers = self.is_by_clock, self.lateness, self.has_timers

        class Windows(KeyedStateBootstrapFunction):
            """The last number of each word in each window."""

            def open(self, runtime_context: Any) -> None:
                self.last = runtime_context.get_reducing_state(
                    ReducingStateDescriptor("window-contents", Types.LONG(), max),
                    namespace=Types.TIME_WINDOW(),
                )
                self.timers = runtime_context.get_internal_timer_service()

            def process_element(self, value: Any, context: Any) -> None:
                start = value.id // SIZE * SIZE
                window = TimeWindow(start, start + SIZE)
                self.last.set_current_namespace(window)
                self.last.add(value.id)
                if not has_timers:
                    return
                timers, end = self.timers, window.max_timestamp()
                if is_by_clock:
                    timers.register_processing_time_timer(window, end)
                    timers.register_processing_time_timer(window, end - 1)
                    timers.delete_processing_time_timer(window, end - 1)
                else:
                    timers.register_event_time_timer(window, end)
                    timers.register_event_time_timer(window, end + lateness)
                    timers.register_event_time_timer(window, end - 1)
                    timers.delete_event_time_timer(window, end - 1)

        return Windows()


PUNCTUAL = Case("punctual")
LATE = Case("late", lateness=LATENESS)
CLOCKED = Case("clocked", is_by_clock=True)
FORGOTTEN = Case("forgotten", has_timers=False)
CASES = (PUNCTUAL, LATE, CLOCKED, FORGOTTEN)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("windows") / "savepoint")
    rows = spark.sql(f"SELECT id, concat('Wörd ', id % {WORDS}) AS word FROM range({ALL})")
    keyed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("id").key_by("word")
    writer = Savepoint.create(spark, parallelism=2)
    for case in CASES:
        writer = writer.with_operator(case.uid, keyed.transform(case.function()))
    writer.write(path)
    return path


@everywhere
def test_timers_are_those_of_their_windows(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    operators = [case.operator for case in CASES]
    restored = flink_restore(written, *operators, flink=flink, backend=backend)
    for case in CASES:
        assert restored.window_state(case.uid) == in_order(case.windows())
        assert restored.timers(case.uid) == in_order(
            {
                "key": row["key"],
                "namespace": row["namespace"],
                "timestamp": timestamp,
                "domain": "processing_time" if case.is_by_clock else "event_time",
            }
            for row in case.windows()
            for timestamp in case.timestamps(row["namespace"][1])
        )


@everywhere
def test_windows_fire_and_are_cleaned_up(
    flink_restore: FlinkRestore, written: str, tmp_path: Path, flink: str, backend: str
) -> None:
    operators = [case.operator.real() for case in CASES]
    fired = {
        "punctual": WATERMARK,
        "late": WATERMARK,
        # The clock is beyond all of them.
        "clocked": ALL,
        "forgotten": 0,
    }
    expected = {
        uid: [row for row in PUNCTUAL.windows() if row["namespace"][1] - 1 <= until]
        for uid, until in fired.items()
    }
    restored = flink_restore(
        written,
        *operators,
        flink=flink,
        backend=backend,
        watermark=WATERMARK,
        awaits=sum(map(len, expected.values())),
        resave=tmp_path,
    )
    for uid, rows in expected.items():
        assert restored.ended_windows(uid) == in_order(
            {"key": row["key"], "window": row["namespace"], "contents": [row["window-contents"]]}
            for row in rows
        )
    assert restored.savepoint is not None
    again = Savepoint.open(restored.savepoint, uids=[case.uid for case in CASES])
    cleaned = fired | {"late": WATERMARK - LATENESS}
    for case in CASES:
        left = [row for row in case.windows() if row["namespace"][1] - 1 > cleaned[case.uid]]
        assert in_order(rows_of(again.scan(f"{case.uid}.window_state"))) == in_order(left)
        ends = [
            (row["key"], row["namespace"][1], row["timestamp"])
            for table in again.operator(case.uid).tables
            if table.name.startswith("timers")
            for row in rows_of(again.scan(f"{case.uid}.{table.name}"))
            if row["service"] == "window-timers"
        ]
        assert sorted(ends) == sorted(
            (row["key"], row["namespace"][1], timestamp)
            for row in left
            for timestamp in case.timestamps(row["namespace"][1])
            if timestamp > fired[case.uid]
        )
