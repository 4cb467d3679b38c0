"""A function goes on from an operator of a savepoint: with its rows, and in the savepoint's place."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F
from support.streamed_rows import StreamedRows

from savepoint_formats.errors import RescaleError
from state_processor import (
    Backlog,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
    ListStateDescriptor,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    Savepoint,
    StateBootstrapFunction,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

# Workers do not find the modules of tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

COUNT = ValueStateDescriptor("count", Types.LONG())
NOTE = ValueStateDescriptor("note", Types.STRING())
COLUMNS = "word STRING, at BIGINT, count BIGINT"
KEYS = 40


class Counts(KeyedProcessFunction):
    """Counts rows, and tells the count a while after each."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        context.timer_service.register_event_time_timer(value.at + 100)

    def on_timer(self, timestamp: int, context: Any) -> Any:
        yield context.current_key, timestamp, self.count.value()


class Notes(KeyedStateBootstrapFunction):
    """A state that the counts know nothing of, beside them."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.note = runtime_context.get_state(NOTE)

    def process_element(self, value: Any, context: Any) -> None:
        self.count.update(10)
        self.note.update(f"of {value.word}")
        context.timer_service.register_event_time_timer(value.at)


class Offsets(StateBootstrapFunction):
    """State of the operator, without keys."""

    def open(self, runtime_context: Any) -> None:
        self.offsets = runtime_context.get_list_state(ListStateDescriptor("offsets", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> None:  # Flink's
        self.offsets.add(value.at)


def words(spark: SparkSession, start: int, end: int) -> DataFrame:
    word = F.concat(F.lit("wörd "), (F.col("id") % KEYS).cast("string"))
    return spark.range(start, end, numPartitions=2).select(
        word.alias("word"), F.col("id").alias("at")
    )


def keyed(rows: DataFrame) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("word")


@pytest.fixture(scope="module")
def yesterday(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """Words 0 to 39, each with a count of 10, a note and a timer; and list state."""
    rows, path = words(spark, 0, KEYS), str(tmp_path_factory.mktemp("yesterday"))
    offsets = OperatorTransformation.bootstrap_with(rows.where("at < 3")).transform(Offsets())
    writer = Savepoint.create(spark, parallelism=2)
    writer.with_operator("counts", keyed(rows).transform(Notes()), offsets).write(path)
    return Savepoint.load(spark, path, uids=["counts"])


def state_of(savepoint: SparkSavepoint) -> dict[str, tuple[int | None, str | None]]:
    rows = savepoint.read_keyed_state("counts").collect()
    return {row.key: (row["count"], row["note"]) for row in rows}


def timers_of(savepoint: SparkSavepoint) -> list[tuple[str, int]]:
    return sorted((row.key, row.timestamp) for row in savepoint.read_timers("counts").collect())


def test_a_run_has_rows_and_a_savepoint_in_the_place_of_the_old_one(
    spark: SparkSession, yesterday: SparkSavepoint, tmp_path: Path
) -> None:
    today = keyed(words(spark, 1000, 1003))
    before, timers = state_of(yesterday), timers_of(yesterday)
    run = today.run(
        Counts(),
        COLUMNS,
        initial=yesterday.operator("counts"),
        watermark=4,
    )
    # Words 0, 1 and 2 have had rows, before which their timers have fired; those of 0 to 4 are due.
    counts = {(f"wörd {number}", number, 10) for number in range(5)}
    assert set(map(tuple, run.output.collect())) == counts
    path = str(tmp_path / "2026-11-22")
    written = yesterday.with_operator("counts", run.state).write(path)
    assert not written.left_out
    found = Savepoint.load(spark, path, uids=["counts"])
    touched = {f"wörd {number}": (11, f"of wörd {number}") for number in range(3)}
    assert state_of(found) == before | touched
    new = [(f"wörd {number % KEYS}", number + 100) for number in range(1000, 1003)]
    assert timers_of(found) == sorted([one for one in timers if one[1] > 4] + new)
    assert sorted(row.value for row in found.read_list_state("counts", "offsets").collect()) == [
        0,
        1,
        2,
    ]


def test_a_transformation_fires_nothing_and_states_are_dropped_by_name(
    spark: SparkSession, yesterday: SparkSavepoint, tmp_path: Path
) -> None:
    today = keyed(words(spark, 1000, 1001)).transform(
        Counts(), initial=yesterday.operator("counts")
    )
    writer = yesterday.with_operator("counts", today)
    path = str(tmp_path / "savepoint")
    writer.remove_state("counts", "note").remove_state("counts", "offsets").write(path)
    found = Savepoint.load(spark, path, uids=["counts"])
    assert [table.name for table in found.operator("counts").tables] == ["keyed_state", "timers"]
    rows = {row.key: row["count"] for row in found.read_keyed_state("counts").collect()}
    assert rows == {f"wörd {number}": 10 + (number == 0) for number in range(KEYS)}
    assert timers_of(found) == sorted([*timers_of(yesterday), ("wörd 0", 1100)])
    with pytest.raises(RescaleError, match="has 128 key groups, and must not be written with 64"):
        yesterday.with_operator("counts", today, max_parallelism=64).write(str(tmp_path / "64"))


def test_all_timers_fire_at_the_end_of_rows_that_leave_no_state(
    spark: SparkSession, yesterday: SparkSavepoint
) -> None:
    nothing = keyed(words(spark, 0, 0))
    rows = nothing.process(Counts(), COLUMNS, initial=yesterday.operator("counts"))
    assert set(map(tuple, rows.collect())) == {(f"wörd {n}", n, 10) for n in range(KEYS)}


def test_a_backlog_goes_on_with_state_that_the_function_does_not_register(
    spark: SparkSession, yesterday: SparkSavepoint, tmp_path: Path
) -> None:
    today, initial = keyed(words(spark, 1000, 1003)), yesterday.operator("counts")
    backlog = Backlog.of(today, Counts(), COLUMNS, initial=initial, out_of_orderness_ms=990)
    result = backlog.run(str(tmp_path / "backlog"), "counts")
    # The watermark is 1002 - 990 - 1.
    fired = {(f"wörd {number}", number, 10) for number in range(12)}
    assert set(map(tuple, result.output.collect())) == fired
    assert state_of(result.savepoint)["wörd 0"] == (11, "of wörd 0")
    assert len(timers_of(result.savepoint)) == KEYS - 12 + 3
    assert result.savepoint.read_list_state("counts", "offsets").count() == 3


def test_a_stream_keeps_state_that_the_function_does_not_register(
    spark: SparkSession, yesterday: SparkSavepoint, tmp_path: Path
) -> None:
    live = StreamedRows(tmp_path / "live", "word STRING, at BIGINT")
    live.put([("wörd 1", 2000), ("wörd 77", 2001)])
    job = MixedModeJob.of(
        keyed(words(spark, 1000, 1003)),
        keyed(live.frame(spark)),
        Counts(),
        OperatorSettings("counts", COLUMNS),
        str(tmp_path / "job"),
        initial=yesterday.operator("counts"),
    )
    with job.start() as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / "after"))
    after = Savepoint.load(spark, str(tmp_path / "after"), uids=["counts"])
    expected = {f"wörd {n}": (10 + (n < 3) + (n == 1), f"of wörd {n}") for n in range(KEYS)}
    assert state_of(after) == expected | {"wörd 77": (1, None)}
    assert {row.value for row in after.read_list_state("counts", "offsets").collect()} == {0, 1, 2}


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        ({}, [10, 11, 12]),
        ({"execution.timers-between-rows.enabled": False}, [12, 12, 12]),
        ({"state.backend.type": "rocksdb"}, [10, 11, 12]),
    ],
)
def test_timers_fire_between_rows_unless_they_shall_fire_behind_them(
    spark: SparkSession, yesterday: SparkSavepoint, settings: Any, counts: list[int]
) -> None:
    today = spark.createDataFrame([("wörd 0", 1000), ("wörd 0", 2000)], "word STRING, at BIGINT")
    rows = (
        keyed(today.coalesce(1))
        .with_options(settings)
        .process(Counts(), COLUMNS, initial=yesterday.operator("counts"))
    )
    fired = [row for row in rows.collect() if row.word == "wörd 0"]
    assert [(row.at, row["count"]) for row in sorted(fired)] == list(
        zip([0, 1100, 2100], counts, strict=True)
    )


def test_the_out_of_orderness_keeps_event_time_behind_the_rows(
    spark: SparkSession, yesterday: SparkSavepoint
) -> None:
    today = spark.createDataFrame([("wörd 7", 1000), ("wörd 7", 2000)], "word STRING, at BIGINT")
    for late, first in ((992, 10), (993, 11)):
        rows = keyed(today).process(
            Counts(), COLUMNS, initial=yesterday.operator("counts"), out_of_orderness_ms=late
        )
        assert ("wörd 7", 7, first) in set(map(tuple, rows.collect()))
    with pytest.raises(ValueError, match="out_of_orderness_ms=-1, expected 0 or more"):
        keyed(today).process(Counts(), COLUMNS, out_of_orderness_ms=-1)
