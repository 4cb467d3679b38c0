"""A backlog's savepoint at the switch, restored by Flink: state, and timers that are not due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import RELEASES, FlinkRestore, KeyedState, Operator, TimerService
from support.nightly import nightly
from support.sample_rows import in_order

from savepoint_functions.functions.process_functions import KeyedProcessFunction
from state_processor import (
    Backlog,
    ListStateDescriptor,
    OperatorTransformation,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

NOON, WORDS, ROWS, HOUR = 1_709_294_400_000, 41, 500, 3_600_000
# The greatest timestamp, less an hour and a millisecond.
WATERMARK = NOON + ROWS - 1 - HOUR - 1
OPERATOR = Operator(
    "backlog",
    key="STRING",
    states=(KeyedState.value("count", "LONG"), KeyedState.list("fired", "LONG")),
    timers=(TimerService(),),
)


def function() -> KeyedProcessFunction:
    """A function sent to workers as a whole because they can't import this module."""

    class Counts(KeyedProcessFunction):
        """Counts rows; one timer of a word is due at the switch, the other is not."""

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
            self.fired = runtime_context.get_list_state(ListStateDescriptor("fired", Types.LONG()))

        def process_element(self, value: Any, context: Any) -> None:
            self.count.update((self.count.value() or 0) + 1)
            if value.id < WORDS:
                context.timer_service.register_event_time_timer(WATERMARK - value.id)
                context.timer_service.register_event_time_timer(WATERMARK + 1 + value.id)

        def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
            self.fired.add(context.timer_service.current_watermark())
            yield context.current_key, timestamp

    return Counts()


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = spark.sql(
        f"SELECT id, {NOON} + id AS at, concat('Wörd ', id % {WORDS}) AS word FROM range({ROWS})"
    )
    keyed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("word")
    backlog = Backlog.of(keyed, function(), "word STRING, at BIGINT", out_of_orderness_ms=HOUR)
    result = backlog.run(str(tmp_path_factory.mktemp("backlog")), "backlog", parallelism=2)
    assert result.watermark == WATERMARK
    return result.files.savepoint


@pytest.mark.parametrize("flink", [pytest.param(RELEASES[0], marks=nightly), RELEASES[1]])
def test_the_savepoint_of_the_switch_has_state_and_the_timers_that_remain(
    flink_restore: FlinkRestore, written: str, flink: str
) -> None:
    restored = flink_restore(written, OPERATOR, flink=flink, backend="rocksdb")
    assert restored.keyed_state("backlog") == in_order(
        {
            "key": f"Wörd {word}",
            "count": len(range(word, ROWS, WORDS)),
            "fired": [WATERMARK],
        }
        for word in range(WORDS)
    )
    assert restored.timers("backlog") == in_order(
        {
            "key": f"Wörd {word}",
            "namespace": None,
            "timestamp": WATERMARK + 1 + word,
            "domain": "event_time",
        }
        for word in range(WORDS)
    )
