"""Keys have in a stream what they had at the switch, though none comes into it before it is visited."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from support.streamed_rows import StreamedRows

from state_processor import (
    CommittedBatch,
    KeyedProcessFunction,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext
    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
    from savepoint_spark.reading.functions import RuntimeContext

# Workers that Spark starts on the driver find less than this process does.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

COLUMNS = "account BIGINT, what STRING, at BIGINT"
SETTINGS = OperatorSettings("visits", "account BIGINT, what STRING, count BIGINT, watermark BIGINT")
# A directory may be called anything that a file system takes.
ODD = "100 %20 #? *[x]{y} \\ +ä:€ '\"<>|,;&=@$^`"
BACKLOG = [(account, "remind" if account == 4 else "add", 100 + account) for account in range(6)]


class Visits(KeyedProcessFunction):
    """Counts rows until one clears the count; of some, it reminds 50 ms later."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        if value.what == "remind":
            context.timer_service.register_event_time_timer(value.at + 50)
        yield self._row(value.what, context)
        if value.what == "clear":
            self.count.clear()

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterator[Any]:
        yield self._row(f"reminder {timestamp}", context)

    def _row(self, what: str, context: KeyedContext) -> tuple[Any, ...]:
        watermark = context.timer_service.current_watermark()
        return context.current_key, what, self.count.value(), watermark


def keyed(rows: DataFrame) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("account")


def counts(spark: SparkSession, path: str) -> dict[int, int]:
    savepoint = Savepoint.load(spark, path, uids=["visits"])
    return {row.key: row["count"] for row in savepoint.read_keyed_state("visits").collect()}


def test_what_is_cleared_stays_so_and_timers_wake_keys_that_were_never_visited(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = StreamedRows(tmp_path / "live", COLUMNS)
    past = spark.createDataFrame(BACKLOG, COLUMNS)
    job = MixedModeJob.of(
        keyed(past), keyed(rows.frame(spark)), Visits(), SETTINGS, str(tmp_path / ODD / "job")
    )
    given: dict[int, list[Any]] = {}

    def keep(batch: DataFrame, batch_id: int) -> None:
        given[batch_id] = list(map(tuple, batch.collect()))

    rows.put([(0, "clear", 110), (1, "add", 111)])
    with job.start(keep) as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / ODD / "first"))
    assert counts(spark, str(tmp_path / ODD / "first")) == {1: 2, 2: 1, 3: 1, 4: 1, 5: 1}
    # Another process would begin like this: it knows nothing of what was visited.
    rows.put([(0, "add", 112), (9, "add", 160)])
    with job.start(keep) as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / ODD / "second"))
        visits = sum(batch.visits for batch in running.batches)
    assert counts(spark, str(tmp_path / ODD / "second")) == {
        0: 1,
        1: 2,
        2: 1,
        3: 1,
        4: 1,
        5: 1,
        9: 1,
    }
    second = Savepoint.load(spark, str(tmp_path / ODD / "second"), uids=["visits"])
    assert second.read_timers("visits").count() == 0
    streamed = sorted(row for number, batch in given.items() if number >= 0 for row in batch)
    assert streamed == [
        (0, "add", 1, 110),
        (0, "clear", 2, 104),
        (1, "add", 2, 104),
        (4, "reminder 154", 1, 159),
        (9, "add", 1, 110),
    ]
    assert visits == 3  # those of 0 and 9, which have rows, and of 4, whose timer is due


def test_a_job_goes_on_from_a_savepoint_of_another(spark: SparkSession, tmp_path: Path) -> None:
    before = str(tmp_path / ODD / "before")
    made = keyed(spark.createDataFrame(BACKLOG, COLUMNS)).transform(Visits())
    Savepoint.create(spark).with_operator("visits", made).write(before)
    rows = StreamedRows(tmp_path / "live", COLUMNS)
    rows.put([(0, "add", 210), (2, "add", 211), (9, "add", 212)])
    past = spark.createDataFrame([(2, "add", 200), (3, "add", 201)], COLUMNS)
    job = MixedModeJob.of(
        keyed(past),
        keyed(rows.frame(spark)),
        Visits(),
        SETTINGS,
        str(tmp_path / "job"),
        initial=Savepoint.load(spark, before, uids=["visits"]).operator("visits"),
    )
    with job.start() as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / "after"))
    expected = {0: 2, 1: 1, 2: 3, 3: 2, 4: 1, 5: 1, 9: 1}
    assert counts(spark, str(tmp_path / "after")) == expected


def test_a_stream_that_is_over_fires_all_timers_and_leaves_a_complete_savepoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = StreamedRows(tmp_path / "live", COLUMNS)
    rows.put([(0, "remind", 210), (2, "add", 211)])
    rows.put([(9, "remind", 300)])
    job = MixedModeJob.of(
        keyed(spark.createDataFrame(BACKLOG, COLUMNS)),
        keyed(rows.frame(spark)),
        Visits(),
        SETTINGS,
        str(tmp_path / "job"),
    )
    given: dict[int, list[Any]] = {}

    def keep(batch: DataFrame, number: int) -> None:
        given[number] = sorted(map(tuple, batch.collect()))

    job.finish(str(tmp_path / "last"), keep)
    fired = sorted(row[:3] for of in given.values() for row in of if "reminder" in row[1])
    assert fired == [(0, "reminder 260", 2), (4, "reminder 154", 1), (9, "reminder 350", 1)]
    # Event time has reached 299 by the rows.
    assert (9, "reminder 350", 1, 2**63 - 1) in given[max(given)]
    last = Savepoint.load(spark, str(tmp_path / "last"), uids=["visits"])
    assert counts(spark, str(tmp_path / "last")) == {0: 2, 1: 1, 2: 2, 3: 1, 4: 1, 5: 1, 9: 1}
    assert last.read_timers("visits").count() == 0
    assert CommittedBatch.beside(str(tmp_path / "last")).offsets


def test_a_stream_without_rows_ends_with_the_state_of_the_switch(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = MixedModeJob.of(
        keyed(spark.createDataFrame(BACKLOG, COLUMNS)),
        keyed(StreamedRows(tmp_path / "live", COLUMNS).frame(spark)),
        Visits(),
        SETTINGS,
        str(tmp_path / "job"),
    )
    given: dict[int, list[Any]] = {}
    job.finish(
        str(tmp_path / "last"), lambda rows, number: given.setdefault(number, rows.collect())
    )
    assert [row.what for row in given[0]] == ["reminder 154"]
    assert counts(spark, str(tmp_path / "last")) == dict.fromkeys(range(6), 1)
