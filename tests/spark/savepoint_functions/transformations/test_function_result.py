"""State, rows and side outputs of one run of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from pyspark.sql import functions as F

from savepoint_functions.functions.outputs import OutputTag
from savepoint_functions.functions.process_functions import KeyedProcessFunction
from state_processor import (
    Backlog,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation

SCHEMA = "word BIGINT, rank BIGINT"


def numbered(calls: Any) -> KeyedProcessFunction:
    """A function sent to workers as a whole because they can't import this module."""

    class Numbered(KeyedProcessFunction):
        """Numbers the rows of a word; odd ones and those of timers go elsewhere."""

        side_outputs: ClassVar[tuple[OutputTag, ...]] = (
            OutputTag("odd", "id BIGINT"),
            OutputTag("fired", "word BIGINT NOT NULL, at BIGINT"),
        )

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value: Any, context: Any) -> Any:
            calls.add(1)
            odd, _ = self.side_outputs
            self.count.update((self.count.value() or 0) + 1)
            context.timer_service.register_event_time_timer(value.id)
            if value.id % 2:
                context.output(odd, {"id": value.id})
            yield context.current_key, self.count.value()

        def on_timer(self, timestamp: int, context: Any) -> None:
            context.output(self.side_outputs[1], (context.current_key, timestamp))

    return Numbered()


@pytest.fixture
def keyed(spark: SparkSession) -> KeyedStateTransformation:
    rows = spark.range(90, numPartitions=2).select("id", (F.col("id") % 7).alias("word"))
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("id").key_by("word")


def test_rows_side_outputs_and_state_come_of_one_run(
    spark: SparkSession, keyed: KeyedStateTransformation, tmp_path: Path
) -> None:
    calls = spark.sparkContext.accumulator(0)
    function = numbered(calls)
    run = keyed.run(function, SCHEMA, watermark=60, max_parallelism=256)
    expected = [(word, rank) for word in range(7) for rank in range(1, len(range(word, 90, 7)) + 1)]
    assert sorted(map(tuple, run.output.collect())) == expected
    odd, fired = function.side_outputs
    assert [row.id for row in run.side_output(odd).orderBy("id").collect()] == list(range(1, 90, 2))
    timers = sorted(tuple(row) for row in run.side_output(fired).collect())
    assert timers == sorted((at % 7, at) for at in range(61))
    writer = Savepoint.create(spark, parallelism=2, max_parallelism=256)
    writer.with_operator("words", run.state).write(str(tmp_path / "savepoint"))
    savepoint = Savepoint.load(spark, str(tmp_path / "savepoint"), uids=["words"])
    counts = savepoint.read_keyed_state("words").orderBy("key").collect()
    assert [tuple(row) for row in counts] == [(word, len(range(word, 90, 7))) for word in range(7)]
    left = savepoint.read_timers("words").collect()
    assert sorted(row.timestamp for row in left) == list(range(61, 90))
    assert calls.value == 90, "the function was called once for each row"
    with pytest.raises(ValueError, match="run it with max_parallelism=128"):
        Savepoint.create(spark).with_operator("words", run.state).write(str(tmp_path / "other"))
    other = OutputTag("other", "id BIGINT")
    with pytest.raises(ValueError, match="no side output 'other'; the function has: odd, fired"):
        run.side_output(other)


def test_side_outputs_that_nobody_asks_for_are_dropped(
    spark: SparkSession, keyed: KeyedStateTransformation
) -> None:
    calls = spark.sparkContext.accumulator(0)
    assert keyed.process(numbered(calls), SCHEMA).count() == 90


def without_tag(context_output: Callable[[Any, Any], None]) -> KeyedProcessFunction:
    class Undeclared(KeyedProcessFunction):
        def process_element(self, value: Any, context: Any) -> None:
            context_output(context, value)

    return Undeclared()


def test_a_tag_that_a_function_does_not_name_is_refused(keyed: KeyedStateTransformation) -> None:
    tag = OutputTag("late", "id BIGINT")
    function = without_tag(lambda context, value: context.output(tag, (value.id,)))
    with pytest.raises(Exception, match="Undeclared has no side output 'late'"):
        keyed.run(function, SCHEMA)


def test_wrong_runs_are_refused(keyed: KeyedStateTransformation) -> None:
    class Two(KeyedProcessFunction):
        side_outputs = (OutputTag("a", "id BIGINT"), OutputTag("a", "id BIGINT"))

        def process_element(self, value: Any, context: Any) -> None:
            pass

    with pytest.raises(ValueError, match="Two has two side outputs 'a'"):
        keyed.run(Two(), SCHEMA)
    with pytest.raises(ValueError, match="max_parallelism=0, expected 1 <="):
        keyed.run(numbered(None), SCHEMA, max_parallelism=0)
    with pytest.raises(ValueError, match="has side output 'odd', but a stream"):
        Backlog.of(keyed, numbered(None), SCHEMA)
