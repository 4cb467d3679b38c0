"""A stream while it runs: timers of the clock, savepoints, progress; and wrong calls."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from support.nightly import nightly
from support.streamed_rows import StreamedRows

from savepoint_formats.errors import SavepointNotFoundError, UnstableKeyError
from state_processor import (
    Backlog,
    BacklogProgress,
    BatchProgress,
    CommittedBatch,
    KeyedProcessFunction,
    ListStateDescriptor,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    ParquetOutput,
    Savepoint,
    TumblingWindows,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext, RecordAttributes
    from savepoint_functions.transformations.process_transformation import KeyedRowsTransformation
    from savepoint_spark.reading.functions import RuntimeContext

# Workers that Spark starts on the driver find less than this process does.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

COLUMNS = "word STRING, at BIGINT"
OUTPUT = "word STRING, what STRING, count BIGINT"
INTERVAL = "execution.checkpointing.interval"
DURING_BACKLOG = "execution.checkpointing.interval-during-backlog"


class Counts(KeyedProcessFunction):
    """Counts rows, and rings by the clock and by event time."""

    def __init__(self, delay_ms: int = 10**10) -> None:
        self.delay_ms = delay_ms

    def open(self, runtime_context: RuntimeContext) -> None:
        get = runtime_context
        self.count = get.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.phases = get.get_list_state(ListStateDescriptor("phases", Types.BOOLEAN()))
        self.is_backlog = False

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        self.is_backlog = attributes.is_backlog

    def process_element(self, value: Any, context: KeyedContext) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.phases.add(self.is_backlog)
        timers = context.timer_service
        timers.register_event_time_timer(value.at + 5)
        timers.register_processing_time_timer(
            timers.current_processing_time() + self.delay_ms + value.at
        )
        if value.word == "wrong":
            raise ValueError("no such word")
        if value.word == "other key":
            context.set_current_key("b")

    def on_timer(self, timestamp: int, context: KeyedContext) -> Any:
        yield context.current_key, context.time_domain, self.count.value()


def keyed(rows: DataFrame) -> KeyedRowsTransformation:
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("word").rows


@pytest.fixture
def live(tmp_path: Path) -> StreamedRows:
    return StreamedRows(tmp_path / "live", COLUMNS)


@pytest.fixture
def past(spark: SparkSession) -> KeyedRowsTransformation:
    rows = [(f"w{number % 3}", number) for number in range(100, 130)]
    return keyed(spark.createDataFrame(rows, COLUMNS))


SETTINGS = OperatorSettings("counts", OUTPUT)


@nightly
def test_history_as_a_stream_leaves_what_a_backlog_leaves(
    spark: SparkSession, live: StreamedRows, past: KeyedRowsTransformation, tmp_path: Path
) -> None:
    live.put([("w0", 140), ("new", 141)])
    rows, history = past.inputs[0].data, str(tmp_path / "history")
    rows.write.parquet(history)
    streamed = spark.readStream.schema(rows.schema).parquet(history)
    whole = keyed(streamed.unionAll(live.frame(spark)))
    told: dict[str, list[BacklogProgress | BatchProgress]]
    told = {"batch": [], "stream": [], "interval": []}
    found = []
    for name, backlog, stream in (
        ("batch", past, keyed(live.frame(spark))),
        ("stream", keyed(rows.limit(0)), whole),
        ("interval", past.with_options({DURING_BACKLOG: "1 ms"}), keyed(live.frame(spark))),
    ):
        folder = tmp_path / name
        job = MixedModeJob.of(backlog, stream, Counts(), SETTINGS, str(folder / "job"))
        for _ in range(2):  # the second time there is nothing left to do
            with job.start(ParquetOutput(str(folder / "output")), told[name].append) as running:
                running.process_all_available()
                path = str(folder / f"savepoint {len(list(folder.iterdir()))}")
                running.take_savepoint(path)
        savepoint = Savepoint.load(spark, path, uids=["counts"])
        keys = savepoint.read_keyed_state("counts").orderBy("key").collect()
        timers = savepoint.read_timers("counts").where("time_domain = 'EVENT_TIME'")
        output = spark.read.parquet(str(folder / "output")).drop("batch")
        found.append(
            (
                [(row["key"], row["count"]) for row in keys],
                sorted(row.timestamp for row in timers.collect()),
                output.count(),
            )
        )
        phases = keys[1]["phases"]
        assert phases == [name == "batch"] * 10 + [False]
    assert found[0] == found[1] == found[2]
    streamed_backlog = tmp_path / "interval" / "job" / "streamed-backlog"
    assert len(list((streamed_backlog / "savepoints").iterdir())) == 1
    assert not list(streamed_backlog.parent.glob("backlog-*"))
    state, timers_left, fired = found[0]
    assert state == [("new", 1), ("w0", 11), ("w1", 10), ("w2", 10)]
    assert timers_left == [145, 146]
    assert fired == 30
    for name, rows_of_stream in (("batch", 2), ("stream", 32), ("interval", 32)):
        batches = [one for one in told[name] if isinstance(one, BatchProgress)]
        assert sum(batch.rows for batch in batches) == rows_of_stream
    # That of the batch: the second time, there was none.
    backlog_told = [one for one in told["batch"] if isinstance(one, BacklogProgress)]
    assert (backlog_told[0].rows, backlog_told[0].is_done) == (0, False)
    assert [(one.rows, one.keys) for one in backlog_told if one.is_done] == [(30, 3)]
    assert isinstance(told["batch"][len(backlog_told)], BatchProgress)
    assert str(told["batch"][-1]).startswith("stream: batch ")


def test_the_clock_wakes_keys_that_have_no_rows_and_takes_savepoints(
    spark: SparkSession, live: StreamedRows, past: KeyedRowsTransformation, tmp_path: Path
) -> None:
    options = {INTERVAL: "500 ms"}
    stream = keyed(live.frame(spark))
    job = MixedModeJob.of(
        past.with_options(options), stream, Counts(4_000), SETTINGS, str(tmp_path / "job")
    )
    output = str(tmp_path / "output")
    with job.start(ParquetOutput(output)) as running:
        live.put([("w0", 140), ("new", 141)])
        running.process_all_available()
        deadline = time.monotonic() + 120
        while rung(spark, output) < 32 and time.monotonic() < deadline:
            time.sleep(0.5)
        while running.last_savepoint is None and time.monotonic() < deadline:
            time.sleep(0.1)
    assert rung(spark, output) == 32
    assert running.last_savepoint is not None
    assert [str(path) for path in (tmp_path / "job" / "savepoints").iterdir()] == [
        running.last_savepoint
    ]
    batch = CommittedBatch.beside(running.last_savepoint)
    assert batch.offsets[0] == {"logOffset": 0}
    savepoint = Savepoint.load(spark, running.last_savepoint, uids=["counts"])
    counts = savepoint.read_keyed_state("counts").agg({"count": "sum"}).collect()[0][0]
    assert counts == 32


def rung(spark: SparkSession, output: str) -> int:
    """How many timers of processing time have fired."""
    return spark.read.parquet(output).where("what = 'PROCESSING_TIME'").count()


def test_a_function_that_fails_ends_the_stream_with_its_error_and_key(
    spark: SparkSession, live: StreamedRows, past: KeyedRowsTransformation, tmp_path: Path
) -> None:
    stream = keyed(live.frame(spark))
    job = MixedModeJob.of(past, stream, Counts(), SETTINGS, str(tmp_path / "job"))
    with job.start() as running:
        with pytest.raises(SavepointNotFoundError, match="no committed batch yet"):
            running.take_savepoint(str(tmp_path / "savepoint"))
        live.put([("wrong", 140)])
        with pytest.raises(StreamingQueryException, match="no such word") as caught:
            running.process_all_available()
        assert not running.is_active
    assert "in Counts for key 'wrong'" in str(caught.value)
    with job.start() as running, pytest.raises(StreamingQueryException, match="no such word"):
        running.await_termination(120)


def test_a_streamed_backlog_comes_in_the_order_of_its_timestamps(
    spark: SparkSession, live: StreamedRows, tmp_path: Path
) -> None:
    rows = [(f"w{number % 3}", number * 7 % 50) for number in range(50)]
    past = keyed(spark.createDataFrame(rows, COLUMNS).repartition(4))
    windows = past.window(TumblingWindows(10)).reduce(max, Types.LONG(), "at")
    settings = OperatorSettings("windows", "at BIGINT")
    live.put([("w0", 70)])
    outputs = []
    for name, backlog in (("batch", past), ("stream", past.with_options({DURING_BACKLOG: 1}))):
        function, folder = windows.operator, str(tmp_path / name)
        job = MixedModeJob.of(backlog, keyed(live.frame(spark)), function, settings, folder)
        job.finish(f"{folder}/last", ParquetOutput(f"{folder}/rows"))
        outputs.append(sorted(spark.read.parquet(f"{folder}/rows").select("at").collect()))
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 16
    with pytest.raises(ValueError, match="a backlog alone is a batch"):
        Backlog.of(backlog, function, settings.schema).run(f"{tmp_path}/alone", "windows")


def test_a_streamed_backlog_begins_again_when_a_process_of_python_starts_too_late(
    spark: SparkSession,
    live: StreamedRows,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    slow: None,
) -> None:
    python, was_late = tmp_path / "python", tmp_path / "was-late"
    python.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *driver_worker*) [ -e {was_late} ] || {{ touch {was_late}; sleep 12; }};; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    past = keyed(spark.createDataFrame([("a", 1), ("a", 2), ("b", 3)], COLUMNS))
    windows = past.window(TumblingWindows(10)).reduce(max, Types.LONG(), "at")
    settings, folder = OperatorSettings("windows", "at BIGINT"), str(tmp_path / "job")
    backlog, live_rows = past.with_options({DURING_BACKLOG: 1}), keyed(live.frame(spark))
    live.put([("c", 70)])
    job = MixedModeJob.of(backlog, live_rows, windows.operator, settings, folder)
    job.finish(f"{folder}/last", ParquetOutput(f"{folder}/rows"))
    assert was_late.exists()
    rows = spark.read.parquet(f"{folder}/rows").select("at").collect()
    assert sorted(row["at"] for row in rows) == [2, 3, 70]


class TestRefused:
    def test_what_is_no_pair_of_backlog_and_stream(
        self, live: StreamedRows, past: KeyedRowsTransformation, spark: SparkSession
    ) -> None:
        stream = keyed(live.frame(spark))
        with pytest.raises(ValueError, match="input 1 of the backlog is a stream"):
            MixedModeJob.of(stream, past, Counts(), SETTINGS, "x")
        with pytest.raises(ValueError, match="has 2 inputs, the stream one input"):
            MixedModeJob.of(past.connect(past), stream, Counts(), SETTINGS, "x")
        untimed = OperatorTransformation.bootstrap_with(live.frame(spark)).key_by("word")
        with pytest.raises(ValueError, match="need timestamps"):
            MixedModeJob.of(past, untimed, Counts(), SETTINGS, "x")
        other = keyed(live.frame(spark).selectExpr("word", "cast(at AS INT) AS at"))
        with pytest.raises(ValueError, match="the stream word string, at int"):
            MixedModeJob.of(past, other, Counts(), SETTINGS, "x")

    def test_keys_that_differ_or_have_no_stable_bytes(
        self, live: StreamedRows, past: KeyedRowsTransformation, spark: SparkSession
    ) -> None:
        rows = OperatorTransformation.bootstrap_with(live.frame(spark)).assign_timestamps("at")
        with pytest.raises(ValueError, match="keys of backlog and stream"):
            MixedModeJob.of(past, rows.key_by("at"), Counts(), SETTINGS, "x")
        maps = "map(word, at) AS word", "at"
        unstable = (
            OperatorTransformation.bootstrap_with(data.selectExpr(*maps))
            .assign_timestamps("at")
            .key_by("word", key_type=Types.MAP(Types.STRING(), Types.LONG()))
            for data in (past.inputs[0].data, live.frame(spark))
        )
        with pytest.raises(UnstableKeyError):
            MixedModeJob.of(next(unstable), next(unstable), Counts(), SETTINGS, "x")

    def test_a_function_of_another_kind_and_settings_out_of_range(
        self, live: StreamedRows, past: KeyedRowsTransformation, spark: SparkSession
    ) -> None:
        with pytest.raises(TypeError, match="str is no KeyedProcessFunction"):
            MixedModeJob.of(past, keyed(live.frame(spark)), "f", SETTINGS, "x")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="out_of_orderness_ms=-1"):
            OperatorSettings("counts", OUTPUT, out_of_orderness_ms=-1)
        with pytest.raises(ValueError, match="parallelism 9 of max parallelism 8"):
            OperatorSettings("counts", OUTPUT, parallelism=9, max_parallelism=8)

    def test_a_directory_that_is_a_uri_with_a_character_that_is_escaped_there(
        self, live: StreamedRows, past: KeyedRowsTransformation, spark: SparkSession
    ) -> None:
        with pytest.raises(ValueError, match="'s3://my jobs/x' has ' ' in its name"):
            MixedModeJob.of(past, keyed(live.frame(spark)), Counts(), SETTINGS, "s3://my jobs/x")

    def test_a_savepoint_without_offsets(self, tmp_path: Path) -> None:
        with pytest.raises(SavepointNotFoundError, match=r"has no stream_offsets.json"):
            CommittedBatch.beside(str(tmp_path))
