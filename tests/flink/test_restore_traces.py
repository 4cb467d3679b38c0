"""Each call of a function by a real Flink, line by line beside the calls that a run makes.

Flink gets rows of a key ``tick`` that is never silent: every ten minutes, before others with the same
timestamp, and again 1 ms later. Behind each row comes the watermark that bounded out-of-orderness
has. So event time has reached each row and each timer when they come, as it has in a run.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import LATEST, FlinkRestore, Operator, Trace

from state_processor import (
    KeyedProcessFunction,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.transformations.process_transformation import KeyedRowsTransformation
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

MINUTE, HOUR = 60_000, 3_600_000
DAY = 24 * HOUR
FUNCTIONS = ("sessions", "timeouts", "hourly", "once")
COLUMNS = "key STRING, line BIGINT, what STRING, timestamp BIGINT, watermark BIGINT, count BIGINT"
SORTED_INPUTS = "execution.sorted-inputs.enabled"
LATE = 20 * MINUTE
"""How much later than others a row may come, in ms."""

Rows = list[tuple[str, int]]
Lines = dict[str, list[tuple[Any, ...]]]


def function(does: str) -> KeyedProcessFunction:
    """The function of ``TraceFunction.java``; workers don't find this module, so it goes as a whole."""

    class Traced(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.count, self.at, self.lines = (
                runtime_context.get_state(ValueStateDescriptor(name, Types.LONG()))
                for name in ("count", "at", "lines")
            )

        def process_element(self, value: Any, context: Any) -> Iterator[Any]:
            now, timers = context.timestamp, context.timer_service
            match does:
                case "sessions":
                    if self.at.value() is not None:
                        timers.delete_event_time_timer(self.at.value())
                    self.at.update(now + 30 * MINUTE)
                    timers.register_event_time_timer(now + 30 * MINUTE)
                case "timeouts":
                    self.at.update(now)
                    timers.register_event_time_timer(now + 40 * MINUTE)
                case "hourly":
                    timers.register_event_time_timer(now // HOUR * HOUR + HOUR - 1)
                case "once" if self.at.value() is None:
                    self.at.update(now)
                    timers.register_event_time_timer(now + 2 * HOUR)
            self.count.update((self.count.value() or 0) + 1)
            yield self.line(context, "row", now)

        def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
            yield self.line(context, "timer", timestamp)
            at = self.at.value()
            if does == "timeouts" and (at is None or timestamp != at + 40 * MINUTE):
                return
            if does == "hourly" and self.count.value() is not None:
                context.timer_service.register_event_time_timer(timestamp + HOUR)
            self.count.clear()
            if does != "hourly":
                self.at.clear()

        def line(self, context: Any, what: str, timestamp: int) -> tuple[Any, ...]:
            number = self.lines.value() or 0
            self.lines.update(number + 1)
            watermark = context.timer_service.current_watermark()
            return context.current_key, number, what, timestamp, watermark, self.count.value()

    return Traced()


def rows_of(day: int) -> Rows:
    """Rows of some keys in ten-minute steps, and those of ``tick``, in the order of their time."""
    chance = random.Random(day)
    times = range(day * DAY, day * DAY + DAY, 10 * MINUTE)
    ticks = [("tick", at + late) for at in times for late in (0, 1)]
    steps = chance.sample(range(0, DAY, 10 * MINUTE), 60)
    others = [(f"key {chance.randrange(12)}", day * DAY + at) for at in steps]
    return sorted(ticks + others, key=lambda row: (row[1], row[0] != "tick"))


def events(rows: Rows, late: int) -> tuple[tuple[str | None, int], ...]:
    """The rows with Flink's watermarks."""
    return tuple(event for row in rows for event in (row, (None, row[1] - late - 1)))


def operator(does: str, rows: Rows, late: int = 0, uid: str = "trace") -> Operator:
    return Operator(uid, key="STRING", function="trace", trace=Trace(does, events(rows, late)))


def keyed(spark: SparkSession, rows: Rows, *, between: bool | None) -> KeyedRowsTransformation:
    data = spark.createDataFrame(rows, "key STRING, at BIGINT")
    rows_by_key = OperatorTransformation.bootstrap_with(data).assign_timestamps("at").key_by("key")
    settings = {} if between is None else {"execution.timers-between-rows.enabled": between}
    return rows_by_key.with_options(settings)


def lines_of(output: DataFrame) -> Lines:
    lines: Lines = {}
    for key, *line in sorted(map(tuple, output.collect())):
        lines.setdefault(key, []).append(tuple(line))
    return lines


def calls(lines: Lines) -> Lines:
    """The lines without watermarks, and without those of ``tick``."""
    return {
        key: [(*line[:3], line[4]) for line in of_key]
        for key, of_key in without_tick(lines).items()
    }


def without_tick(lines: Lines) -> Lines:
    return {key: of_key for key, of_key in lines.items() if key != "tick"}


def left_in(savepoint: SparkSavepoint) -> list[Any]:
    """State and timers of all keys, without those of ``tick``."""
    tables = savepoint.read_keyed_state("trace"), savepoint.read_timers("trace")
    rows = [row.asDict() for table in tables for row in table.collect()]
    return sorted(str(sorted(row.items())) for row in rows if row["key"] != "tick")


@pytest.mark.parametrize("does", FUNCTIONS)
def test_a_run_that_begins_with_nothing_makes_the_calls_of_flinks_batch_mode(
    flink_restore: FlinkRestore, spark: SparkSession, does: str
) -> None:
    rows = rows_of(1)
    batch = {"execution.runtime-mode": "BATCH"}
    theirs = flink_restore(None, operator(does, rows), ends=True, config=batch).traced("trace")
    ours = lines_of(keyed(spark, rows, between=None).process(function(does), COLUMNS))
    assert ours == theirs
    assert any(line[1] == "timer" for of_key in ours.values() for line in of_key)


def test_without_sorted_inputs_rows_come_as_they_arrive_in_flink(
    flink_restore: FlinkRestore, spark: SparkSession
) -> None:
    rows = rows_of(1)
    random.Random(1).shuffle(rows)
    settings = {SORTED_INPUTS: "false", "execution.batch-state-backend.enabled": "false"}
    told = (
        Operator(does, key="STRING", function="trace", trace=Trace(does, tuple(rows)))
        for does in FUNCTIONS
    )
    config = {"execution.runtime-mode": "BATCH", **settings}
    restored = flink_restore(None, *told, flink=LATEST, ends=True, config=config)
    arrived = keyed(spark, rows, between=None)
    for does in FUNCTIONS:
        theirs = restored.traced(does)
        on_disk: dict[str, Any] = {SORTED_INPUTS: False, "state.backend.type": "rocksdb"}
        for options in (settings, on_disk):
            run = arrived.with_options(options).process(function(does), COLUMNS)
            assert lines_of(run) == theirs, (does, options)
    # A timer that a timer has registered at the end fires, too.
    hourly = [line for of_key in restored.traced("hourly").values() for line in of_key]
    asked_by_rows = {(key, at // HOUR) for key, at in rows}
    assert sum(line[1] == "timer" for line in hourly) > len(asked_by_rows)


@pytest.mark.parametrize("does", FUNCTIONS)
def test_with_timers_between_rows_it_makes_those_of_flinks_streaming_mode(
    flink_restore: FlinkRestore, spark: SparkSession, does: str
) -> None:
    rows = rows_of(1)
    theirs = flink_restore(None, operator(does, rows, LATE), ends=True).traced("trace")
    ours = keyed(spark, rows, between=True).process(
        function(does), COLUMNS, out_of_orderness_ms=LATE
    )
    # At the end Flink's event time has come as far as the rows of all keys have brought it.
    assert calls(lines_of(ours)) == calls(theirs)
    reached = rows[-1][1] - LATE - 1
    until = keyed(spark, rows, between=True).run(
        function(does), COLUMNS, watermark=reached, out_of_orderness_ms=LATE
    )
    assert without_tick(lines_of(until.output)) == {
        key: [line for line in of_key if line[3] <= reached]
        for key, of_key in without_tick(theirs).items()
    }


@pytest.mark.parametrize("does", FUNCTIONS)
def test_from_a_savepoint_a_run_makes_the_calls_of_flink_and_leaves_its_state(
    flink_restore: FlinkRestore, spark: SparkSession, does: str, tmp_path: Path
) -> None:
    first = keyed(spark, rows_of(1), between=None).run(function(does), COLUMNS, watermark=2 * DAY)
    yesterday = str(tmp_path / "yesterday")
    Savepoint.create(spark, parallelism=2).with_operator("trace", first.state).write(yesterday)
    savepoint = Savepoint.load(spark, yesterday, uids=["trace"])

    rows = rows_of(2)
    last = rows[-1][1] - LATE - 1
    second = keyed(spark, rows, between=None).run(
        function(does),
        COLUMNS,
        initial=savepoint.operator("trace"),
        watermark=last,
        out_of_orderness_ms=LATE,
    )
    ours = lines_of(second.output)
    restored = flink_restore(
        yesterday,
        operator(does, rows, LATE),
        awaits=sum(map(len, ours.values())),
        resave=tmp_path / "theirs",
    )
    assert without_tick(ours) == without_tick(restored.traced("trace"))

    today = str(tmp_path / "today")
    savepoint.with_operator("trace", second.state).write(today)
    assert restored.savepoint is not None
    theirs = Savepoint.load(spark, restored.savepoint, uids=["trace"])
    found = Savepoint.load(spark, today, uids=["trace"])
    assert left_in(found) == left_in(theirs)
    ended = flink_restore(today, operator(does, []), ends=True).traced("trace")
    all_at_once = keyed(spark, [], between=None).process(
        function(does), COLUMNS, initial=found.operator("trace")
    )
    assert lines_of(all_at_once) == ended


def test_the_next_release_makes_these_calls_too(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    first, second = rows_of(1), rows_of(2)
    reached, path = first[-1][1] - LATE - 1, str(tmp_path / "savepoint")
    writer = Savepoint.create(spark, parallelism=2)
    before, after = {}, {}
    for does in FUNCTIONS:
        run = keyed(spark, first, between=True).run(
            function(does), COLUMNS, watermark=reached, out_of_orderness_ms=LATE
        )
        before[does] = without_tick(lines_of(run.output))
        writer = writer.with_operator(does, run.state)
    writer.write(path)
    savepoint = Savepoint.load(spark, path, uids=list(FUNCTIONS))
    for does in FUNCTIONS:
        after[does] = keyed(spark, second, between=None).process(
            function(does), COLUMNS, initial=savepoint.operator(does), out_of_orderness_ms=LATE
        )
    new = flink_restore(
        None,
        *(operator(does, first, LATE, does) for does in FUNCTIONS),
        flink=LATEST,
        ends=True,
    )
    gone_on = flink_restore(
        path,
        *(operator(does, second, LATE, does) for does in FUNCTIONS),
        flink=LATEST,
        ends=True,
    )
    for does in FUNCTIONS:
        assert before[does] == {
            key: [line for line in of_key if line[3] <= reached]
            for key, of_key in without_tick(new.traced(does)).items()
        }
        assert calls(lines_of(after[does])) == calls(gone_on.traced(does))
