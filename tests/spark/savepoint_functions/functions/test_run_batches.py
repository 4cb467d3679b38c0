"""A function over batches of whole keys makes what the same function over rows makes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from savepoint_formats.errors import ColumnNotFoundError, StateTypeError
from state_processor import (
    KeyBatch,
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

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.scan.scan import TableScan
    from savepoint_functions.transformations.function_result import FunctionResult
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

TOTAL = ValueStateDescriptor("total", Types.LONG())
LATEST = ListStateDescriptor("latest", Types.LONG())
BY_DIGIT = MapStateDescriptor("by_digit", Types.LONG(), Types.LONG())
NOTE = ValueStateDescriptor("note", Types.STRING())
STATES = (TOTAL, LATEST, BY_DIGIT)
COLUMNS = "word STRING, at BIGINT, total BIGINT"


class Totals(KeyedProcessFunction):
    """The running total of each word, its last three amounts, and how often each digit came."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.latest = runtime_context.get_list_state(LATEST)
        self.by_digit = runtime_context.get_map_state(BY_DIGIT)

    def process_element(self, value: Any, context: Any) -> Any:
        self.total.update((self.total.value() or 0) + value.amount)
        self.latest.update([*self.latest.get(), value.amount][-3:])
        digit = value.amount % 10
        self.by_digit.put(digit, (self.by_digit.get(digit) or 0) + 1)
        yield context.current_key, value.at, self.total.value()


class Noting(Totals):
    """Totals with a note and a timer of each word, which the batches know nothing of."""

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.note = runtime_context.get_state(NOTE)

    def process_element(self, value: Any, context: Any) -> Any:
        self.note.update(f"of {value.word}")
        context.timer_service.register_event_time_timer(value.at)
        yield from super().process_element(value, context)


def totals(batch: KeyBatch) -> tuple[pa.Table, pa.Table]:
    """Does by columns what ``Totals`` does by rows."""
    rows, state = batch.rows, batch.state
    amounts = rows["amount"].to_numpy()
    before = pc.fill_null(state["total"], 0).to_numpy()
    sums = np.cumsum(amounts)
    running = sums - (sums[batch.starts] - amounts[batch.starts] - before)[batch.numbers]
    output = pa.table({"word": rows["word"], "at": rows["at"], "total": running})
    ends = np.append(batch.starts[1:], rows.num_rows)
    of_keys = [amounts[start:end].tolist() for start, end in zip(batch.starts, ends, strict=True)]
    latest, by_digit = [], []
    for new, old, counts in zip(
        of_keys, state["latest"].to_pylist(), state["by_digit"].to_pylist(), strict=True
    ):
        latest.append([*(old or []), *new][-3:])
        counted = dict(counts or [])
        for amount in new:
            counted[amount % 10] = counted.get(amount % 10, 0) + 1
        by_digit.append(list(counted.items()))
    columns = {
        "by_digit": pa.array(by_digit, pa.map_(pa.int64(), pa.int64())),
        "latest": pa.array(latest, pa.list_(pa.int64())),
        "total": pa.array(running[ends - 1]),
        "key": state["key"],
    }
    # In another order than the keys came in.
    return output, pa.table(columns).take(np.arange(len(ends))[::-1])


def sales(spark: SparkSession, seed: int, words: int, count: int) -> DataFrame:
    """Rows of random words, in the order of no timestamps."""
    dice = random.Random(seed)
    rows = [(f"wörd {dice.randrange(words)}", at, dice.randrange(-50, 1000)) for at in range(count)]
    dice.shuffle(rows)
    data = spark.createDataFrame(rows, "word STRING, at BIGINT, amount BIGINT")
    return data.repartition(3)


def keyed(rows: DataFrame) -> Any:
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("word")


def rows_of(scan: TableScan) -> list[str]:
    """The rows of a table, in no order that a savepoint would have to keep."""
    rows = [row for split in scan.splits() for b in scan.read(split) for row in b.to_pylist()]
    for row in rows:
        row["by_digit"] = sorted(row.get("by_digit") or [])
    return sorted(map(repr, rows))


def written(
    writer: Any, run: FunctionResult, path: Path
) -> tuple[SparkSavepoint, list[str], list[str]]:
    """The savepoint, its keyed state, and its timers if it has any."""
    saved = writer.with_operator("totals", run.state).write(str(path))
    savepoint = Savepoint.open(str(path), uids=["totals"])
    tables = [table.name for table in savepoint.operator("totals").tables]
    timers = rows_of(savepoint.scan("totals.timers")) if "timers" in tables else []
    return saved, rows_of(savepoint.scan("totals.keyed_state")), timers


@pytest.fixture(scope="module")
def yesterday(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    path = tmp_path_factory.mktemp("yesterday") / "savepoint"
    run = keyed(sales(spark, 1, 60, 700)).run(Noting(), COLUMNS)
    written(Savepoint.create(spark, parallelism=2), run, path)
    return Savepoint.load(spark, str(path), uids=["totals"])


def test_rows_and_state_are_those_of_the_function_over_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = keyed(sales(spark, 5, 40, 500))
    wanted = rows.run(Totals(), COLUMNS)
    new = Savepoint.create(spark, parallelism=2)
    _, state, _ = written(new, wanted, tmp_path / "rows")
    for batch_rows in (1, 100_000):
        run = rows.run_batches(totals, COLUMNS, *STATES, batch_rows=batch_rows)
        assert sorted(run.output.collect()) == sorted(wanted.output.collect())
        assert written(new, run, tmp_path / f"{batch_rows}")[1] == state


def test_batches_go_on_from_a_savepoint_as_rows_do(
    spark: SparkSession, yesterday: SparkSavepoint, tmp_path: Path
) -> None:
    # Some words are new, and most of yesterday's have no row.
    rows, initial = keyed(sales(spark, 2, 90, 30)), yesterday.operator("totals")
    wanted = rows.run(Totals(), COLUMNS, initial=initial)
    _, state, timers = written(yesterday, wanted, tmp_path / "rows")
    assert any("of wörd" in row for row in state)
    assert timers
    for batch_rows in (1, 100_000):
        run = rows.run_batches(totals, COLUMNS, *STATES, initial=initial, batch_rows=batch_rows)
        assert sorted(run.output.collect()) == sorted(wanted.output.collect())
        assert written(yesterday, run, tmp_path / f"{batch_rows}")[1:] == (state, timers)


def test_state_alone_is_made_when_it_is_written(
    spark: SparkSession, yesterday: SparkSavepoint, tmp_path: Path
) -> None:
    def cleared(batch: KeyBatch) -> tuple[None, pa.Table]:
        nothing = pa.nulls(len(batch.state), pa.int64())
        return None, pa.table({"key": batch.state["key"], "total": nothing})

    rows = spark.createDataFrame([("wörd 7", 1, 1)], "word STRING, at BIGINT, amount BIGINT")
    run = keyed(rows).run_batches(cleared, None, TOTAL, initial=yesterday.operator("totals"))
    with pytest.raises(ValueError, match="without a schema"):
        run.output  # noqa: B018  # asking is refused
    _, state, timers = written(yesterday, run, tmp_path / "a")
    before = rows_of(yesterday.scan("totals.keyed_state"))
    (changed,) = set(before) - set(state)
    assert "'key': 'wörd 7'" in changed
    (now,) = set(state) - set(before)
    assert "'total': None" in now
    assert "'note': 'of wörd 7'" in now
    assert timers == rows_of(yesterday.scan("totals.timers"))


def test_what_is_wrong_is_said(spark: SparkSession, yesterday: SparkSavepoint) -> None:
    rows = keyed(sales(spark, 3, 5, 10))
    with pytest.raises(ValueError, match="it was given: none"):
        rows.run_batches(totals, COLUMNS)
    with pytest.raises(ValueError, match="none of them 'key'"):
        rows.run_batches(totals, COLUMNS, ValueStateDescriptor("key", Types.LONG()))
    with pytest.raises(ValueError, match="batch_rows=0"):
        rows.run_batches(totals, COLUMNS, TOTAL, batch_rows=0)
    with pytest.raises(ValueError, match="the rows of one input"):
        rows.connect(rows).run_batches(totals, COLUMNS, TOTAL)
    text = ValueStateDescriptor("total", Types.STRING())
    with pytest.raises(StateTypeError, match="state 'total'"):
        rows.run_batches(totals, COLUMNS, text, initial=yesterday.operator("totals"))
    with pytest.raises(ColumnNotFoundError, match="no column 'words'; it gave: word, at, total"):
        rows.run_batches(totals, "words STRING, at BIGINT, total BIGINT", *STATES)
