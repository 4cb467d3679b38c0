"""Two connected inputs, backlog then stream, leave what the function leaves row by row."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from support.nightly import nightly
from support.row_by_row import RowByRow
from support.streamed_rows import StreamedRows

from state_processor import (
    CommittedBatch,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MixedModeJob,
    OperatorSettings,
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
    from savepoint_functions.transformations.process_transformation import KeyedRowsTransformation
    from savepoint_spark.reading.functions import RuntimeContext

# Workers that Spark starts on the driver find less than this process does.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

ORDERS = "account BIGINT, at BIGINT, cents BIGINT"
PAYMENTS = "payer BIGINT, paid STRING, at BIGINT"
OUTPUT = "account BIGINT, what STRING, at BIGINT, open BIGINT, watermark BIGINT"
# Lists of names, so that workers need not find the classes.
Order = namedtuple("Order", ("account", "at", "cents"))
Payment = namedtuple("Payment", ("payer", "paid", "at"))
LATENESS = 5
NO_WATERMARK = -(2**63)

PAST_ORDERS = [(n % 4, 20 + 3 * n, 100 + n) for n in range(20)]
PAST_PAYMENTS = [(n % 5, str(10 * n), 21 + 4 * n) for n in range(12)]
# Some rows are late, or of new keys; at first, one input has none. What comes while a stream runs is
# of one input each because Spark may look at either first.
ALTERNATING: list[tuple[list[Any], list[Any]]] = [
    ([(0, 150, 1), (7, 90, 2), (0, 140, 3)], []),
    ([], [(0, "5", 130), (8, "6", 100), (1, "7", 40)]),
    ([(1, 200, 4), (0, 199, 5)], []),
    ([], [(0, "10", 400)]),
]
AT_ONCE: list[tuple[list[Any], list[Any]]] = [
    ([(1, 200, 4), (0, 199, 5)], [(7, "8", 190), (0, "9", 180)]),
    ([(2, 500, 6)], []),
]


class Balance(KeyedCoProcessFunction):
    """Open amounts: orders less payments; reminds of an order 30 ms after it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        get = runtime_context
        self.open_cents = get.get_state(ValueStateDescriptor("open", Types.LONG()))
        self.notes = get.get_list_state(ListStateDescriptor("notes", Types.STRING()))
        self.phase = "?"

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        self.phase = "backlog" if attributes.is_backlog else "stream"

    def process_element1(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        self.open_cents.update((self.open_cents.value() or 0) + value.cents)
        self.notes.add(f"{self.phase} order {value.cents} at {context.timestamp}")
        context.timer_service.register_event_time_timer(value.at + 30)
        yield self._row("order", value.at, context)

    def process_element2(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        self.open_cents.update((self.open_cents.value() or 0) - int(value.paid))
        self.notes.add(f"{self.phase} payment {value.paid} at {context.timestamp}")
        yield self._row("payment", value.at, context)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterator[Any]:
        self.notes.add(f"reminder {timestamp}")
        yield self._row("reminder", timestamp, context)

    def _row(self, what: str, at: int, context: KeyedContext) -> tuple[Any, ...]:
        watermark = context.timer_service.current_watermark()
        return context.current_key, what, at, self.open_cents.value(), watermark


class InOrder(KeyedProcessFunction):
    """Balance over rows of both inputs as they come: pairs of the input's number and a row."""

    def __init__(self) -> None:
        self.balance = Balance()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.balance.open(runtime_context)

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        self.balance.process_record_attributes(attributes)

    def process_element(self, value: Any, context: KeyedContext) -> Iterator[Any]:
        number, row = value
        process = self.balance.process_element2 if number else self.balance.process_element1
        yield from process(row, context)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterator[Any]:
        yield from self.balance.on_timer(timestamp, context)


class Reference:
    """The function, row by row; a watermark, that of the input behind, follows each batch.

    Args:
        is_timed: Whether payments have timestamps.
    """

    def __init__(self, *, is_timed: bool) -> None:
        self.is_timed = is_timed
        self.run = RowByRow(InOrder(), Types.LONG(), 0)
        self.at_switch = NO_WATERMARK
        self.reached = [NO_WATERMARK] * 2

    def backlog(self, orders: list[Any], payments: list[Any]) -> None:
        """Both inputs in the order of time, rows without any first; and the watermark at the end."""
        self.run.tell(is_backlog=True)
        rows = self._timed(orders, payments)
        self._process(sorted(rows, key=lambda row: NO_WATERMARK if row[2] is None else row[2]))
        self.run.tell(is_backlog=False)
        self.at_switch = min(self._greatest(rows))
        self.run.advance(self.at_switch)

    def batch(self, orders: list[Any], payments: list[Any]) -> None:
        """A micro-batch: the first input's rows, then those of the second."""
        rows = self._timed(orders, payments)
        self._process(rows)
        self.reached = list(map(max, self.reached, self._greatest(rows)))
        self.run.advance(max(self.at_switch, min(self.reached)))

    def _timed(self, orders: list[Any], payments: list[Any]) -> list[tuple[int, int, Any, Any]]:
        """Input, key, timestamp and row of each."""
        one = [(0, row[0], row[1], Order(*row)) for row in orders]
        return one + [
            (1, row[0], row[2] if self.is_timed else None, Payment(*row)) for row in payments
        ]

    def _process(self, rows: list[tuple[int, int, Any, Any]]) -> None:
        for number, key, at, row in rows:
            self.run.process(key, at, (number, row))

    @staticmethod
    def _greatest(rows: list[tuple[int, int, Any, Any]]) -> list[int]:
        """How far each input has come."""
        times = ([at for found, _, at, _ in rows if found == number and at] for number in (0, 1))
        return [max(found) - LATENESS - 1 if found else NO_WATERMARK for found in times]


def keyed(orders: DataFrame, payments: DataFrame, *, is_timed: bool = True) -> Any:
    one = OperatorTransformation.bootstrap_with(orders).assign_timestamps("at").key_by("account")
    other = OperatorTransformation.bootstrap_with(payments)
    timed = other.assign_timestamps("at") if is_timed else other
    return one.rows.connect(timed.key_by("payer").rows)


class Shop:
    """Both streams, and their backlogs."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.orders = StreamedRows(folder / "orders", ORDERS)
        self.payments = StreamedRows(folder / "payments", PAYMENTS)

    def past(self, *, is_timed: bool = True) -> KeyedRowsTransformation:
        frames = (
            self.spark.createDataFrame(PAST_ORDERS, ORDERS),
            self.spark.createDataFrame(PAST_PAYMENTS, PAYMENTS),
        )
        found: KeyedRowsTransformation = keyed(*frames, is_timed=is_timed)
        return found

    def live(self, *, is_timed: bool = True) -> KeyedRowsTransformation:
        frames = self.orders.frame(self.spark), self.payments.frame(self.spark)
        found: KeyedRowsTransformation = keyed(*frames, is_timed=is_timed)
        return found

    def put(self, orders: list[Any], payments: list[Any]) -> None:
        for stream, rows in ((self.orders, orders), (self.payments, payments)):
            if rows:
                stream.put(rows)

    def state(self, path: str) -> tuple[dict[int, list[Any]], list[Any]]:
        """The state and the timers of a savepoint."""
        savepoint = Savepoint.load(self.spark, path, uids=["balance"])
        rows = savepoint.read_keyed_state("balance").collect()
        timers = savepoint.read_timers("balance").collect()
        return (
            {row.key: [row.open, row.notes] for row in rows},
            sorted((one.key, one.time_domain, one.timestamp) for one in timers),
        )


SETTINGS = OperatorSettings("balance", OUTPUT, out_of_orderness_ms=LATENESS)


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(spark, tmp_path)


@pytest.mark.parametrize(
    ("is_timed", "batches"),
    [
        pytest.param(True, ALTERNATING, id="alternating"),
        pytest.param(True, AT_ONCE, id="at once", marks=nightly),
        pytest.param(False, AT_ONCE, id="one without timestamps", marks=nightly),
    ],
)
def test_state_timers_and_output_are_those_of_rows_one_by_one(
    shop: Shop, is_timed: bool, batches: list[tuple[list[Any], list[Any]]]
) -> None:
    expected = Reference(is_timed=is_timed)
    expected.backlog(PAST_ORDERS, PAST_PAYMENTS)
    past, live = shop.past(is_timed=is_timed), shop.live(is_timed=is_timed)
    job = MixedModeJob.of(past, live, Balance(), SETTINGS, str(shop.folder / "job"))
    given: dict[int, list[Any]] = {}

    def keep(rows: DataFrame, batch_id: int) -> None:
        given[batch_id] = list(map(tuple, rows.collect()))

    path = str(shop.folder / "savepoint")
    first, *others, last = batches
    shop.put(*first)
    expected.batch(*first)
    with job.start(keep) as running:
        running.process_all_available()
        for batch in others:
            shop.put(*batch)
            expected.batch(*batch)
            running.process_all_available()
    # Stopped and started again, it knows how far each input was.
    shop.put(*last)
    expected.batch(*last)
    with job.start(keep) as running:
        running.process_all_available()
        running.take_savepoint(path)
    output = [row for rows in given.values() for row in rows]
    assert sorted(output) == sorted(expected.run.output)
    state, timers = shop.state(path)
    assert state == expected.run.state()
    assert timers == expected.run.timers()
    counts = [sum(bool(batch[number]) for batch in batches) for number in (0, 1)]
    offsets = CommittedBatch.beside(path).offsets[:2]
    assert offsets == tuple({"logOffset": count - 1} for count in counts)


class TestRefused:
    def test_a_backlog_of_which_one_input_is_a_stream(self, shop: Shop) -> None:
        past, live = shop.past(), shop.live()
        mixed = keyed(past.inputs[0].data, live.inputs[1].data)
        with pytest.raises(ValueError, match="input 2 of the backlog is a stream, and an operator"):
            MixedModeJob.of(mixed, live, Balance(), SETTINGS, "x")

    def test_a_function_of_one_input(self, shop: Shop) -> None:
        with pytest.raises(TypeError, match="InOrder is no KeyedCoProcessFunction"):
            MixedModeJob.of(shop.past(), shop.live(), InOrder(), SETTINGS, "x")

    def test_inputs_that_differ_between_backlog_and_stream(self, shop: Shop) -> None:
        past, live = shop.past(), shop.live()
        with pytest.raises(ValueError, match="of input 2 need timestamps, both or neither"):
            MixedModeJob.of(past, shop.live(is_timed=False), Balance(), SETTINGS, "x")
        swapped = OperatorTransformation.bootstrap_with(live.inputs[1].data.selectExpr("*", "1 n"))
        other = OperatorTransformation.bootstrap_with(live.inputs[0].data)
        two = (
            other.assign_timestamps("at")
            .key_by("account")
            .rows.connect(swapped.assign_timestamps("at").key_by("payer").rows)
        )
        with pytest.raises(ValueError, match="the backlog of input 2 has columns payer bigint"):
            MixedModeJob.of(past, two, Balance(), SETTINGS, "x")
