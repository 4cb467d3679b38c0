"""A savepoint goes into the rows of the state store, and comes out of them again, as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_extensions.mixed_mode.stored_rows import StoredTransformation
from savepoint_extensions.mixed_mode.stream_function import (
    OperatorSettings,
    stored_states,
    stream_plan,
)
from savepoint_extensions.mixed_mode.switch_state import initial_state
from state_processor import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext
    from savepoint_spark.reading.functions import RuntimeContext

ROW_KEY = Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()])
STATES = (
    ValueStateDescriptor("at", Types.INSTANT()),
    ValueStateDescriptor("timed", Types.LONG()).with_ttl(),
    ListStateDescriptor("list", Types.STRING()),
    MapStateDescriptor("map", Types.INT(), Types.DOUBLE()),
    MapStateDescriptor("timed map", Types.STRING(), Types.LONG()).with_ttl(),
)


class Everything(KeyedProcessFunction):
    """Leaves something in each state of most keys, and timers of some."""

    def open(self, runtime_context: RuntimeContext) -> None:
        get = runtime_context
        self.at, self.timed = get.get_state(STATES[0]), get.get_state(STATES[1])
        self.list = get.get_list_state(STATES[2])
        self.map, self.timed_map = get.get_map_state(STATES[3]), get.get_map_state(STATES[4])

    def process_element(self, value: Any, context: KeyedContext) -> None:
        if value.id % 3:
            self.at.update(value.at)
            self.timed.update(value.id)
        if value.id % 5:
            self.list.update(["ä", str(value.id)])
        self.map.put(value.id, None if value.id % 2 else value.id / 8)
        self.timed_map.put_all({"a": value.id, "b": 2})
        if value.id % 7 == 0:
            context.timer_service.register_event_time_timer(value.id)
            context.timer_service.register_event_time_timer(-value.id - 1)
            context.timer_service.register_processing_time_timer(value.id)


@pytest.mark.parametrize("key", [("id", None), ("pair", ROW_KEY)], ids=["long", "row"])
def test_a_savepoint_comes_out_as_it_went_in(
    spark: SparkSession, tmp_path: Path, key: tuple[str, Any]
) -> None:
    at = "timestamp_millis(1709294400000 + id) AS at"
    rows = spark.range(50).selectExpr("id", "struct(id AS n, concat('t', id) AS text) AS pair", at)
    keyed = OperatorTransformation.bootstrap_with(rows).key_by(key[0], key_type=key[1])
    writer = Savepoint.create(spark, parallelism=2)
    paths = [str(tmp_path / name) for name in ("one", "other")]
    writer.with_operator("all", keyed.transform(Everything())).write(paths[0])
    plan = stream_plan(Everything(), keyed.rows.inputs, OperatorSettings("all", "n INT"))
    savepoint = Savepoint.load(spark, paths[0], uids=["all"])
    stored = initial_state(spark, savepoint, "all", stored_states(plan))
    assert stored.count() == 50
    back = StoredTransformation(stored, plan.inputs[0].key, plan.states)
    writer.with_operator("all", back).write(paths[1])
    one, other = (tables(spark, path) for path in paths)
    assert one == other
    assert len(one[0]) == 50
    assert len(one[1]) == 8 * 3


def tables(spark: SparkSession, path: str) -> tuple[list[str], list[str]]:
    """Keyed state, with times, and timers."""
    savepoint = Savepoint.load(spark, path, uids=["all"])
    state = savepoint.read_keyed_state("all", with_times=True).collect()
    timers = savepoint.read_timers("all").collect()
    return sorted(map(str, state)), sorted(map(str, timers))
