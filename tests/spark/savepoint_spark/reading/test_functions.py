"""Functions that users write to read keyed state, on what real jobs put into it."""

from __future__ import annotations

import json
import math
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import Row
from support.reader_jobs import calls_of, content, job_of, rows_of, state_of
from support.sample_rows import Sample, in_order, samples, told, with_columns
from support.slow_cases import few_by_day

from savepoint_database.types.descriptors import ValueStateDescriptor
from savepoint_formats.errors import OperatorNotFoundError, StateNotFoundError
from savepoint_spark.reading.functions import (
    KeyedStateReaderFunction,
    ReaderContext,
    RuntimeContext,
    WindowReaderContext,
    WindowReaderFunction,
)
from savepoint_spark.session.tasks import done_in_task
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from savepoint_spark.reading.per_key import PerKeyJob
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

# Workers of Spark cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

SAMPLES = samples()
STATES = [sample for sample in SAMPLES if sample.name.startswith("states")]
KEYED = [
    (sample, uid)
    for sample in SAMPLES
    for uid, state in sample.operators().items()
    if "keyed_state" in state
]
STATEFUL = Sample("states-2.2.1-rocksdb-native")
SESSIONS = Sample("windows-2.2.1-rocksdb-canonical")
SUMMARIZE = Sample("currency-2.2.1-hashmap-canonical")


class AllStates(KeyedStateReaderFunction):
    """Gives each state of an operator as its table has it."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds

    def open(self, runtime_context: RuntimeContext) -> None:
        self.states = {
            name: state_of(runtime_context, kind, name) for name, kind in self.kinds.items()
        }

    def read_key(self, key: Any, context: ReaderContext) -> Iterator[dict[str, Any]]:
        yield {"key": key, **{name: content(state) for name, state in self.states.items()}}


class Timers(KeyedStateReaderFunction):
    """Gives the timers of the keys that have a state of any kind."""

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("last_id"))

    def read_key(self, key: Any, context: ReaderContext) -> Iterator[tuple[Any, ...]]:
        for timer in context.registered_event_time_timers():
            yield key, "EVENT_TIME", timer
        for timer in context.registered_processing_time_timers():
            yield key, "PROCESSING_TIME", timer


class Totals(KeyedStateReaderFunction):
    """Gives what it is told to, of a key and its total."""

    def __init__(self, rows: Any = lambda key, total: [(key, total)]) -> None:
        self.rows = rows
        self.is_closed = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def read_key(self, key: Any, context: ReaderContext) -> Any:
        return self.rows(key, self.total.value())

    def close(self) -> None:
        self.is_closed = True


class Windows(WindowReaderFunction):
    """Gives the keys of windows."""

    def read_window(
        self, key: Any, context: WindowReaderContext, elements: Sequence[Any]
    ) -> Iterator[Any]:
        yield key, 0.0


TOTALS = pa.schema([("key", pa.int32()), ("total", pa.float64())])


def by_hand(job: PerKeyJob) -> Iterator[pa.RecordBatch]:
    """Results of a function in a task of Spark, without Spark."""
    splits = tuple(job.scan.splits())
    numbers = pa.record_batch([pa.array(range(len(splits)))], ["id"])
    return done_in_task(job.run, splits, [numbers])


def test_an_error_of_a_function_begins_with_its_own_frames() -> None:
    def rows(key: int, total: float) -> list[Any]:
        return [json.loads("{")]

    job = job_of(SUMMARIZE, "summarize", Totals(rows), TOTALS)
    with pytest.raises(ValueError, match="Expecting property name") as caught:
        list(by_hand(job))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    # The first is that of the test itself.
    assert names[1:3] == ["read_key", "rows"]


def test_an_error_of_its_own_keeps_its_frames() -> None:
    reader = Totals(lambda key, total: [(key, None)])
    job = job_of(SUMMARIZE, "summarize", reader, pa.schema([("key", pa.int32())]))
    with pytest.raises(ValueError, match="values") as caught:
        list(by_hand(job))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "run" in names


@pytest.mark.parametrize(("sample", "uid"), few_by_day(KEYED), ids=str)
def test_a_function_sees_every_state_of_every_key(sample: Sample, uid: str) -> None:
    savepoint = sample.open()
    scan = savepoint.scan(f"{uid}.keyed_state")
    reader = AllStates({state.name: state.kind.value for state in scan.table.states})
    expected = with_columns(sample.keyed_state(uid), scan.schema.names)
    found = told(rows_of(sample, uid, reader, scan.schema))
    for row in (*found, *expected):
        if windows := row.get("merging-window-set"):
            row["merging-window-set"] = sorted(windows, key=str)
    assert in_order(found) == in_order(expected)


@pytest.mark.parametrize("sample", few_by_day(STATES), ids=str)
def test_a_function_sees_the_timers_of_each_key(sample: Sample) -> None:
    keys = {row["key"] for row in sample.keyed_state("stateful")}
    schema = pa.schema([("key", pa.utf8()), ("domain", pa.utf8()), ("timestamp", pa.int64())])
    found = rows_of(sample, "stateful", Timers(), schema).to_pylist()
    expected = [
        {name: timer[name] for name in schema.names}
        for timer in sample.timers("stateful")
        if timer["key"] in keys
    ]
    assert expected
    assert in_order(found) == in_order(expected)


def test_a_key_is_seen_if_it_has_any_of_the_registered_states() -> None:
    schema = pa.schema([("key", pa.utf8()), ("cents_sum", pa.int64()), ("last_id", pa.int64())])
    sums = AllStates({"cents_sum": "reducing"})
    some = rows_of(STATEFUL, "stateful", sums, schema).column("key").to_pylist()
    assert "refunds only" not in some
    both = AllStates({"cents_sum": "reducing", "last_id": "value"})
    rows = {row["key"]: row for row in rows_of(STATEFUL, "stateful", both, schema).to_pylist()}
    assert rows["refunds only"] == {"key": "refunds only", "cents_sum": None, "last_id": 207}
    assert "closed" not in rows


def test_states_are_empty_where_a_key_has_nothing() -> None:
    class Parts(AllStates):
        def read_key(self, key: Any, context: ReaderContext) -> Iterator[Any]:
            memos, changes = self.states["memos"], self.states["changes"]
            if key in ("refunds only", "transfers only"):
                entries = sorted(changes.items())
                yield key, [*memos], memos.get(), entries, changes.get("USD"), "USD" in changes

    kinds = {"last_id": "value", "memos": "list", "changes": "map"}
    changed = [("BTC", None), ("GBP", None), ("SEK", None), ("USD", None)]
    assert sorted(calls_of(STATEFUL, "stateful", Parts(kinds))) == [
        ("refunds only", [], [], [], None, False),
        ("transfers only", [], [], changed, None, True),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda states: states["last_id"].update(1),
        lambda states: states["last_id"].clear(),
        lambda states: states["memos"].add("memo"),
        lambda states: states["memos"].add_all(["memo"]),
        lambda states: states["memos"].update(["memo"]),
        lambda states: states["changes"].put("EUR", 1),
        lambda states: states["changes"].put_all({"EUR": 1}),
        lambda states: states["changes"].remove("EUR"),
        lambda states: states["cents_sum"].add(1),
        lambda states: states["average"].add(1),
    ],
)
def test_state_can_not_be_changed(change: Any) -> None:
    kinds = {
        "last_id": "value",
        "memos": "list",
        "changes": "map",
        "cents_sum": "reducing",
        "average": "aggregating",
    }
    reader = AllStates(kinds)
    calls_of(STATEFUL, "stateful", reader)
    with pytest.raises(TypeError, match="is read from a savepoint"):
        change(reader.states)


def test_a_name_that_no_state_has_is_told_with_those_there_are() -> None:
    reader = AllStates({"amount": "value"})
    expected = r"'amount' of summarize does not exist; it has: total \(value\), count \(value\)"
    with pytest.raises(StateNotFoundError, match=expected):
        job_of(SUMMARIZE, "summarize", reader, TOTALS)


def test_a_state_of_another_kind_is_told() -> None:
    reader = AllStates({"total": "list"})
    with pytest.raises(StateNotFoundError, match="ListState 'total' of summarize is a value state"):
        job_of(SUMMARIZE, "summarize", reader, TOTALS)


def test_state_of_windows_is_none_of_keys() -> None:
    reader = AllStates({"window-contents": "list"})
    with pytest.raises(StateNotFoundError, match="is state of windows; read_window_state reads it"):
        job_of(SESSIONS, "session", reader, TOTALS)


def test_a_function_without_states_is_an_error() -> None:
    with pytest.raises(ValueError, match="registers no state"):
        job_of(SUMMARIZE, "summarize", AllStates({}), TOTALS)
    with pytest.raises(ValueError, match="has no 'window-contents'"):
        job_of(SUMMARIZE, "summarize", Windows(), TOTALS)


def test_the_function_of_the_driver_is_neither_opened_nor_closed() -> None:
    reader = Totals()
    job_of(SUMMARIZE, "summarize", reader, TOTALS)
    assert not hasattr(reader, "total")
    assert not reader.is_closed


def test_a_function_is_closed_though_it_fails() -> None:
    reader = Totals(lambda key, total: [1 / 0])
    with pytest.raises(ZeroDivisionError) as caught:
        rows_of(SUMMARIZE, "summarize", reader, TOTALS)
    assert reader.is_closed
    assert "in Totals for key " in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "rows",
    [
        lambda key, total: [(key, total)],
        lambda key, total: iter([{"total": total, "key": key}]),
        lambda key, total: [Row(total=total, key=key)],
        lambda key, total: [Row(key, total)],
    ],
    ids=["tuple", "dict", "row", "row without names"],
)
def test_rows_are_dicts_tuples_or_rows(rows: Any) -> None:
    found = rows_of(SUMMARIZE, "summarize", Totals(rows), TOTALS).to_pylist()
    expected = with_columns(
        [{"key": row["key"], "total": row["total"]} for row in SUMMARIZE.keyed_state("summarize")],
        TOTALS.names,
    )
    assert in_order(found) == in_order(expected)


def test_a_function_gives_any_number_of_rows() -> None:
    rows = Totals(lambda key, total: [{"key": key}] * 3 if key == 42 else [])
    found = rows_of(SUMMARIZE, "summarize", rows, TOTALS)
    assert found.to_pylist() == [{"key": 42, "total": None}] * 3


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        (
            (1,),
            ValueError,
            "Totals gave a row for key -?[0-9]+ that does not fit: it has 1 values, expected 2: key, total",
        ),
        (
            {"sum": 1.0},
            ValueError,
            "Totals gave a row for key .*: no field 'sum'; missing: 'key', 'total'",
        ),
        ("row", TypeError, "Totals gave a row for key .* fit: a str is not a tuple, dict or Row"),
        ((1, "x"), ValueError, "Totals gave 'x' for key .* in column 'total', which is double"),
        ((1.5, 1.0), TypeError, "Totals gave 1.5 for key .* in column 'key', which is int32"),
        ((1 << 40, 1.0), ValueError, "Totals gave 1099511627776 for key .* in column 'key'"),
    ],
)
def test_a_row_that_does_not_fit_is_told_with_its_key(
    row: Any, error: type[Exception], message: str
) -> None:
    reader = Totals(lambda key, total: [row])
    with pytest.raises(error, match=message):
        rows_of(SUMMARIZE, "summarize", reader, TOTALS)


def summarize(spark: SparkSession, sample: Sample = SUMMARIZE) -> SparkSavepoint:
    return Savepoint.load(spark, sample.path, uids=["summarize"])


def test_spark_runs_a_function_with_what_it_imports_and_encloses(spark: SparkSession) -> None:
    factor = 2.0

    def rows(key: int, total: float) -> Iterator[tuple[int, float]]:
        yield key, math.floor(total) * factor

    savepoint = summarize(spark)
    frame = savepoint.read_keyed_state("summarize", Totals(rows), schema="key INT, total DOUBLE")
    expected = {
        row["key"]: math.floor(row["total"]) * 2 for row in SUMMARIZE.keyed_state("summarize")
    }
    assert {row.key: row.total for row in frame.collect()} == expected


def test_what_functions_read_of_several_backends_is_one_frame(spark: SparkSession) -> None:
    names = ["currency-1.20.5-hashmap-native", "currency-2.2.1-rocksdb-native"]
    frames = [
        summarize(spark, Sample(name)).read_keyed_state(
            "summarize", Totals(), schema="key INT, total DOUBLE NOT NULL", keys=[42, -7]
        )
        for name in names
    ]
    found = frames[0].union(frames[1]).groupBy("key").count().collect()
    assert sorted(map(tuple, found)) == [(-7, 2), (42, 2)]


def test_a_function_that_is_to_see_no_key_gives_an_empty_frame(spark: SparkSession) -> None:
    frame = summarize(spark).read_keyed_state(
        "summarize", Totals(), schema="key INT, total DOUBLE", keys=[]
    )
    assert frame.columns == ["key", "total"]
    assert frame.collect() == []


def test_an_error_of_a_function_names_the_key(spark: SparkSession) -> None:
    def rows(key: int, total: float) -> list[Any]:
        return [(key, total / (key - 42))]

    frame = summarize(spark).read_keyed_state(
        "summarize", Totals(rows), schema="key INT, total DOUBLE"
    )
    with pytest.raises(PythonException, match="in Totals for key 42 of summarize") as caught:
        frame.collect()
    frames = re.findall(r'File "([^"]+)", line \d+, in (\w+)', str(caught.value))
    ours = [name for file, name in frames if "state_processor/state_processor" in file]
    assert frames[-1][1] == "rows"
    assert ours == []


def test_null_in_a_column_that_is_not_nullable_is_told_with_its_key(spark: SparkSession) -> None:
    reader = Totals(lambda key, total: [(key, None if key == 42 else total)])
    frame = summarize(spark).read_keyed_state(
        "summarize", reader, schema="key INT, total DOUBLE NOT NULL"
    )
    with pytest.raises(PythonException, match="null for key 42 in column 'total', which is not"):
        frame.collect()


def test_what_does_not_go_with_a_function_is_an_error(spark: SparkSession) -> None:
    savepoint = summarize(spark)
    schema = "key INT, total DOUBLE"
    with pytest.raises(ValueError, match="add schema="):
        savepoint.read_keyed_state("summarize", Totals())
    with pytest.raises(ValueError, match="add the function"):
        savepoint.read_keyed_state("summarize", schema=schema)
    with pytest.raises(ValueError, match="no arguments but"):
        savepoint.read_keyed_state("summarize", Totals(), schema=schema, columns=["total"])
    with pytest.raises(ValueError, match="has no columns"):
        savepoint.read_keyed_state("summarize", Totals(), schema="BIGINT")
    with pytest.raises(TypeError, match="Windows is no KeyedStateReaderFunction"):
        savepoint.read_keyed_state("summarize", Windows(), schema=schema)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Totals is no WindowReaderFunction"):
        savepoint.read_window_state("summarize", Totals(), schema=schema)  # type: ignore[arg-type]
    with pytest.raises(OperatorNotFoundError):
        savepoint.read_keyed_state("sumarize", Totals(), schema=schema)
