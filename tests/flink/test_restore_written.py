"""Savepoints made of DataFrames, restored by Flink: it sees the rows that went in."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import (
    BACKENDS,
    RELEASES,
    Elements,
    FlinkRestore,
    KeyedState,
    Operator,
    TimerService,
    TimeWindows,
)
from support.sample_rows import Rows, in_order, rows_of
from support.slow_cases import nightly_unless

from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    SavepointWriter,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

everywhere = pytest.mark.parametrize(
    ("flink", "backend"), [(flink, backend) for flink in RELEASES for backend in BACKENDS]
)

HOUR = 3_600_000
NOON = 1_709_294_400_000
FAR_FUTURE = 4_102_444_800_000
LONG_KEYS = [-(2**63), -(2**31), -1, 0, 1, 127, 128, 2**31, 2**63 - 1, *range(1000, 1040)]
TEXT_KEYS = ["", " ", "Zoë", "日本", "𝄞 clef", *(f"customer-{i}" for i in range(40))]

ACCOUNTS = Operator(
    "accounts",
    key="LONG",
    states=(
        KeyedState.value("total", "DOUBLE"),
        KeyedState.list("memos", "STRING"),
        KeyedState.map("by_currency", "STRING", "LONG"),
        KeyedState.reducing("sum", "LONG"),
        KeyedState.aggregating("average", "TUPLE<LONG, LONG>"),
    ),
    timers=(TimerService(),),
)
CUSTOMERS = Operator("customers", key="STRING", states=(KeyedState.value("visits", "INT"),))
PAIRS = Operator("pairs", key="TUPLE<INT, STRING>", states=(KeyedState.value("n", "LONG"),))
WINDOW_TIMERS = (TimerService("window-timers", "TIME_WINDOW"),)
HOURLY = Operator(
    "hourly",
    key="STRING",
    states=(KeyedState.reducing("window-contents", "LONG").under("TIME_WINDOW"),),
    timers=WINDOW_TIMERS,
    windows=TimeWindows("tumbling", HOUR, "reduce", "LONG"),
)
SESSIONS = Operator(
    "sessions",
    key="STRING",
    states=(KeyedState.list("window-contents", "STRING").under("TIME_WINDOW"),),
    timers=WINDOW_TIMERS,
    windows=TimeWindows("session", HOUR, "process", "STRING"),
)
KEYED = (ACCOUNTS, CUSTOMERS, PAIRS)
WINDOWS = (HOURLY, SESSIONS)
OFFSETS = Operator(
    "offsets",
    elements=(Elements("offsets", "union", ("TUPLE<STRING, LONG>",)),),
)
WAITING = Operator("waiting", elements=(Elements("waiting", "list", ("STRING",)),))
RATES = Operator("rates", elements=(Elements("rates", "broadcast", ("INT", "DOUBLE")),))


def accounts() -> Rows:
    """Every third key has no list, every other one no map, so not all have all states."""
    return [
        {
            "key": key,
            "total": key * 0.5,
            "memos": [f"memo {i}", "Grüße"] if i % 3 else None,
            "by_currency": {"EUR": i, "USD": -i} if i % 2 else None,
            "sum": i * 100,
            "average": {"f0": i, "f1": key},
        }
        for i, key in enumerate(LONG_KEYS)
    ]


def customers() -> Rows:
    return [{"key": key, "visits": i} for i, key in enumerate(TEXT_KEYS)]


def pairs() -> Rows:
    return [{"key": {"f0": i - 7, "f1": key}, "n": i} for i, key in enumerate(TEXT_KEYS)]


def timers() -> Rows:
    domains = (("event_time", NOON), ("processing_time", FAR_FUTURE))
    return [
        {"key": key, "namespace": None, "timestamp": start + i, "domain": domain}
        for domain, start in domains
        for i, key in enumerate(LONG_KEYS)
    ]


def hourly() -> Rows:
    return [
        {"key": key, "namespace": [start, start + HOUR], "window-contents": i}
        for i, key in enumerate(TEXT_KEYS)
        for start in (NOON, NOON + HOUR)
    ]


def sessions() -> Rows:
    """Two of each key, far enough from each other to remain two."""
    return [
        {"key": key, "namespace": [start, start + HOUR + i], "window-contents": [key, str(start)]}
        for i, key in enumerate(TEXT_KEYS)
        for start in (NOON, NOON + 4 * HOUR)
    ]


def _frame(spark: SparkSession, rows: Rows, schema: str) -> Any:
    cells = [{**row, "window": _window(row)} if "namespace" in row else row for row in rows]
    return OperatorTransformation.bootstrap_with(spark.createDataFrame(cells, schema))


def _window(row: dict[str, Any]) -> dict[str, int]:
    start, end = row["namespace"]
    return {"start": start, "end": end}


def _keyed(writer: SavepointWriter, spark: SparkSession) -> SavepointWriter:
    rows = [
        {**row, "event": NOON + i, "processing": FAR_FUTURE + i} for i, row in enumerate(accounts())
    ]
    data = _frame(
        spark,
        rows,
        "key bigint, total double, memos array<string>, by_currency map<string, bigint>,"
        " sum bigint, average struct<f0: bigint, f1: bigint>, event bigint, processing bigint",
    )
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    keyed = (
        data.key_by("key")
        .with_state(ValueStateDescriptor("total", Types.DOUBLE()))
        .with_state(ListStateDescriptor("memos", Types.STRING()))
        .with_state(MapStateDescriptor("by_currency", Types.STRING(), Types.LONG()))
        .with_state(ReducingStateDescriptor("sum", Types.LONG()))
        .with_state(AggregatingStateDescriptor("average", pair))
        .with_timers(event_time="event", processing_time="processing")
    )
    texts = _frame(spark, customers(), "key string, visits int").key_by("key")
    tuples = _frame(spark, pairs(), "key struct<f0: int, f1: string>, n bigint").key_by(
        "key", key_type=Types.TUPLE([Types.INT(), Types.STRING()])
    )
    return (
        writer.with_operator("accounts", keyed)
        .with_operator("customers", texts.with_state(ValueStateDescriptor("visits", Types.INT())))
        .with_operator("pairs", tuples.with_state(ValueStateDescriptor("n", Types.LONG())))
    )


def _windowed(writer: SavepointWriter, spark: SparkSession) -> SavepointWriter:
    window = "key string, window struct<start: bigint, end: bigint>, `window-contents` "
    hours = _frame(spark, hourly(), window + "bigint").key_by("key").window("window")
    spans = _frame(spark, sessions(), window + "array<string>").key_by("key")
    return writer.with_operator(
        "hourly", hours.reduce(Types.LONG(), "window-contents")
    ).with_operator(
        "sessions",
        spans.window("window", is_merging=True).process(Types.STRING(), "window-contents"),
    )


def _of_operators(writer: SavepointWriter, spark: SparkSession) -> SavepointWriter:
    offset = Types.TUPLE([Types.STRING(), Types.LONG()])
    offsets = [{"offsets": {"f0": f"shard-{i}", "f1": i}} for i in range(5)]
    waiting = [{"waiting": text} for text in TEXT_KEYS]
    rates = [{"key": i, "value": i / 4} for i in range(7)]
    return (
        writer.with_operator(
            "offsets",
            _frame(spark, offsets, "offsets struct<f0: string, f1: bigint>").union_state(
                ListStateDescriptor("offsets", offset)
            ),
        )
        .with_operator(
            "waiting",
            _frame(spark, waiting, "waiting string").list_state(
                ListStateDescriptor("waiting", Types.STRING())
            ),
        )
        .with_operator(
            "rates",
            _frame(spark, rates, "key int, value double").broadcast_state(
                MapStateDescriptor("rates", Types.INT(), Types.DOUBLE())
            ),
        )
    )


@pytest.fixture(scope="module", params=[128, 300])
def written(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A savepoint of two subtasks, with prefixes of one or of two bytes."""
    path = str(tmp_path_factory.mktemp("written") / "savepoint")
    writer = Savepoint.create(spark, max_parallelism=request.param, parallelism=2)
    for add in (_keyed, _windowed, _of_operators):
        writer = add(writer, spark)
    writer.write(path)
    return path


@everywhere
def test_keyed_state_of_every_kind_is_there(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    restored = flink_restore(written, *KEYED, flink=flink, backend=backend)
    assert restored.keyed_state("accounts") == in_order(accounts())
    assert restored.keyed_state("customers") == in_order(customers())
    assert restored.keyed_state("pairs") == in_order(pairs())
    assert restored.timers("accounts") == in_order(timers())
    assert restored.subtasks("accounts") == {0, 1, 2}


@everywhere
def test_timers_fire_with_the_state_of_their_key(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    operator = ACCOUNTS.firing()
    restored = flink_restore(written, operator, flink=flink, backend=backend, ends=True)
    states = {row["key"]: row for row in accounts()}
    names = [state.name for state in ACCOUNTS.states]
    assert restored.fired("accounts") == in_order(
        {
            "fired": "event_time",
            "key": timer["key"],
            "timestamp": timer["timestamp"],
            "states": {name: states[timer["key"]][name] for name in names},
        }
        for timer in timers()
        if timer["domain"] == "event_time"
    )


@everywhere
def test_windows_emit_their_contents_when_the_watermark_passes(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    operators = [operator.real() for operator in WINDOWS]
    restored = flink_restore(written, *operators, flink=flink, backend=backend, ends=True)
    for operator, rows in ((HOURLY, hourly()), (SESSIONS, sessions())):
        assert restored.ended_windows(operator.uid) == in_order(
            {"key": row["key"], "window": row["namespace"], "contents": _elements(row)}
            for row in rows
        )


def _elements(row: dict[str, Any]) -> list[Any]:
    contents = row["window-contents"]
    return contents if isinstance(contents, list) else [contents]


@pytest.mark.parametrize("written", nightly_unless((128).__eq__, [128, 300]), indirect=True)
@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("parallelism", [1, 2, 4])
def test_state_of_operators_is_dealt_out(
    flink_restore: FlinkRestore, written: str, flink: str, parallelism: int
) -> None:
    restored = flink_restore(written, OFFSETS, WAITING, RATES, flink=flink, parallelism=parallelism)
    assert sorted(restored.elements("waiting", "waiting")) == sorted(TEXT_KEYS)
    offsets = [{"f0": f"shard-{i}", "f1": i} for i in range(5)]
    assert in_order(restored.elements("offsets", "offsets")) == in_order(parallelism * offsets)
    rates = [{"key": i, "value": i / 4} for i in range(7)]
    assert in_order(restored.elements("rates", "rates")) == in_order(parallelism * rates)


@everywhere
def test_what_flink_saves_again_is_read_as_before(
    flink_restore: FlinkRestore, written: str, tmp_path: Path, flink: str, backend: str
) -> None:
    restored = flink_restore(
        written, *KEYED, *WINDOWS, flink=flink, backend=backend, resave=tmp_path
    )
    assert restored.savepoint is not None
    uids = [operator.uid for operator in (*KEYED, *WINDOWS)]
    again = Savepoint.open(restored.savepoint, uids=uids)
    assert in_order(rows_of(again.scan("accounts.keyed_state"))) == in_order(accounts())
    assert in_order(rows_of(again.scan("sessions.window_state"))) == in_order(sessions())


def test_state_lives_until_its_time_to_live_has_passed(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    now = int(time.time() * 1000)
    kept, gone = {"key": "a", "memo": "kept"}, {"key": "b", "memo": "gone"}
    rows = [{**kept, "used": now}, {**gone, "used": now - 2 * HOUR}]
    memo = ValueStateDescriptor("memo", Types.STRING()).with_ttl()
    data = _frame(spark, rows, "key string, memo string, used bigint").key_by("key")
    timed = data.with_state(memo, last_access="used")
    Savepoint.create(spark).with_operator("memos", timed).write(str(tmp_path / "first"))
    first = Savepoint.load(spark, str(tmp_path / "first"), uids=["memos"])
    data = OperatorTransformation.bootstrap_with(first.read_keyed_state("memos", with_times=True))
    back = Savepoint.create(spark).with_operator("memos", data.like(first.operator("memos")))
    back.write(str(tmp_path / "savepoint"))
    for ttl, expected in ((HOUR, [kept]), (3 * HOUR, [kept, gone])):
        state = KeyedState.value("memo", "STRING").with_ttl(ttl)
        operator = Operator("memos", key="STRING", states=(state,))
        for flink in RELEASES:
            for backend in BACKENDS:
                restored = flink_restore(
                    tmp_path / "savepoint", operator, flink=flink, backend=backend
                )
                assert restored.keyed_state("memos") == expected
    again = flink_restore(tmp_path / "savepoint", operator, resave=tmp_path / "again").savepoint
    assert again is not None
    found = Savepoint.open(again, uids=["memos"]).scan("memos.keyed_state", with_times=True)
    memos = {row["key"]: row["memo"] for row in found.to_arrow().to_pylist()}
    times = {key: round(memo["timestamp"].timestamp() * 1000) for key, memo in memos.items()}
    assert times == {row["key"]: row["used"] for row in rows}


def test_an_operator_has_state_of_keys_and_of_its_own(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    visits = _frame(spark, customers(), "key string, visits int").key_by("key")
    seen = [{"seen": text} for text in TEXT_KEYS]
    Savepoint.create(spark).with_operator(
        "customers",
        visits.with_state(ValueStateDescriptor("visits", Types.INT())),
        _frame(spark, seen, "seen string").list_state(ListStateDescriptor("seen", Types.STRING())),
    ).write(str(tmp_path / "savepoint"))
    operator = replace(CUSTOMERS, elements=(Elements("seen", "list", ("STRING",)),))
    for flink in RELEASES:
        restored = flink_restore(tmp_path / "savepoint", operator, flink=flink)
        assert restored.keyed_state("customers") == in_order(customers())
        assert sorted(restored.elements("customers", "seen")) == sorted(TEXT_KEYS)
