"""A backlog runs in one batch: its state and its output are of the same run, and so is its watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from savepoint_extensions.mixed_mode.backlog_result import BacklogFiles
from savepoint_formats.errors import (
    FunctionResultError,
    OperatorNotFoundError,
    SavepointExistsError,
    SavepointNotFoundError,
)
from state_processor import (
    Backlog,
    BacklogCounts,
    BacklogResult,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext, RecordAttributes
    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
    from savepoint_spark.reading.functions import RuntimeContext

MIN_WATERMARK = -(2**63)
ACCOUNTS = 7
SCHEMA = "account BIGINT, at BIGINT"


class Notes(KeyedProcessFunction):
    """Notes all that happens to a key, in the order in which it does."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.notes = runtime_context.get_list_state(ListStateDescriptor("notes", Types.STRING()))

    def process_element(self, value: Any, context: KeyedContext) -> Any:
        self.notes.add(f"row {context.timestamp}")
        yield context.current_key, context.timestamp


class Alarms(Notes):
    """Sets a timer of the clock that is due at once, and one that is not."""

    def process_element(self, value: Any, context: KeyedContext) -> Any:
        yield from super().process_element(value, context)
        context.timer_service.register_processing_time_timer(value.at)
        context.timer_service.register_processing_time_timer(2**62)
        context.timer_service.register_event_time_timer(value.at)

    def on_timer(self, timestamp: int, context: KeyedContext) -> None:
        watermark = context.timer_service.current_watermark()
        self.notes.add(f"{context.time_domain} {timestamp} at {watermark}")


class Told(Notes):
    """Writes down what it is told, and when, in a file of each task."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.told: list[str] = []

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        self.told.append(f"is_backlog={attributes.is_backlog}")

    def process_element(self, value: Any, context: KeyedContext) -> Any:
        self.told.append("row")

    def close(self) -> None:
        if self.told:
            from pathlib import Path  # noqa: PLC0415  # it is pickled
            from uuid import uuid4  # noqa: PLC0415

            Path(self.folder, uuid4().hex).write_text(" ".join(self.told), encoding="utf-8")


class Failing(Notes):
    def process_element(self, value: Any, context: KeyedContext) -> Any:
        if value.at == 50:
            raise ArithmeticError("no such row")


class Sides(KeyedCoProcessFunction):
    """Notes of which input a row is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.notes = runtime_context.get_list_state(ListStateDescriptor("notes", Types.STRING()))

    def process_element1(self, value: Any, context: KeyedContext) -> None:
        self.notes.add(f"one {value.at}")
        context.timer_service.register_event_time_timer(60)

    def process_element2(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        self.notes.add(f"two {value.at}")
        yield context.current_key, value.at

    def on_timer(self, timestamp: int, context: KeyedContext) -> None:
        self.notes.add(f"timer at {context.timer_service.current_watermark()}")


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql(f"SELECT id AS at, id % {ACCOUNTS} AS account FROM range(100)")


def keyed(rows: DataFrame) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("account")


def notes(result: BacklogResult) -> dict[int, list[str]]:
    table = result.savepoint.read_keyed_state("notes")
    return {row.key: row.notes for row in table.collect()}


def noted() -> dict[int, list[str]]:
    return {key: [f"row {at}" for at in range(key, 100, ACCOUNTS)] for key in range(ACCOUNTS)}


def test_state_and_output_come_of_one_run(rows: DataFrame, tmp_path: Path) -> None:
    backlog = Backlog.of(keyed(rows), Notes(), SCHEMA, out_of_orderness_ms=10)
    assert backlog.watermark() == 88
    result = backlog.run(str(tmp_path), "notes", parallelism=2)
    assert notes(result) == noted()
    expected = sorted((at % ACCOUNTS, at) for at in range(100))
    assert sorted(map(tuple, result.output.collect())) == expected
    assert result.watermark == 88
    assert result.counts == BacklogCounts(100, ACCOUNTS, 100, state_reads=0, state_writes=ACCOUNTS)


def test_the_state_is_that_of_a_bounded_run(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    path = str(tmp_path / "bounded")
    bounded = keyed(rows).transform(Notes())
    Savepoint.create(spark, parallelism=1).with_operator("notes", bounded).write(path)
    table = Savepoint.load(spark, path, uids=["notes"]).read_keyed_state("notes")
    result = Backlog.of(keyed(rows), Notes(), SCHEMA).run(str(tmp_path / "mixed"), "notes")
    assert notes(result) == {row.key: row.notes for row in table.collect()}


def test_nobody_counts_the_accesses_to_rocksdb(rows: DataFrame, tmp_path: Path) -> None:
    on_disk = keyed(rows).with_options({"state.backend.type": "rocksdb"})
    result = Backlog.of(on_disk, Notes(), SCHEMA).run(str(tmp_path), "notes")
    assert notes(result) == noted()
    assert (result.counts.state_reads, result.counts.state_writes) == (None, None)


def test_the_clock_fires_timers_between_rows_and_the_watermark_at_their_end(
    rows: DataFrame, tmp_path: Path
) -> None:
    backlog = Backlog.of(keyed(rows), Alarms(), SCHEMA, out_of_orderness_ms=10)
    result = backlog.run(str(tmp_path), "notes")
    of_rows = [
        note
        for at in range(3, 100, ACCOUNTS)
        for note in (f"row {at}", f"PROCESSING_TIME {at} at {MIN_WATERMARK}")
    ]
    due = [f"EVENT_TIME {at} at 88" for at in range(3, 89, ACCOUNTS)]
    assert notes(result)[3] == of_rows + due
    timers = result.savepoint.read_timers("notes").where("key = 3").collect()
    assert sorted((row.time_domain, row.timestamp) for row in timers) == [
        ("EVENT_TIME", 94),
        ("PROCESSING_TIME", 2**62),
    ]


def test_a_function_is_told_where_the_backlog_begins_and_ends(
    rows: DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "told").mkdir()
    Backlog.of(keyed(rows), Told(str(tmp_path / "told")), SCHEMA).run(str(tmp_path), "notes")
    told = [file.read_text(encoding="utf-8").split() for file in (tmp_path / "told").iterdir()]
    assert told
    for words in told:
        assert words == ["is_backlog=True", *["row"] * (len(words) - 2), "is_backlog=False"]
    assert sum(len(words) - 2 for words in told) == 100


def test_two_inputs_have_the_watermark_of_the_one_that_is_behind(
    rows: DataFrame, tmp_path: Path
) -> None:
    both = keyed(rows.where("at < 70")).connect(keyed(rows.where("at % 2 = 0")))
    result = Backlog.of(both, Sides(), SCHEMA).run(str(tmp_path), "notes")
    assert result.watermark == 68
    merged = sorted(
        [(at, "one") for at in range(3, 70, 7)] + [(at, "two") for at in range(10, 99, 14)]
    )
    expected = [f"{side} {at}" for at, side in merged]
    assert notes(result)[3] == [*expected, "timer at 68"]


def test_a_backlog_without_timestamps_has_no_watermark(rows: DataFrame, tmp_path: Path) -> None:
    without = OperatorTransformation.bootstrap_with(rows).key_by("account")
    result = Backlog.of(without, Alarms(), SCHEMA).run(str(tmp_path), "notes")
    assert result.watermark == MIN_WATERMARK
    assert result.savepoint.read_timers("notes").where("time_domain = 'EVENT_TIME'").count() == 100


def test_a_backlog_without_rows_leaves_a_savepoint_without_keys(
    rows: DataFrame, tmp_path: Path
) -> None:
    result = Backlog.of(keyed(rows.where("at < 0")), Notes(), SCHEMA).run(str(tmp_path), "notes")
    assert result.savepoint.read_keyed_state("notes").count() == 0
    assert result.output.collect() == []
    assert (result.watermark, result.counts.keys) == (MIN_WATERMARK, 0)


def test_output_has_columns_of_any_type(rows: DataFrame, tmp_path: Path) -> None:
    class Nested(Notes):
        def process_element(self, value: Any, context: KeyedContext) -> Any:
            from datetime import UTC, datetime  # noqa: PLC0415  # it is pickled

            at = datetime.fromtimestamp(value.at, UTC)
            yield {"at": at, "pair": {"a": value.at, "b": [None, "x"]}, "by": {"k": b"v"}}

    schema = "at TIMESTAMP NOT NULL, pair STRUCT<a: INT, b: ARRAY<STRING>>, by MAP<STRING, BINARY>"
    nested = Nested()
    result = Backlog.of(keyed(rows.where("at < 3")), nested, schema).run(str(tmp_path), "notes")
    found = result.output.orderBy("at").select(F.unix_seconds("at").alias("at"), "pair", "by")
    assert [row.asDict(recursive=True) for row in found.collect()] == [
        {"at": at, "pair": {"a": at, "b": [None, "x"]}, "by": {"k": b"v"}} for at in range(3)
    ]


def test_a_finished_backlog_is_found_again_and_not_run_again(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    assert BacklogResult.find(spark, str(tmp_path), "notes") is None
    backlog = Backlog.of(keyed(rows), Notes(), SCHEMA)
    result = backlog.run(str(tmp_path), "notes")
    found = BacklogResult.find(spark, str(tmp_path), "notes")
    assert found == result
    assert (found.counts, found.watermark) == (result.counts, result.watermark)
    with pytest.raises(SavepointExistsError, match="continue from it with BacklogResult"):
        backlog.run(str(tmp_path), "notes")
    with pytest.raises(OperatorNotFoundError):
        BacklogResult.find(spark, str(tmp_path), "other")


def test_a_run_that_fails_counts_for_nothing_and_the_next_begins_anew(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(PySparkException, match=r"no such row(?s:.)*in Failing for key 1"):
        Backlog.of(keyed(rows), Failing(), SCHEMA).run(str(tmp_path), "notes")
    (tmp_path / "mine").mkdir()
    assert BacklogResult.find(spark, str(tmp_path), "notes") is None
    result = Backlog.of(keyed(rows), Notes(), SCHEMA).run(str(tmp_path), "notes")
    assert notes(result) == noted()
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"mine", result.files.path.rpartition("/")[2]}


def test_a_savepoint_that_is_not_complete_is_none(tmp_path: Path) -> None:
    files = BacklogFiles.new(str(tmp_path))
    (tmp_path / files.savepoint).mkdir(parents=True)
    assert BacklogFiles.finished(str(tmp_path)) is None
    with pytest.raises(SavepointNotFoundError):
        Savepoint.open(files.savepoint)


def test_the_size_of_batches_is_that_of_the_session_again(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    setting = "spark.sql.execution.arrow.maxBytesPerBatch"
    before = spark.conf.get(setting)
    small = keyed(rows).with_options({"execution.sorted-inputs.memory": "1kb"})
    result = Backlog.of(small, Notes(), SCHEMA).run(str(tmp_path), "notes")
    assert notes(result) == noted()
    assert spark.conf.get(setting) == before


class TestRefused:
    def test_a_stream_is_no_backlog(self, spark: SparkSession, rows: DataFrame) -> None:
        stream = (
            spark.readStream.format("rate").load().selectExpr("value AS account", "value AS at")
        )
        with pytest.raises(ValueError, match="input 2 of the backlog is a stream, and an op"):
            Backlog.of(keyed(rows).connect(keyed(stream)), Sides(), SCHEMA)

    def test_a_function_of_another_kind(self, rows: DataFrame) -> None:
        class Bootstrap(KeyedStateBootstrapFunction):
            def process_element(self, value: Any, context: KeyedContext) -> None: ...

        with pytest.raises(TypeError, match="Bootstrap is no KeyedProcessFunction"):
            Backlog.of(keyed(rows), Bootstrap(), SCHEMA)
        with pytest.raises(TypeError, match="Notes is no KeyedCoProcessFunction"):
            Backlog.of(keyed(rows).connect(keyed(rows)), Notes(), SCHEMA)

    def test_rows_that_come_earlier_than_others(self, rows: DataFrame) -> None:
        with pytest.raises(ValueError, match="out_of_orderness_ms=-1, expected 0 or more"):
            Backlog.of(keyed(rows), Notes(), SCHEMA, out_of_orderness_ms=-1)

    def test_output_without_columns(self, rows: DataFrame) -> None:
        with pytest.raises(ValueError, match="the columns that Notes gives are not known"):
            Backlog.of(keyed(rows), Notes(), None)  # type: ignore[arg-type]  # that is refused


def test_values_that_do_not_fit_the_schema_are_told(rows: DataFrame, tmp_path: Path) -> None:
    class Nulls(Notes):
        def process_element(self, value: Any, context: KeyedContext) -> Any:
            yield context.current_key, None

    backlog = Backlog.of(keyed(rows), Nulls(), "account BIGINT, at BIGINT NOT NULL")
    with pytest.raises(FunctionResultError, match=r"gave null for key .* in column 'at'"):
        backlog.run(str(tmp_path), "notes")


def test_several_states_are_one_operator(rows: DataFrame, tmp_path: Path) -> None:
    class Two(Notes):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

        def process_element(self, value: Any, context: KeyedContext) -> Any:
            self.last.update(value.at)

    result = Backlog.of(keyed(rows), Two(), SCHEMA).run(str(tmp_path), "notes", max_parallelism=9)
    table = result.savepoint.read_keyed_state("notes")
    assert table.columns == ["key", "notes", "last"]
    assert {row.last for row in table.collect()} == set(range(93, 100))
    assert result.savepoint.operator("notes").record.max_parallelism == 9
