"""State that a function has made of rows, restored by Flink: it sees what the function left.

The function has gone on from a savepoint of its own, of some words only: Flink sees one run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.currency_job import Inputs, convert_and_summarize
from support.flink_restore import (
    BACKENDS,
    RELEASES,
    Elements,
    FlinkRestore,
    KeyedState,
    Operator,
    TimerService,
)
from support.sample_rows import Rows, Sample, in_order

from savepoint_functions.functions.process_functions import KeyedStateBootstrapFunction
from savepoint_spark.reading.functions import TimeWindow
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
    from pyspark.sql import SparkSession

    from savepoint_functions.functions.rows_by_key import KeyBatchFunction
    from state_processor import KeyBatch

NOON = 1_709_294_400_000
WORDS = 41
SEEN = Operator(
    "seen",
    key="STRING",
    states=(
        KeyedState.value("count", "LONG"),
        KeyedState.list("ids", "LONG"),
        KeyedState.map("by_digit", "LONG", "LONG"),
    ),
    timers=(TimerService(),),
)


DESCRIPTORS = (
    ValueStateDescriptor("count", Types.LONG()),
    ListStateDescriptor("ids", Types.LONG()),
    MapStateDescriptor("by_digit", Types.LONG(), Types.LONG()),
)


def seen_function() -> KeyedStateBootstrapFunction:
    """A function sent to workers as a whole because they can't import this module."""
    count, list_of_ids, by_digit = DESCRIPTORS

    class Seen(KeyedStateBootstrapFunction):
        """State of each word, and a timer for its last row."""

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(count)
            self.ids = runtime_context.get_list_state(list_of_ids)
            self.by_digit = runtime_context.get_map_state(by_digit)

        def process_element(self, value: Any, context: Any) -> None:
            self.count.update((self.count.value() or 0) + 1)
            self.ids.add(value.id)
            self.by_digit.put(value.id % 10, value.id)
            context.timer_service.delete_event_time_timer(NOON + value.id - WORDS)
            context.timer_service.register_event_time_timer(NOON + value.id)

    return Seen()


def ids(word: int) -> list[int]:
    return list(range(word, 500, WORDS))


def latest(word: int) -> list[list[int]]:
    """Last number that ends with each digit."""
    return [list(pair) for pair in sorted({number % 10: number for number in ids(word)}.items())]


def seen() -> Rows:
    return [
        {
            "key": f"Wörd {word}",
            "count": len(ids(word)),
            "ids": ids(word),
            "by_digit": latest(word),
        }
        for word in range(WORDS)
    ]


def batch_function() -> KeyBatchFunction:
    """``seen_function`` over batches."""

    def batched(batch: KeyBatch) -> tuple[None, pa.Table]:
        """Does by columns what ``Seen`` does, without timers."""
        state, ends = batch.state, [*batch.starts[1:].tolist(), batch.rows.num_rows]
        all_ids = batch.rows["id"].to_pylist()
        new = [all_ids[start:end] for start, end in zip(batch.starts.tolist(), ends, strict=True)]
        before = [known or [] for known in state["ids"].to_pylist()]
        digits = [dict(known or []) for known in state["by_digit"].to_pylist()]
        of_keys = list(zip(digits, new, strict=True))
        by_digit = [
            list((old | {number % 10: number for number in of}).items()) for old, of in of_keys
        ]
        counts = pc.add(pc.fill_null(state["count"], 0), pa.array(map(len, new)))
        columns = {
            "key": state["key"],
            "count": counts,
            "ids": pa.array([old + of for old, of in zip(before, new, strict=True)]),
            "by_digit": pa.array(by_digit, pa.map_(pa.int64(), pa.int64())),
        }
        return None, pa.table(columns)

    return batched


BATCHED = replace(SEEN, uid="batched", timers=())

WINDOWED = Operator(
    "windowed",
    key="STRING",
    states=(
        KeyedState.reducing("most", "LONG").under("TIME_WINDOW"),
        KeyedState.list("seen", "LONG").under("TIME_WINDOW"),
    ),
)
SIZE = 100


def windowed_function() -> KeyedStateBootstrapFunction:
    """``seen_function`` with state of windows."""

    class Windowed(KeyedStateBootstrapFunction):
        """State of each word in each window."""

        def open(self, runtime_context: Any) -> None:
            window = Types.TIME_WINDOW()
            self.most = runtime_context.get_reducing_state(
                ReducingStateDescriptor("most", Types.LONG(), max), namespace=window
            )
            self.seen = runtime_context.get_list_state(
                ListStateDescriptor("seen", Types.LONG()), namespace=window
            )

        def process_element(self, value: Any, context: Any) -> None:
            start = value.id // SIZE * SIZE
            for state in (self.most, self.seen):
                state.set_current_namespace(TimeWindow(start, start + SIZE))
                state.add(value.id)

    return Windowed()


def windows() -> Rows:
    return [
        {
            "key": f"Wörd {word}",
            "namespace": [start, start + SIZE],
            "most": found[-1],
            "seen": found,
        }
        for word in range(WORDS)
        for start in range(0, 500, SIZE)
        if (found := [number for number in ids(word) if start <= number < start + SIZE])
    ]


CONVERTED = Operator(
    "converted",
    key="INT",
    states=(KeyedState.value("total", "DOUBLE"), KeyedState.value("count", "INT")),
    elements=(Elements("rates", "broadcast", ("INT", "DOUBLE")),),
)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("functions")
    rows = spark.sql(f"SELECT id, concat('Wörd ', id % {WORDS}) AS word FROM range(500)")
    writer = Savepoint.create(spark, parallelism=2)
    initial: dict[str, Any] = {}
    is_first = f"id < 200 OR id % {WORDS} < 5"
    for path, of_run in (("first", is_first), ("second", f"NOT ({is_first})")):
        data = OperatorTransformation.bootstrap_with(rows.where(of_run))
        keyed = data.assign_timestamps("id").key_by("word")
        for uid, function in (("seen", seen_function()), ("windowed", windowed_function())):
            writer = writer.with_operator(uid, keyed.transform(function, initial=initial.get(uid)))
        run = keyed.run_batches(
            batch_function(), None, *DESCRIPTORS, initial=initial.get("batched")
        )
        writer = writer.with_operator("batched", run.state)
        both = Inputs.half(spark, is_first=path == "first")
        keyed_by_account = both.transactions.key_by("account_id").connect(both.rates)
        converted = keyed_by_account.transform(
            convert_and_summarize(applies=path == "first"), initial=initial.get("converted")
        )
        writer = writer.with_operator("converted", converted)
        writer.write(str(folder / path))
        uids = ["seen", "windowed", "batched", "converted"]
        savepoint = Savepoint.load(spark, str(folder / path), uids=uids)
        writer = savepoint.writer()
        initial = {uid: savepoint.operator(uid) for uid in uids}
    return str(folder / "second")


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_state_and_timers_of_a_function_are_there(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    restored = flink_restore(written, SEEN, flink=flink, backend=backend)
    assert restored.keyed_state("seen") == in_order(seen())
    assert restored.timers("seen") == in_order(
        {
            "key": f"Wörd {word}",
            "namespace": None,
            "timestamp": NOON + ids(word)[-1],
            "domain": "event_time",
        }
        for word in range(WORDS)
    )


def test_state_of_a_function_over_batches_is_there(
    flink_restore: FlinkRestore, written: str
) -> None:
    restored = flink_restore(written, BATCHED, flink=RELEASES[-1], backend=BACKENDS[-1])
    assert restored.keyed_state("batched") == in_order(seen())


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_state_of_windows_is_there(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    restored = flink_restore(written, WINDOWED, flink=flink, backend=backend)
    assert restored.window_state("windowed") == in_order(windows())


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_broadcast_state_is_there_beside_keyed_state(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    sample = Sample("currency-2.2.1-hashmap-canonical")
    restored = flink_restore(written, CONVERTED, flink=flink, backend=backend)
    assert restored.keyed_state("converted") == in_order(sample.keyed_state("summarize"))
    rates = sample.elements("currency_converter", "rates")
    assert in_order(restored.elements("converted", "rates")) == in_order(3 * rates)
