"""Checkpoints that a real Spark wrote, as tables: what they have follows from the rows that were read."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.each import each
from support.nightly import VARIABLE
from support.stream_queries import (
    DELAY_MS,
    HOUR_MS,
    PROVIDERS,
    counted,
    input_rows,
    joined,
    processed,
    put,
    read,
    run,
)

from savepoint_formats.errors import (
    ColumnTypeError,
    NotFoundError,
    OperatorNotFoundError,
    RefusedError,
    StateNotFoundError,
)
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import SparkSavepoint

ROWS = [row for batch in input_rows() for row in batch]
LAST = max(row["t"] for row in ROWS) * 1000
VERSIONS = "234" if os.environ.get(VARIABLE) else "24"
"""Of the state of a join."""
AGGREGATES = {
    "total": "sum",
    "n": "count",
    "mean": "avg",
    "numbers": "collect_list BIGINT",
    "words": "collect_set STRING",
    "spread": "stddev",
    "amount": "sum",
    "highest": "max",
    "is_all": "bool_and",
    "best": "max_by",
    "earliest": "first",
    "amounts": "collect_list DECIMAL(10, 2)",
}


@pytest.fixture(scope="module")
def checkpoints(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint per kind of query."""
    folder = tmp_path_factory.mktemp("streams")
    put(folder / "in", input_rows())
    rows = read(spark, folder / "in")
    aggregated = rows.groupBy("k").agg(
        F.sum("v"),
        F.count("v"),
        F.avg("v"),
        F.collect_list("v"),
        F.collect_set(F.concat(F.lit("Wörd "), "id")),
        F.stddev("v"),
        F.sum("d"),
        F.max("v"),
        F.bool_and(F.expr("v > -3")),
        F.max_by("v", "id"),
        F.first("v"),
        F.collect_list("d"),
    )
    run(aggregated, folder / "aggregated")
    window = F.window("ts", "30 seconds")
    hdfs = {"spark.sql.streaming.stateStore.providerClass": PROVIDERS["hdfs"]}
    run(rows.groupBy(window, "k").agg(F.sum("v"), F.count("*")), folder / "windows", **hdfs)
    session = F.session_window("ts", "15 seconds")
    run(rows.groupBy(session, "k").agg(F.sum("v")), folder / "sessions", "append")
    run(rows.dropDuplicatesWithinWatermark(["k", "id"]), folder / "distinct", "append", **hdfs)
    other = read(spark, folder / "in")
    for version in VERSIONS:
        form = {"spark.sql.streaming.join.stateFormatVersion": version}
        run(joined(rows, other), folder / f"joined-{version}", "append", **form)
    run(counted(rows), folder / "counted", **hdfs)
    run(processed(rows, "eventTime"), folder / "processed")
    run(processed(rows, "processingTime", HOUR_MS), folder / "expiring")
    return folder


def opened(spark: SparkSession, folder: Path, name: str) -> SparkCheckpoint:
    return SparkCheckpoint.load(spark, folder / name)


def milliseconds(time: datetime) -> int:
    return (time.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


def by_account() -> dict[str, list[dict[str, Any]]]:
    accounts = defaultdict(list)
    for row in ROWS:
        accounts[row["k"]].append(row)
    return accounts


def test_buffers_of_aggregates_are_found_by_position(
    spark: SparkSession, checkpoints: Path
) -> None:
    checkpoint = opened(spark, checkpoints, "aggregated")
    table = checkpoint.aggregation(0, key=["account"], **AGGREGATES)
    answers = {row["account"]: row.asDict(recursive=True) for row in table.collect()}
    accounts = by_account()
    assert answers.keys() == accounts.keys()
    for account, rows in accounts.items():
        values, answer = [row["v"] for row in rows], answers[account]
        assert answer["total"] == sum(values)
        assert answer["n"] == len(values)
        assert answer["mean"] == {"sum": float(sum(values)), "count": len(values)}
        assert sorted(answer["numbers"]) == sorted(values)
        assert set(answer["words"]) == {f"Wörd {row['id']}" for row in rows}
        assert answer["spread"]["avg"] == pytest.approx(fmean(values))
        assert answer["amount"] == sum(Decimal(row["d"]) for row in rows)
        assert answer["highest"] == max(values)
        assert answer["is_all"] == all(value > -3 for value in values)
        assert answer["best"]["ordering"] == max(row["id"] for row in rows)
        assert answer["earliest"] in values
        assert sorted(answer["amounts"]) == sorted(Decimal(row["d"]) for row in rows)


@each(
    ("changed", "message"),
    [
        ({"n": "avg"}, "n='avg' has the buffers sum, count, but the state has count, sum there"),
        ({"n": "median"}, "is no aggregate whose buffers are carried"),
        ({"numbers": "collect_list"}, "lacks the type of the elements"),
        ({"numbers": "collect_list ARRAY<INT>"}, "are not read from a collected array"),
        ({"n": "count BIGINT"}, "expected 'count' alone"),
        ({"amounts": None}, "more buffers than the aggregates"),
        ({"more": "sum"}, "but the state has no more there"),
    ],
)
def test_other_aggregates_than_those_of_the_query_are_refused(
    spark: SparkSession, checkpoints: Path, changed: dict[str, str], message: str
) -> None:
    aggregates = {k: v for k, v in {**AGGREGATES, **changed}.items() if v is not None}
    with pytest.raises(ColumnTypeError, match=message):
        opened(spark, checkpoints, "aggregated").aggregation(0, key=(), **aggregates)


def test_elements_of_another_size_are_noticed(spark: SparkSession, checkpoints: Path) -> None:
    wrong = {**AGGREGATES, "numbers": "collect_list INT"}
    table = opened(spark, checkpoints, "aggregated").aggregation(0, key=(), **wrong)
    with pytest.raises(Exception, match="no collected array of int32"):
        table.collect()


def test_windows_are_columns_of_the_key_wherever_the_query_has_them(
    spark: SparkSession, checkpoints: Path
) -> None:
    table = opened(spark, checkpoints, "windows").aggregation(0, total="sum", n="count")
    assert table.columns == ["window", "k", "total", "n"]
    # The batch before the last one has moved the watermark; windows before it are evicted.
    moved = max(row["t"] for row in input_rows()[0]) * 1000 - DELAY_MS
    expected: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row in ROWS:
        start = row["t"] // 30 * 30
        if (start + 30) * 1000 > moved:
            expected[start, row["k"]].append(row["v"])
    shown = table.selectExpr("unix_seconds(window.start) AS start", "k", "total", "n").collect()
    answers = {(row["start"], row["k"]): (row["total"], row["n"]) for row in shown}
    assert answers == {key: (sum(values), len(values)) for key, values in expected.items()}

    sessions = opened(spark, checkpoints, "sessions").aggregation(0, total="sum")
    assert sessions.columns == ["session_window", "k", "total"]
    assert sessions.count() > 0


def test_a_key_seen_within_the_watermark_has_the_time_at_which_it_is_forgotten(
    spark: SparkSession, checkpoints: Path
) -> None:
    rows = opened(spark, checkpoints, "distinct").deduplicated(0).collect()
    last = {(row["k"], row["id"]): row["t"] for row in reversed(ROWS)}
    assert rows
    for row in rows:
        assert row["expires_at"] == last[row["k"], row["id"]] * 1000 + DELAY_MS


@each("version", VERSIONS)
def test_rows_of_a_join_are_on_their_side_and_say_if_they_were_matched(
    spark: SparkSession, checkpoints: Path, version: str
) -> None:
    checkpoint = opened(spark, checkpoints, f"joined-{version}")
    assert checkpoint.operators[0].format_version == int(version)
    table = checkpoint.joined(key=["account"])
    stored: dict[str, set[tuple[str, int]]] = {"left": set(), "right": set()}
    for row in table.collect():
        assert row["left" if row["side"] == "right" else "right"] is None
        time = row[row["side"]]["ts" if row["side"] == "left" else "rt"]
        place = row["account"], int(time.timestamp())
        stored[row["side"]].add(place)
        others = [it["t"] for it in ROWS if it["k"] == place[0]]
        if row["side"] == "left":
            near = [
                it
                for it in ROWS
                if it["k"] == place[0] and it["id"] % 2 == 0 and abs(it["t"] - place[1]) <= 20
            ]
            assert row["matched"] == bool(near)
        assert place[1] in others
    assert stored["left"] >= {(it["k"], it["t"]) for it in input_rows()[1]}


def test_the_state_of_a_function_is_a_row_per_key_with_its_timers(
    spark: SparkSession, checkpoints: Path
) -> None:
    groups = opened(spark, checkpoints, "counted")
    assert groups.operators[0].timers == "not stored"
    assert groups.state().columns == ["k", "state", "timeout"]
    for row in groups.state(timeout="event_time").collect():
        assert row["state"] == len(by_account()[row["k"]])
        moved = max(it["t"] for it in input_rows()[0]) * 1000 - DELAY_MS
        assert row["event_time"] == moved + HOUR_MS

    table = opened(spark, checkpoints, "processed").state()
    assert table.columns == ["k", "total", "seen", "by_id", "event_time"]
    for row in table.collect():
        own = by_account()[row["k"]]
        # Spark takes rows for late by the watermark of the batch before.
        assert row["seen"] == [it["v"] for it in own]
        assert row["total"].asDict() == {"n": len(row["seen"]), "last": own[-1]["v"]}
        assert row["by_id"] == {it["id"]: it["v"] for it in own}
        assert row["event_time"] == sorted(it["t"] * 1000 + HOUR_MS for it in own)


def test_times_to_live_become_times_of_access_if_the_user_says_how_long_they_are(
    spark: SparkSession, checkpoints: Path
) -> None:
    checkpoint = opened(spark, checkpoints, "expiring")
    raw = {row["k"]: row["by_id"] for row in checkpoint.state().collect()}
    timed = checkpoint.state(ttl_ms={"by_id": HOUR_MS}).collect()
    assert len(timed) == len(raw) == 3
    for row in timed:
        for number, entry in row["by_id"].items():
            assert entry["value"] == raw[row["k"]][number]["value"]
            assert milliseconds(entry["timestamp"]) == raw[row["k"]][number]["expires_at"] - HOUR_MS
    with pytest.raises(StateNotFoundError, match="no state 'total' with a time to live"):
        checkpoint.state(ttl_ms={"total": 1})


def test_a_moved_checkpoint_is_read_and_not_the_one_that_it_was_copied_from(
    spark: SparkSession, checkpoints: Path, tmp_path: Path
) -> None:
    expected = opened(spark, checkpoints, "processed").state().orderBy("k").collect()
    for name in ("processed", "joined-4"):
        shutil.copytree(checkpoints / name, tmp_path / name)
        (checkpoints / name).rename(checkpoints / f"{name} away")
    try:
        assert opened(spark, tmp_path, "processed").state().orderBy("k").collect() == expected
        assert opened(spark, tmp_path, "joined-4").joined().count() > 0
    finally:
        for name in ("processed", "joined-4"):
            (checkpoints / f"{name} away").rename(checkpoints / name)


def test_positions_and_watermark_are_those_of_the_last_commit(
    spark: SparkSession, checkpoints: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stopped"
    shutil.copytree(checkpoints / "windows", folder)
    text = (folder / "offsets" / "1").read_text("utf-8")
    (folder / "offsets" / "2").write_text(text.replace('{"logOffset":1}', '{"logOffset":9}'))
    checkpoint = SparkCheckpoint.load(spark, folder)
    assert checkpoint.batch_id == 1
    assert checkpoint.offsets == {"0": {"logOffset": 1}}
    assert checkpoint.watermark == LAST - DELAY_MS
    assert SparkCheckpoint.load(spark, folder, 0).offsets == {"0": {"logOffset": 0}}
    before = SparkCheckpoint.load(spark, folder, 0).aggregation(0, total="sum", n="count")
    assert sum(row["n"] for row in before.collect()) == 12
    with pytest.raises(NotFoundError, match="no committed batch 2; it has 0 to 1"):
        SparkCheckpoint.load(spark, folder, 2)


def test_a_table_of_another_kind_or_operator_is_refused(
    spark: SparkSession, checkpoints: Path
) -> None:
    checkpoint = opened(spark, checkpoints, "windows")
    with pytest.raises(RefusedError, match="another table"):
        checkpoint.joined(0)
    with pytest.raises(OperatorNotFoundError, match="no operator 4; it has 0: aggregation"):
        checkpoint.aggregation(4)
    with pytest.raises(ColumnTypeError, match="key has 2 columns"):
        checkpoint.aggregation(0, key=["k"])
    with pytest.raises(RefusedError, match="leave timeout out"):
        opened(spark, checkpoints, "processed").state(timeout="event_time")


def new_job(spark: SparkSession, folder: Path) -> SparkSavepoint:
    """A savepoint of a Flink job that has read nothing."""
    nothing = spark.createDataFrame(
        [], "k STRING, id INT, value BIGINT, w STRUCT<start: BIGINT, end: BIGINT>"
    )
    total = Types.POJO("app.Total", {"last": Types.LONG(), "n": Types.LONG()})
    ttl = MapStateDescriptor("by_id", Types.INT(), Types.LONG()).with_ttl()
    empty = spark.createDataFrame(
        [],
        "k STRING, count BIGINT, total STRUCT<n: BIGINT, last: BIGINT>, seen ARRAY<BIGINT>,"
        " by_id MAP<INT, BIGINT>, at BIGINT",
    )
    keyed = OperatorTransformation.bootstrap_with(empty).key_by("k")
    counts = keyed.with_state(ValueStateDescriptor("count", Types.LONG()))
    accounts = keyed.with_state(ValueStateDescriptor("total", total)).with_state(
        ListStateDescriptor("seen", Types.LONG())
    )
    windows = OperatorTransformation.bootstrap_with(nothing).key_by("k").window("w")
    writer = Savepoint.create(spark, parallelism=2)
    writer = writer.with_operator("counts", counts.with_timers(event_time="at"))
    plain = accounts.with_state(MapStateDescriptor("by_id", Types.INT(), Types.LONG()))
    writer = writer.with_operator("accounts", plain.with_timers(event_time="at"))
    writer = writer.with_operator("expiring", accounts.with_state(ttl))
    writer.with_operator("windows", windows.reduce(Types.LONG(), "value")).write(folder)
    return Savepoint.load(spark, folder, uids=["counts", "accounts", "expiring", "windows"])


def test_state_of_functions_goes_into_the_states_of_a_new_job(
    spark: SparkSession, checkpoints: Path, tmp_path: Path
) -> None:
    empty = new_job(spark, tmp_path / "empty")
    like = {name: empty.operator(name) for name in ("counts", "accounts", "expiring")}
    counts, accounts = (
        opened(spark, checkpoints, "counted"),
        opened(spark, checkpoints, "processed"),
    )
    expiring = opened(spark, checkpoints, "expiring")
    writer = empty.with_operator("counts", counts.state_like(like["counts"], timeout="event_time"))
    writer = writer.with_operator("accounts", accounts.state_like(like["accounts"]))
    timed = expiring.state_like(like["expiring"], ttl_ms={"by_id": HOUR_MS})
    writer.with_operator("expiring", timed).write(tmp_path / "begun")
    begun = Savepoint.load(spark, tmp_path / "begun", uids=[*like])
    for row in begun.read_keyed_state("counts").collect():
        assert row["count"] == len(by_account()[row["key"]])
    timers = {(it["key"], it["timestamp"]) for it in begun.read_timers("counts").collect()}
    expected = counts.state(timeout="event_time").collect()
    assert timers == {(it["k"], it["event_time"]) for it in expected}
    stored = {it["k"]: it for it in accounts.state().collect()}
    rows = begun.read_keyed_state("accounts").collect()
    assert len(rows) == len(stored) == 3
    for row in rows:
        before = stored[row["key"]]
        assert (row["total"]["n"], row["total"]["last"]) == tuple(before["total"])
        assert (row["seen"], row["by_id"]) == (before["seen"], before["by_id"])
    assert begun.read_timers("accounts").count() == sum(
        len(it["event_time"]) for it in stored.values()
    )
    ages = begun.read_keyed_state("expiring", with_times=True).collect()
    known = {it["k"]: it["by_id"] for it in expiring.state(ttl_ms={"by_id": HOUR_MS}).collect()}
    assert {it["key"]: it["by_id"] for it in ages} == known


def test_state_that_can_t_be_carried_as_it_is_is_refused_by_name(
    spark: SparkSession, checkpoints: Path, tmp_path: Path
) -> None:
    empty = new_job(spark, tmp_path / "empty")
    counts, windows = empty.operator("counts"), empty.operator("windows")
    with pytest.raises(RefusedError, match="say it by --timeout event_time"):
        opened(spark, checkpoints, "counted").state_like(counts)
    with pytest.raises(ColumnTypeError, match="has no state 'sum'; it has total, seen, by_id"):
        opened(spark, checkpoints, "windows").state_like(empty.operator("accounts"))
    with pytest.raises(ColumnTypeError, match="window-contents"):
        opened(spark, checkpoints, "windows").state_like(windows)
    with pytest.raises(ColumnTypeError, match="counts has 0 states whose name is 'left'"):
        opened(spark, checkpoints, "joined-4").state_like(counts)
    with pytest.raises(ColumnTypeError, match="state 'by_id'"):
        opened(spark, checkpoints, "expiring").state_like(empty.operator("expiring"))
    with pytest.raises(
        RefusedError, match="timeout is for an operator of the kind state of a group"
    ):
        opened(spark, checkpoints, "windows").state_like(windows, timeout="event_time")
