"""A backlog leaves what the same function leaves that is given the rows one by one, as they arrive."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from state_processor import (
    Backlog,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from pyspark.sql import DataFrame, SparkSession
    from support.row_by_row import RowByRow

    from savepoint_functions.functions.process_functions import KeyedContext, RecordAttributes
    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
    from savepoint_spark.reading.functions import RuntimeContext
    from state_processor import BacklogResult

YEAR = 365 * 86_400_000
FUTURE = 10_000 * YEAR
OUTPUT = "account BIGINT, kind STRING, at BIGINT, total BIGINT, watermark BIGINT"
Sale = namedtuple("Sale", ("account", "at", "cents", "kind"))
LATENESS = 7

OPTIONS: list[dict[str, Any]] = [
    {},
    {"state.backend.type": "rocksdb"},
]
SALES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(-30, 30),
        st.integers(-100, 100),
        st.sampled_from(["sale", "reminder", "cancel", "alarm", "later", "forget"]),
    ),
    min_size=1,
    max_size=40,
    # In the order of time, no two rows of a key may change places.
    unique_by=lambda row: row[:2],
)


class Ledger(KeyedProcessFunction):
    """Books sales in state of every kind, and rings at times that the rows ask for."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.memos = runtime_context.get_list_state(ListStateDescriptor("memos", Types.STRING()))
        self.by_kind = runtime_context.get_map_state(
            MapStateDescriptor("by_kind", Types.STRING(), Types.LONG())
        )
        self.most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", Types.LONG(), max)
        )
        self.is_backlog: bool | None = None

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        self.is_backlog = attributes.is_backlog

    def process_element(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        assert self.is_backlog
        assert context.timestamp == value.at
        assert context.timer_service.current_watermark() == -(2**63)
        self.total.update((self.total.value() or 0) + value.cents)
        self.by_kind.put(value.kind, (self.by_kind.get(value.kind) or 0) + 1)
        self.most.add(value.cents)
        self._book(value, context)
        if value.cents > 0:
            yield self._row("row", value.at, context)

    def _book(self, value: Any, context: KeyedContext) -> None:
        timers = context.timer_service
        match value.kind:
            case "reminder":
                timers.register_event_time_timer(value.at + abs(value.cents) // 4)
            case "cancel":
                timers.delete_event_time_timer(value.at + 3)
                self.total.clear()
            case "alarm":
                timers.register_processing_time_timer(value.at)
            case "later":
                timers.register_processing_time_timer(FUTURE)
            case "forget":
                self.memos.clear()
                self.by_kind.remove("sale")

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterator[Any]:
        self.memos.add(f"{context.time_domain} {timestamp} {self.total.value()}")
        if timestamp % 3 == 0:
            context.timer_service.register_event_time_timer(timestamp + 5)
        yield self._row(str(context.time_domain), timestamp, context)

    def _row(self, kind: str, at: int, context: KeyedContext) -> tuple[Any, ...]:
        watermark = context.timer_service.current_watermark()
        return context.current_key, kind, at, self.total.value(), watermark


def keyed(spark: SparkSession, sales: list[Any]) -> KeyedStateTransformation:
    rows: DataFrame = spark.createDataFrame(
        sales, "account BIGINT, at BIGINT, cents BIGINT, kind STRING"
    )
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("account")


def row_by_row(sales: list[Any]) -> tuple[RowByRow, int]:
    """The function after the rows have arrived in the order of time, and the last watermark."""
    # Workers import this module for the function, and do not find the samples.
    from support.row_by_row import RowByRow  # noqa: PLC0415

    one = RowByRow(Ledger(), Types.LONG(), 2 * YEAR)
    one.tell(is_backlog=True)
    for sale in sorted(sales, key=lambda row: row[1]):
        one.process(sale[0], sale[1], Sale(*sale))
    watermark = max((sale[1] for sale in sales), default=None)
    last = -(2**63) if watermark is None else watermark - LATENESS - 1
    one.advance(last)
    return one, last


def state_of(result: BacklogResult) -> dict[Any, list[Any]]:
    """Key -> what it has in each state."""
    rows = result.savepoint.read_keyed_state("ledger").collect()
    return {
        row.key: [row.total, row.memos, row.by_kind and sorted(row.by_kind.items()), row.most]
        for row in rows
    }


def expected_state(one: RowByRow) -> dict[Any, list[Any]]:
    return {
        key: [total, memos, by_kind and sorted(by_kind), most]
        for key, (total, memos, by_kind, most) in one.state().items()
    }


def timers_of(result: BacklogResult) -> list[Any]:
    rows = result.savepoint.read_timers("ledger").collect()
    return sorted((row.key, row.time_domain, row.timestamp) for row in rows)


@settings(
    max_examples=3,
    # To shrink a failure takes a job of Spark for every step.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sales=SALES, options=st.sampled_from(OPTIONS))
def test_state_timers_and_output_are_those_of_rows_one_by_one(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    sales: list[Any],
    options: dict[str, Any],
) -> None:
    one, watermark = row_by_row(sales)
    rows = keyed(spark, sales).with_options(options)
    backlog = Backlog.of(rows, Ledger(), OUTPUT, out_of_orderness_ms=LATENESS)
    result = backlog.run(str(tmp_path_factory.mktemp("backlog")), "ledger")
    assert result.watermark == watermark
    assert sorted(map(tuple, result.output.collect()), key=repr) == sorted(one.output, key=repr)
    assert state_of(result) == expected_state(one)
    assert timers_of(result) == one.timers()
