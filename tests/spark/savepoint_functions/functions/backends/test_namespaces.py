"""Functions keep state for each namespace of a key, and a savepoint has it as window state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from savepoint_extensions.mixed_mode.backlog import Backlog
from savepoint_spark.reading.functions import TimeWindow
from state_processor import (
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
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

    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.process_functions import KeyedContext

BACKENDS = ["single_key", "rocksdb"]
SIZE = 10


class Windows(KeyedStateBootstrapFunction):
    """State of each key in each window of 10 ms, and in total."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        window = Types.TIME_WINDOW()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", Types.LONG(), max), namespace=window
        )
        self.ids = runtime_context.get_list_state(
            ListStateDescriptor("ids", Types.LONG()).with_ttl(), namespace=window
        )
        self.by_digit = runtime_context.get_map_state(
            MapStateDescriptor("by_digit", Types.LONG(), Types.LONG()), namespace=window
        )

    def process_element(self, value: Any, context: KeyedContext) -> None:
        self.count.update((self.count.value() or 0) + 1)
        start = value.id // SIZE * SIZE
        for state in (self.most, self.ids, self.by_digit):
            state.set_current_namespace(TimeWindow(start, start + SIZE))
        self.most.add(value.id)
        self.by_digit.put(value.id % 3, value.id)
        if value.id % 2:
            self.ids.add(value.id)
        if value.id % 20 == 19:
            self.most.clear()


class ByNumber(KeyedStateBootstrapFunction):
    """State whose namespaces are numbers, and some whose namespaces are texts."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        self.of_number = runtime_context.get_state(
            ValueStateDescriptor("of_number", Types.LONG()), namespace=Types.LONG()
        )

    def process_element(self, value: Any, context: KeyedContext) -> None:
        self.of_number.set_current_namespace(value.id % 4)
        self.of_number.update((self.of_number.value() or 0) + value.id)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, 200, numPartitions=1).selectExpr("id", "id % 7 AS key")


def written(spark: SparkSession, rows: DataFrame, function: Any, folder: Path, backend: str) -> str:
    path = str(folder / "savepoint")
    keyed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("id").key_by("key")
    operator = keyed.with_options({"state.backend.type": backend}).transform(function)
    Savepoint.create(spark, parallelism=2).with_operator("windows", operator).write(path)
    return path


def window_state(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    found = Savepoint.load(spark, path, uids=["windows"]).read_window_state("windows")
    return [row.asDict(recursive=True) for row in found.orderBy("key", "namespace").collect()]


def expected() -> list[dict[str, Any]]:
    found = []
    for key in range(7):
        for start in range(0, 200, SIZE):
            ids = [number for number in range(start, start + SIZE) if number % 7 == key]
            most = None
            for number in ids:
                most = number if number % 20 != 19 else None
            found.append(
                {
                    "key": key,
                    "namespace": {"start": start, "end": start + SIZE},
                    "most": most,
                    "ids": [number for number in ids if number % 2] or None,
                    "by_digit": {number % 3: number for number in ids},
                }
            )
    return [row for row in found if row["by_digit"]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_window_has_state_of_its_own_however_the_function_is_run(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, backend: str
) -> None:
    path = written(spark, rows, Windows(), tmp_path, backend)
    assert window_state(spark, path) == expected()
    keyed = Savepoint.load(spark, path, uids=["windows"]).read_keyed_state("windows")
    assert {row.key: row["count"] for row in keyed.collect()} == {
        key: len(range(key, 200, 7)) for key in range(7)
    }


class TimedWindows(KeyedStateBootstrapFunction):
    """Windows of 10 ms, each with a timer of either time domain, and a timer of the key."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        self.timers = runtime_context.get_internal_timer_service()
        self.most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", Types.LONG(), max), namespace=Types.TIME_WINDOW()
        )

    def process_element(self, value: Any, context: KeyedContext) -> None:
        start = value.id // SIZE * SIZE
        window = TimeWindow(start, start + SIZE)
        self.most.set_current_namespace(window)
        self.most.add(value.id)
        context.timer_service.register_event_time_timer(1000)
        self.timers.register_event_time_timer(window, window.max_timestamp())
        self.timers.register_processing_time_timer(window, value.id)
        self.timers.delete_processing_time_timer(window, value.id - 7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_windows_have_timers_however_the_function_is_run(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, backend: str
) -> None:
    path = written(spark, rows, TimedWindows(), tmp_path, backend)
    savepoint = Savepoint.load(spark, path, uids=["windows"])
    found = savepoint.read_table("windows.timers_2").collect()
    assert {row.service for row in found} == {"window-timers"}
    most = {
        (key, start): max(ids)
        for key in range(7)
        for start in range(0, 200, SIZE)
        if (ids := [one for one in range(start, start + SIZE) if one % 7 == key])
    }
    for domain, timestamps in (
        ("EVENT_TIME", {place: place[1] + SIZE - 1 for place in most}),
        ("PROCESSING_TIME", most),
    ):
        assert sorted(
            (row.key, row.namespace.start, row.namespace.end, row.timestamp)
            for row in found
            if row.time_domain == domain
        ) == sorted((key, start, start + SIZE, at) for (key, start), at in timestamps.items())
    of_keys = savepoint.read_timers("windows").collect()
    assert sorted((row.key, row.timestamp) for row in of_keys) == [(key, 1000) for key in range(7)]


class FiringWindows(KeyedProcessFunction):
    """Asks for timers of windows where only those of keys fire."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        runtime_context.get_internal_timer_service()

    def process_element(self, value: Any, context: KeyedContext) -> Any: ...


def test_timers_of_windows_do_not_fire_here_and_are_refused(rows: DataFrame) -> None:
    keyed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("id").key_by("key")
    with pytest.raises(ValueError, match=r"only Flink fires: .* transform"):
        keyed.process(FiringWindows(), "key BIGINT")
    with pytest.raises(ValueError, match="only Flink fires"):
        Backlog.of(keyed, FiringWindows(), "key BIGINT")


def test_namespaces_may_be_numbers(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    path = written(spark, rows, ByNumber(), tmp_path, BACKENDS[0])
    assert window_state(spark, path) == [
        {
            "key": key,
            "namespace": number,
            "of_number": sum(one for one in range(key, 200, 7) if one % 4 == number),
        }
        for key in range(7)
        for number in range(4)
    ]


def test_state_changed_before_it_has_a_namespace_is_an_error(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    class Forgetful(ByNumber):
        def process_element(self, value: Any, context: KeyedContext) -> None:
            self.of_number.update(value.id)

    with pytest.raises(PySparkException, match=r"'of_number' was changed for key . before it"):
        written(spark, rows, Forgetful(), tmp_path, BACKENDS[0])


def test_state_without_namespaces_has_none_to_be_set(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    class Wrong(KeyedStateBootstrapFunction):
        def open(self, runtime_context: KeyedRuntimeContext) -> None:
            self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

        def process_element(self, value: Any, context: KeyedContext) -> None:
            self.total.set_current_namespace(1)

    with pytest.raises(PySparkException, match="state 'total' has no namespaces"):
        written(spark, rows, Wrong(), tmp_path, BACKENDS[0])


def test_a_namespace_that_is_always_the_same_is_refused(rows: DataFrame) -> None:
    class Void(KeyedStateBootstrapFunction):
        def open(self, runtime_context: KeyedRuntimeContext) -> None:
            total = ValueStateDescriptor("total", Types.LONG())
            self.total = runtime_context.get_state(total, namespace=Types.VOID())

        def process_element(self, value: Any, context: KeyedContext) -> None: ...

    keyed = OperatorTransformation.bootstrap_with(rows).key_by("key")
    with pytest.raises(ValueError, match="namespace that is the same for all"):
        keyed.transform(Void())
