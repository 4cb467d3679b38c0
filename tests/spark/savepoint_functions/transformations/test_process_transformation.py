"""Functions over keyed rows give the same state and rows however they are run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from savepoint_formats.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    DuplicateKeyError,
    SavepointError,
    UnstableKeyError,
)
from savepoint_functions.functions.process_functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
)
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_spark.writing.write_context import StateTransformation

BACKEND = "state.backend.type"
BACKENDS = ["single_key", "rocksdb"]
COUNT = ValueStateDescriptor("count", Types.LONG())


class History(KeyedStateBootstrapFunction):
    """State of each kind that does not depend on the order of rows, and timers."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", Types.LONG(), max)
        )
        self.odd = runtime_context.get_list_state(ListStateDescriptor("odd", Types.LONG()))
        self.by_digit = runtime_context.get_map_state(
            MapStateDescriptor("by_digit", Types.LONG(), Types.LONG())
        )

    def process_element(self, value: Any, context: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.most.add(value.id)
        if value.id % 100 == 1:
            self.odd.add(value.id)
        digit = value.id % 10
        self.by_digit.put(digit, (self.by_digit.get(digit) or 0) + 1)
        if value.id % 3 == 0:
            context.timer_service.register_event_time_timer(value.id)
        if value.id % 5 == 0:
            context.timer_service.register_processing_time_timer(value.id)
            context.timer_service.delete_event_time_timer(value.id)


class Ranks(KeyedProcessFunction):
    """Rows as they come, and what fires at the end."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: Any) -> Any:
        rank = (self.count.value() or 0) + 1
        self.count.update(rank)
        service = context.timer_service
        service.register_event_time_timer(-value.id)
        yield context.current_key, rank, context.timestamp, service.current_watermark()

    def on_timer(self, timestamp: int, context: Any) -> Any:
        self.count.update(self.count.value() + 1)
        watermark = context.timer_service.current_watermark()
        yield context.current_key, self.count.value(), timestamp, watermark


RANKS = "key STRING, rank BIGINT, timestamp BIGINT, watermark BIGINT"


@pytest.fixture
def words(spark: SparkSession) -> DataFrame:
    word = F.concat(F.lit("wörd "), (F.col("id") * 7 % 53).cast("string"))
    return spark.range(3000, numPartitions=3).select("id", word.alias("word"))


def state_of(
    spark: SparkSession, transformation: StateTransformation, folder: Path
) -> tuple[list[Any], list[Any]]:
    """The keyed state and the timers of a savepoint of one operator."""
    path = str(folder / f"savepoint {len(list(folder.iterdir()))}")
    writer = Savepoint.create(spark, parallelism=2).with_operator("operator", transformation)
    writer.write(path)
    savepoint = Savepoint.load(spark, path, uids=["operator"])
    rows = savepoint.read_keyed_state("operator").orderBy("key").collect()
    has_timers = any(table.name == "timers" for table in savepoint.operator("operator").tables)
    timers = savepoint.read_timers("operator").collect() if has_timers else []
    states = [row.asDict(recursive=True) for row in rows]
    for state in states:
        if state.get("odd"):
            state["odd"] = sorted(state["odd"])
    return states, sorted((one.key, one.timestamp, one.time_domain) for one in timers)


class TestTransform:
    def test_each_backend_gives_the_same_state(
        self, spark: SparkSession, words: DataFrame, tmp_path: Path
    ) -> None:
        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        found = [
            state_of(spark, keyed.with_options({BACKEND: backend}).transform(History()), tmp_path)
            for backend in BACKENDS
        ]
        assert all(one == found[0] for one in found)
        states, timers = found[0]
        ids: dict[str, list[int]] = {f"wörd {number}": [] for number in range(53)}
        for number in range(3000):
            ids[f"wörd {number * 7 % 53}"].append(number)
        assert {row["key"]: (row["count"], row["most"]) for row in states} == {
            key: (len(of_key), max(of_key)) for key, of_key in ids.items()
        }
        assert timers == sorted(
            (key, number, "EVENT_TIME" if number % 5 else "PROCESSING_TIME")
            for key, of_key in ids.items()
            for number in of_key
            if number % 3 == 0 or number % 5 == 0
        )

    def test_rows_of_a_key_come_in_the_order_of_their_timestamps(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        class Times(KeyedStateBootstrapFunction):
            def open(self, runtime_context: Any) -> None:
                descriptor = ListStateDescriptor("times", Types.LONG())
                self.times = runtime_context.get_list_state(descriptor)

            def process_element(self, value: Any, context: Any) -> None:
                self.times.add(context.timestamp)

        data = spark.range(500).select((F.col("id") % 3).alias("key"), (-F.col("id")).alias("at"))
        keyed = OperatorTransformation.bootstrap_with(data).assign_timestamps("at").key_by("key")
        states, _ = state_of(spark, keyed.transform(Times()), tmp_path)
        assert [row["times"] for row in states] == [
            sorted(-number for number in range(500) if number % 3 == key) for key in range(3)
        ]

    def test_rows_with_equal_timestamps_come_in_the_order_of_another_column(
        self, spark: SparkSession
    ) -> None:
        class Numbers(KeyedCoProcessFunction):
            def open(self, runtime_context: Any) -> None:
                descriptor = ListStateDescriptor("numbers", Types.LONG())
                self.numbers = runtime_context.get_list_state(descriptor)

            def process_element1(self, value: Any, context: Any) -> None:
                self.numbers.add(value.number)
                context.timer_service.register_event_time_timer(0)

            def process_element2(self, value: Any, context: Any) -> None:
                self.numbers.add(-value.number)

            def on_timer(self, timestamp: int, context: Any) -> Any:
                yield context.current_key, self.numbers.get()

        first, second = (
            OperatorTransformation.bootstrap_with(
                spark.range(start, end, numPartitions=3)
                .orderBy(F.rand(7))
                .selectExpr("id % 3 AS key", "id AS number", "id div 50 AS at")
            )
            .assign_timestamps("at", "number")
            .key_by("key")
            for start, end in ((0, 200), (100, 150))
        )
        rows = first.connect(second).process(Numbers(), "key BIGINT, numbers ARRAY<BIGINT>")
        for key, numbers in rows.collect():
            ours = [number for number in range(200) if number % 3 == key]
            theirs = [-number for number in ours if 100 <= number < 150]
            assert numbers == [
                *(number for number in ours if number < 150),
                *theirs,
                *(number for number in ours if number >= 150),
            ]

    def test_a_column_without_order_breaks_no_tie_and_rows_without_keys_have_none(
        self, spark: SparkSession
    ) -> None:
        rows = OperatorTransformation.bootstrap_with(
            spark.sql("SELECT 1L AS at, 2L AS number, map(1, 2) AS pairs")
        )
        with pytest.raises(ColumnTypeError, match="'pairs' is map<int,int>, which has no order"):
            rows.assign_timestamps("at", "pairs")
        with pytest.raises(ColumnNotFoundError, match="no column 'nunber'"):
            rows.assign_timestamps("at", "nunber")
        with pytest.raises(ValueError, match="tie_breaker orders the rows of a key"):
            rows.assign_timestamps("at", "number").broadcast(
                MapStateDescriptor("a", Types.LONG(), Types.LONG())
            )

    def test_a_function_over_tables_gives_the_state_of_one_over_rows(
        self, spark: SparkSession, words: DataFrame, tmp_path: Path
    ) -> None:
        def counts(rows: pa.Table) -> pa.Table:
            found = rows.group_by("word", use_threads=False).aggregate([([], "count_all")])
            return found.rename_columns(["key", "count"])

        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        states, _ = state_of(spark, keyed.transform_batches(counts, COUNT), tmp_path)
        assert {row["key"]: row["count"] for row in states} == Counter(
            f"wörd {number * 7 % 53}" for number in range(3000)
        )


class TestProcess:
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_timers_fire_in_their_order_at_the_end_of_a_key(
        self, words: DataFrame, backend: str
    ) -> None:
        rows = OperatorTransformation.bootstrap_with(words.where("id < 200").coalesce(1))
        keyed = rows.assign_timestamps("id").key_by("word")
        way = keyed.with_options({BACKEND: backend})
        found = way.process(Ranks(), RANKS).where("key = 'wörd 7'").collect()
        ids = [number for number in range(200) if number * 7 % 53 == 7]
        expected = [(rank, number, -(2**63)) for rank, number in enumerate(ids, 1)]
        expected += [
            (rank, -number, 2**63 - 1) for rank, number in enumerate(reversed(ids), len(ids) + 1)
        ]
        assert [tuple(row)[1:] for row in found] == expected

    def test_two_inputs_are_merged_by_key_and_timestamp(self, spark: SparkSession) -> None:
        class Both(KeyedCoProcessFunction):
            def open(self, runtime_context: Any) -> None:
                self.count = runtime_context.get_state(COUNT)

            def process_element1(self, value: Any, context: Any) -> Any:
                yield context.current_key, f"order {value.order}", context.timestamp

            def process_element2(self, value: Any, context: Any) -> Any:
                yield context.current_key, f"payment {value.cents}", context.timestamp

        orders = spark.createDataFrame([(1, 10, 5), (2, 20, 7)], "id BIGINT, order INT, at BIGINT")
        payments = spark.createDataFrame(
            [(1, 99, 3), (1, 98, 5), (3, 97, 1)], "id BIGINT, cents INT, at BIGINT"
        )
        keyed = [
            OperatorTransformation.bootstrap_with(one).assign_timestamps("at").key_by("id")
            for one in (orders, payments)
        ]
        found = keyed[0].connect(keyed[1]).process(Both(), "key BIGINT, what STRING, at BIGINT")
        of_keys: dict[int, list[str]] = {}
        for row in found.collect():
            of_keys.setdefault(row.key, []).append(row.what)
        assert of_keys == {
            1: ["payment 99", "order 10", "payment 98"],
            2: ["order 20"],
            3: ["payment 97"],
        }


class Switching(KeyedProcessFunction):
    """Goes to another key by itself."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: Any) -> Any:
        context.set_current_key("all")
        self.count.update((self.count.value() or 0) + 1)


class TestRefusals:
    def test_a_function_that_goes_to_another_key(self, words: DataFrame) -> None:
        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        with pytest.raises(PySparkException, match=r"sees the state of the key of its row alone"):
            keyed.process(Switching(), "key STRING, count BIGINT").collect()

    def test_keys_whose_bytes_are_not_stable(self, spark: SparkSession) -> None:
        data = spark.sql("SELECT map('a', 1L) AS tags")
        keyed = OperatorTransformation.bootstrap_with(data).key_by(
            "tags", key_type=Types.MAP(Types.STRING(), Types.LONG())
        )
        with pytest.raises(UnstableKeyError, match="a map, whose entries have no order"):
            keyed.transform(History())

    def test_inputs_whose_keys_differ_in_type(self, words: DataFrame) -> None:
        by_word = OperatorTransformation.bootstrap_with(words).key_by("word")
        by_id = OperatorTransformation.bootstrap_with(words).key_by("id")

        class Nothing(KeyedCoProcessFunction):
            def process_element1(self, value: Any, context: Any) -> None: ...

            def process_element2(self, value: Any, context: Any) -> None: ...

        with pytest.raises(ColumnTypeError, match="of another type"):
            by_word.connect(by_id).transform(Nothing())

    def test_a_function_of_another_kind(self, words: DataFrame) -> None:
        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        with pytest.raises(TypeError, match="History is no KeyedProcessFunction"):
            keyed.process(History(), RANKS)

    @pytest.mark.parametrize("backend", ["single_key", "rocksdb"])
    def test_text_that_is_no_utf8(
        self, spark: SparkSession, words: DataFrame, tmp_path: Path, backend: str
    ) -> None:
        class Cut(KeyedStateBootstrapFunction):
            def open(self, runtime_context: Any) -> None:
                descriptor = ValueStateDescriptor("text", Types.STRING())
                self.text = runtime_context.get_state(descriptor)

            def process_element(self, value: Any, context: Any) -> None:
                self.text.update(value.word + "\ud83d")

        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        cut = keyed.with_options({BACKEND: backend}).transform(Cut())
        # Values of one backend are encoded at once, those of the other become columns first.
        with pytest.raises((SavepointError, PySparkException), match="surrogate"):
            state_of(spark, cut, tmp_path)

    def test_tables_with_text_that_is_no_utf8(
        self, spark: SparkSession, words: DataFrame, tmp_path: Path
    ) -> None:
        def cut(rows: pa.Table) -> pa.Table:
            keys = rows.column("word").unique()
            texts = pa.array([b"\xed\xa0\xbd"] * len(keys), pa.binary()).view(pa.utf8())
            return pa.table({"key": keys, "text": texts})

        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        text = ValueStateDescriptor("text", Types.STRING())
        with pytest.raises(SavepointError, match=r"UTF8.*column 'text'"):
            state_of(spark, keyed.transform_batches(cut, text), tmp_path)

    def test_a_table_with_two_rows_of_a_key(
        self, spark: SparkSession, words: DataFrame, tmp_path: Path
    ) -> None:
        def twice(rows: pa.Table) -> pa.Table:
            return rows.select(["word", "id"]).rename_columns(["key", "count"])

        keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
        with pytest.raises(DuplicateKeyError):
            state_of(spark, keyed.transform_batches(twice, COUNT), tmp_path)
