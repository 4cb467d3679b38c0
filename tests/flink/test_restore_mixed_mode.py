"""A savepoint of a stream behind a backlog, restored by Flink: it sees what the function left."""

from __future__ import annotations

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
from support.sample_rows import Rows, in_order
from support.streamed_rows import StreamedRows

from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
from state_processor import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    ProcessWindowFunction,
    ReducingStateDescriptor,
    TumblingWindows,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

NOON = 1_709_294_400_000
NEVER = 10**15
HOUR = 3_600_000
WORDS, BACKLOG, ALL = 13, 100, 160
SEEN = Operator(
    "seen",
    key="STRING",
    states=(
        KeyedState.value("last", "LONG").with_ttl(HOUR),
        KeyedState.list("ids", "LONG"),
        KeyedState.map("by_digit", "LONG", "STRING"),
        KeyedState.reducing("most", "LONG"),
    ),
    timers=(TimerService(),),
)


def seen_function() -> KeyedProcessFunction:
    """A function sent to workers as a whole because they can't import this module."""

    class Seen(KeyedProcessFunction):
        """State of each word, and timers a minute after each row."""

        def open(self, runtime_context: Any) -> None:
            get = runtime_context
            self.last = get.get_state(ValueStateDescriptor("last", Types.LONG()).with_ttl())
            self.ids = get.get_list_state(ListStateDescriptor("ids", Types.LONG()))
            self.by_digit = get.get_map_state(
                MapStateDescriptor("by_digit", Types.LONG(), Types.STRING())
            )
            self.most = get.get_reducing_state(ReducingStateDescriptor("most", Types.LONG(), max))

        def process_element(self, value: Any, context: Any) -> None:
            self.last.update(value.id)
            self.ids.add(value.id)
            self.by_digit.put(value.id % 10, None if value.id % 2 else f"{value.id}")
            self.most.add(value.id)
            context.timer_service.register_event_time_timer(context.timestamp + 60_000)
            context.timer_service.register_processing_time_timer(NEVER + value.id)

        def on_timer(self, timestamp: int, context: Any) -> None:
            self.ids.add(-1)

    return Seen()


def ids(word: int) -> list[int]:
    return list(range(word, ALL, WORDS))


def fired(word: int, last: int) -> list[int]:
    """The rows whose timers have fired behind a row: the watermark is 1 ms behind that."""
    return [number for number in ids(word) if number + 60 < last]


def seen() -> Rows:
    return [
        {
            "key": f"Wörd {word}",
            "last": ids(word)[-1],
            "ids": [
                *(number for number in ids(word) if number < BACKLOG),
                *(-1 for _ in fired(word, BACKLOG - 1)),
                *(number for number in ids(word) if number >= BACKLOG),
                *(-1 for number in fired(word, ALL - 1) if number not in fired(word, BACKLOG - 1)),
            ],
            "by_digit": [
                list(pair)
                for pair in sorted(
                    {
                        number % 10: None if number % 2 else str(number) for number in ids(word)
                    }.items()
                )
            ],
            "most": ids(word)[-1],
        }
        for word in range(WORDS)
    ]


def timers() -> Rows:
    return [
        {"key": f"Wörd {word}", "namespace": None, "timestamp": timestamp, "domain": domain}
        for word in range(WORDS)
        for number in ids(word)
        for timestamp, domain, is_waiting in (
            (NOON + 1000 * (number + 60), "event_time", number not in fired(word, ALL - 1)),
            (NEVER + number, "processing_time", True),
        )
        if is_waiting
    ]


def sold(number: int) -> tuple[int, str, int]:
    return number, f"Wörd {number % WORDS}", NOON + 1000 * number


SIZE = 25
HOURLY = Operator(
    "hourly",
    key="STRING",
    states=(KeyedState.reducing("window-contents", "LONG").under("TIME_WINDOW"),),
    timers=(TimerService("window-timers", "TIME_WINDOW"),),
    windows=TimeWindows("tumbling", 1000 * SIZE, "reduce", "LONG"),
)


def ranges() -> ProcessWindowFunction:
    """Likewise."""

    class Ranges(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            yield key, context.window().start, *elements

    return Ranges()


def ended() -> list[tuple[str, int, int]]:
    """The last number of each word in each window."""
    return [
        (f"Wörd {word}", NOON + 1000 * start, found[-1])
        for word in range(WORDS)
        for start in range(0, ALL, SIZE)
        if (found := [number for number in ids(word) if start <= number < start + SIZE])
    ]


Keyed = tuple[KeyedStateTransformation, KeyedStateTransformation]


@pytest.fixture(scope="module")
def inputs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Keyed:
    """Backlog and stream."""
    columns = "id BIGINT, word STRING, at BIGINT"
    rows = StreamedRows(tmp_path_factory.mktemp("mixed") / "rows", columns)
    rows.put(map(sold, range(BACKLOG, ALL)))
    past = spark.createDataFrame(map(sold, range(BACKLOG)), columns)
    keyed, live = (
        OperatorTransformation.bootstrap_with(one).assign_timestamps("at").key_by("word")
        for one in (past, rows.frame(spark))
    )
    return keyed, live


@pytest.fixture(scope="module")
def written(inputs: Keyed, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("seen")
    settings = OperatorSettings("seen", "word STRING", parallelism=2)
    job = MixedModeJob.of(*inputs, seen_function(), settings, str(folder / "job"))
    with job.start() as running:
        running.process_all_available()
        running.take_savepoint(str(folder / "savepoint"))
    return str(folder / "savepoint")


def test_windows_of_backlog_and_stream_fire_once(
    flink_restore: FlinkRestore, inputs: Keyed, tmp_path: Path
) -> None:
    windows = inputs[0].window(TumblingWindows(1000 * SIZE))
    function = windows.reduce(max, Types.LONG(), "id", ranges()).operator
    settings = OperatorSettings("hourly", "word STRING, start BIGINT, id BIGINT", parallelism=2)
    job = MixedModeJob.of(*inputs, function, settings, str(tmp_path / "job"))
    ours: list[tuple[Any, ...]] = []
    with job.start(lambda rows, _: ours.extend(map(tuple, rows.collect()))) as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / "savepoint"))
    for flink in RELEASES:
        restored = flink_restore(tmp_path / "savepoint", HOURLY.real(), flink=flink, ends=True)
        theirs = [
            (row["key"], row["window"][0], *row["contents"])
            for row in restored.ended_windows("hourly")
        ]
        assert theirs
        assert sorted(ours + theirs) == sorted(ended())


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_state_and_timers_of_backlog_and_stream_are_there(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    restored = flink_restore(written, SEEN, flink=flink, backend=backend)
    assert restored.keyed_state("seen") == in_order(seen())
    assert restored.timers("seen") == in_order(timers())
