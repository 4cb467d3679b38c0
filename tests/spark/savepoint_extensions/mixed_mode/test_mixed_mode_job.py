"""A backlog and the stream behind it leave what the same function leaves, row by row."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from support.nightly import nightly
from support.row_by_row import RowByRow
from support.streamed_rows import StreamedRows

from state_processor import (
    AggregatingStateDescriptor,
    CommittedBatch,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext, RecordAttributes
    from savepoint_spark.reading.functions import RuntimeContext

# Workers that Spark starts on the driver find less than this process does.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

COLUMNS = "account BIGINT, at BIGINT, cents BIGINT, kind STRING"
OUTPUT = "account BIGINT, kind STRING, at BIGINT, total BIGINT, watermark BIGINT"
# A list of names, so that workers need not find the class.
Sale = namedtuple("Sale", ("account", "at", "cents", "kind"))  # as rows come
LATENESS = 7
NEVER = 10**15
KINDS = ["sale", "reminder", "cancel", "alarm", "later", "forget"]


class Average:
    """The mean of what is added; the accumulator is a tuple of Flink."""

    def create_accumulator(self) -> Any:
        return {"f0": 0, "f1": 0}

    def add(self, value: int, accumulator: Any) -> Any:
        return {"f0": accumulator["f0"] + value, "f1": accumulator["f1"] + 1}

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator["f0"] / accumulator["f1"])

    def merge(self, one: Any, other: Any) -> Any:
        return tuple(map(sum, zip(one, other, strict=True)))


class Ledger(KeyedProcessFunction):
    """Books sales in state of every kind, and rings at times that the rows ask for."""

    def open(self, runtime_context: RuntimeContext) -> None:
        get = runtime_context
        self.total = get.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.memos = get.get_list_state(ListStateDescriptor("memos", Types.STRING()))
        self.by_kind = get.get_map_state(
            MapStateDescriptor("by kind", Types.STRING(), Types.LONG())
        )
        self.most = get.get_reducing_state(ReducingStateDescriptor("most", Types.LONG(), max))
        accumulator = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.mean = get.get_aggregating_state(
            AggregatingStateDescriptor("mean", accumulator, Average())
        )
        self.is_backlog: bool | None = None

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        self.is_backlog = attributes.is_backlog

    def process_element(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        assert context.timestamp == value.at
        self.total.update((self.total.value() or 0) + value.cents)
        self.by_kind.put(value.kind, (self.by_kind.get(value.kind) or 0) + 1)
        self.most.add(value.cents)
        self.mean.add(value.cents)
        timers = context.timer_service
        match value.kind:
            case "reminder":
                timers.register_event_time_timer(value.at + value.cents // 4)
            case "cancel":
                timers.delete_event_time_timer(value.at + 3)
                self.total.clear()
            case "alarm":
                timers.register_processing_time_timer(value.at)
            case "later":
                timers.register_processing_time_timer(NEVER)
            case "forget":
                self.memos.clear()
                self.by_kind.remove("sale")
        kind = "backlog" if self.is_backlog else "stream"
        yield self._row(kind, value.at, context)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterator[Any]:
        self.memos.add(f"{context.time_domain} {timestamp} {self.total.value()}")
        if timestamp % 3 == 0:
            context.timer_service.register_event_time_timer(timestamp + 5)
        yield self._row(str(context.time_domain), timestamp, context)

    def _row(self, kind: str, at: int, context: KeyedContext) -> tuple[Any, ...]:
        watermark = context.timer_service.current_watermark()
        return context.current_key, kind, at, self.total.value(), watermark


def sales(latest: int, **bounds: Any) -> Any:
    row = st.tuples(
        st.integers(0, 3),
        st.integers(20, latest),
        st.integers(0, 200),
        st.sampled_from(KINDS),
    )
    return st.lists(row, **bounds)


def job(
    spark: SparkSession, backlog: list[Any], stream: DataFrame, directory: Path
) -> MixedModeJob:
    past = OperatorTransformation.bootstrap_with(spark.createDataFrame(backlog, COLUMNS))
    live = OperatorTransformation.bootstrap_with(stream)
    return MixedModeJob.of(
        past.assign_timestamps("at").key_by("account"),
        live.assign_timestamps("at").key_by("account"),
        Ledger(),
        OperatorSettings("ledger", OUTPUT, out_of_orderness_ms=LATENESS, parallelism=2),
        str(directory),
    )


class Reference:
    """The function, row by row, with a watermark behind each batch."""

    def __init__(self) -> None:
        self.watermark = -(2**63)
        self.run = RowByRow(Ledger(), Types.LONG(), NEVER - 1)

    def backlog(self, rows: list[Any]) -> None:
        """The rows of a backlog in the order of time, and the watermark at its end."""
        self.run.tell(is_backlog=True)
        self._rows(sorted(rows, key=lambda row: row[1]))
        self.run.tell(is_backlog=False)

    def batch(self, rows: list[Any]) -> None:
        """The rows of a batch as they come, and the watermark behind it."""
        self._rows(rows)

    def _rows(self, rows: list[Any]) -> None:
        for row in rows:
            self.run.process(row[0], row[1], Sale(*row))
        found = max((row[1] for row in rows), default=-(2**63)) - LATENESS - 1
        if found > self.watermark:
            self.watermark = found
            self.run.advance(found)

    def state(self) -> dict[Any, list[Any]]:
        """Key -> what it has in each state."""
        return {
            key: [total, memos, dict(by_kind or ()), most, mean and mean._asdict()]
            for key, (total, memos, by_kind, most, mean) in self.run.state().items()
        }


def state_of(spark: SparkSession, path: str) -> tuple[dict[Any, list[Any]], list[Any]]:
    """The state and the timers of a savepoint."""
    savepoint = Savepoint.load(spark, path, uids=["ledger"])
    rows = savepoint.read_keyed_state("ledger").collect()
    found = {
        row.key: [
            row.total,
            row.memos,
            row["by kind"] or {},
            row.most,
            row.mean and row.mean.asDict(),
        ]
        for row in rows
    }
    timers = savepoint.read_timers("ledger").collect()
    return found, sorted((one.key, one.time_domain, one.timestamp) for one in timers)


@settings(
    max_examples=2,
    # To shrink a failure takes a query of Spark for every step.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    backlog=sales(60, max_size=20, unique_by=lambda row: row[:2]),
    batches=st.lists(sales(150, min_size=1, max_size=12), min_size=2, max_size=3),
)
@nightly
def test_state_timers_and_output_are_those_of_rows_one_by_one(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    backlog: list[Any],
    batches: list[list[Any]],
) -> None:
    folder = tmp_path_factory.mktemp("job")
    rows = StreamedRows(folder / "rows", COLUMNS)
    output: dict[int, list[Any]] = {}

    def keep(found: DataFrame, batch_id: int) -> None:
        output[batch_id] = list(map(tuple, found.collect()))

    expected = Reference()
    expected.backlog(backlog)
    started = job(spark, backlog, rows.frame(spark), folder / "job")
    *first, last = batches
    for batch in first:
        rows.put(batch)
        expected.batch(batch)
    with started.start(keep) as running:
        running.process_all_available()
    # Stopped and started again, it goes on: the backlog does not run once more.
    rows.put(last)
    expected.batch(last)
    with started.start(keep) as running:
        running.process_all_available()
        running.take_savepoint(str(folder / "savepoint"))
        counts = list(running.batches)
    given_rows = [row for found in output.values() for row in found]
    assert sorted(given_rows, key=repr) == sorted(expected.run.output, key=repr)
    assert state_of(spark, str(folder / "savepoint")) == (expected.state(), expected.run.timers())
    assert sum(batch.rows for batch in counts) == len(last)
    assert all(batch.state_reads == batch.visits >= batch.state_writes for batch in counts)
    offset = CommittedBatch.beside(str(folder / "savepoint")).offsets[0]
    assert offset == {"logOffset": len(batches) - 1}
