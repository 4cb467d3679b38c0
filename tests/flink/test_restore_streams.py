"""Half of the rows is read by a streaming query of Spark, the other by a Flink job, in either order.

Together they give what one run of Flink over all rows gives, for each kind of state. The state goes by a
savepoint that was taken of the Flink job before its first row, or by the initial state of a query.
"""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flink_home import FlinkHome
from pyspark.sql import functions as F
from support.commands import run as command
from support.nightly import is_night, nightly
from support.sample_rows import SAMPLES
from support.stream_kinds import (
    AS_HDFS,
    OF_FUNCTIONS,
    ROCKSDB_ALONE,
    as_lines,
    given,
    queries,
    rows_of,
    run_all,
    run_in_turn,
    stream,
    within,
)
from support.stream_processors import (
    HOUR_MS,
    SHORT_MS,
    Accounts,
    Distinct,
    Groups,
    Totals,
    Visits,
    Within,
    with_state,
)
from support.stream_queries import NOON, put

from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from savepoint_spark.writing.write_context import StateTransformation

SOURCES = Path(__file__).parent / "stream_job"
FIRST, SECOND = (0, 1), (2, 3)
KINDS = (
    *("totals", "windows", "sliding", "sessions", "distinct", "within"),
    *("outer", "groups", "accounts", "visits"),
)
BY_NIGHT = ("sliding", "visits")
"""Kinds of which another is much the same: they are read by Spark at night alone."""

WANTED = KINDS if is_night() else tuple(name for name in KINDS if name not in BY_NIGHT)
OTHER_LINES = {"totals": "total", "groups": "group", "accounts": "account", "visits": "visit"}
LAST_ALONE = ("total", "visit")
"""Of these only the last line of a key counts: a query gives one per batch, or depends on the clock."""

NEAR_MS = 20_000
PROCESSORS = {
    "totals": (Totals(), ("k",)),
    "distinct": (Distinct(), ("k", "id")),
    "within": (Within(), ("r",)),
    "groups": (Groups(), ("k",)),
    "accounts": (Accounts(), ("k",)),
    "visits": (Visits(), ("k",)),
}
"""Functions that go on with an operator of the job, and the columns of their key."""


@contextmanager
def moved_job(flink: str, folder: Path) -> Iterator[Callable[[str], list[str]]]:
    """Gives what asks ``MovedJob``, and has what its operators gave."""
    home = FlinkHome.cached(flink)
    home.install()
    inbox = folder / "inbox"
    inbox.mkdir()
    java = home.java(home.compiled([SAMPLES / "job", SOURCES]), ["-Xmx1g"])
    with (
        (folder / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [*java, "moved.MovedJob", inbox.as_uri()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def ask(request: str) -> list[str]:
            requests.write(f"{request}\n")
            requests.flush()
            lines = list(iter(lambda: answers.readline().rstrip("\n"), ""))
            assert lines or process.poll() is None, (folder / "log").read_text("utf-8")[-4000:]
            return lines

        yield ask
        requests.close()


@dataclass(frozen=True)
class FlinkRuns:
    """What a release of Flink gave.

    Attributes:
        ask: Asks the job for more.
        empty: A savepoint of the job before any row.
        half: A savepoint behind the first half.
        first: The lines of the first half.
        alone: The lines of all rows.
        begun: When the first half was begun, in seconds.
        saved: When its savepoint was there.
    """

    ask: Callable[[str], list[str]]
    empty: str
    half: str
    first: list[str]
    alone: list[str]
    begun: float
    saved: float


@pytest.fixture(scope="module", params=["2.2.1", pytest.param("1.20.5", marks=nightly)])
def flink(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FlinkRuns]:
    folder = tmp_path_factory.mktemp("flink")
    first, second = as_lines(rows_of(FIRST)), as_lines(rows_of(SECOND))
    half = written(folder / "first.tsv", first)
    # Between the halves passes more time than the shortest time to live, as from one engine to the other. A busy machine
    # needs some of it until the operators have the rows.
    pause = [f"pause {2 * SHORT_MS}"] if "visits" in WANTED else []
    both = written(folder / "all.tsv", [*first, *pause, *second])
    with moved_job(request.param, folder) as ask:
        (empty,) = ask(f"half - - {folder.as_uri()}")
        begun = time.time()
        *lines, path = ask(f"half {half} - {folder.as_uri()}")
        saved = time.time()
        yield FlinkRuns(ask, empty, path, lines, ask(f"run {both} -"), begun, saved)


def written(file: Path, lines: Iterable[str]) -> Path:
    file.write_text("\n".join(lines), "utf-8")
    return file


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=nightly)])
def checkpoints(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Checkpoints of queries that have read the first half, and what they gave."""
    folder = tmp_path_factory.mktemp("queries")
    put(folder / "in", rows_of(FIRST))
    of_kinds = queries(stream(spark, folder / "in"), stream(spark, folder / "in"))
    each = {name: of_kinds[name] for name in WANTED}
    others = [name for name in each if name not in (*AS_HDFS, *ROCKSDB_ALONE)]
    is_hdfs = others if request.param else AS_HDFS
    run_all({it: each[it] for it in each if it not in OF_FUNCTIONS}, folder, is_hdfs)
    run_in_turn({it: each[it] for it in each if it in OF_FUNCTIONS}, folder, is_hdfs)
    return folder


def test_spark_reads_the_first_half_and_flink_the_second(
    spark: SparkSession, checkpoints: Path, flink: FlinkRuns, tmp_path: Path
) -> None:
    moved = imported(spark, checkpoints, flink.empty, tmp_path)
    rows = written(tmp_path / "second.tsv", as_lines(rows_of(SECOND)))
    second = flink.ask(f"run {rows} {moved.as_uri()}")
    assert_equal([*given(checkpoints), *second], flink.alone, WANTED)
    # Both halves count: neither engine alone gives it all.
    for name in WANTED:
        line = OTHER_LINES.get(name, name)
        assert any(it.startswith(f"{line} ") for it in second), name
        assert name == "totals" or any(it.startswith(f"{line} ") for it in given(checkpoints)), name


def imported(spark: SparkSession, checkpoints: Path, empty: str, folder: Path) -> Path:
    """A savepoint with the state of all queries."""
    loaded = {name: SparkCheckpoint.load(spark, checkpoints / name) for name in WANTED}
    new_job = Savepoint.load(spark, empty, uids=KINDS)
    words: dict[str, dict[str, Any]] = {
        "totals": {
            "aggregates": {
                "total": "sum",
                "n": "count",
                "seen": "collect_list BIGINT",
                "words": "collect_set STRING",
            }
        },
        "groups": {"timeout": "event_time"},
        "visits": {"ttl_ms": {"last": HOUR_MS, "recent": SHORT_MS, "by_id": HOUR_MS}},
    }
    writer = new_job.with_operator("outer", outer(loaded["outer"]))
    for name in WANTED:
        if name not in ("outer", "distinct"):
            state = loaded[name].state_like(new_job.operator(name), **words.get(name, {}))
            writer = writer.with_operator(name, state)
    writer.write(folder / "most")
    options = ("--from-spark", checkpoints / "distinct", "--uid", "distinct", "--like")
    code, printed = command("import", *options, folder / "most", folder / "moved")
    assert code == 0, printed
    assert f"state by the watermark {loaded['distinct'].evicted} ms" in printed
    return folder / "moved"


def outer(checkpoint: SparkCheckpoint) -> StateTransformation:
    """The rows of a join as lists of both sides, with a timer for each row of the left."""
    rows = checkpoint.joined(key=["k"]).withColumns(
        {
            "l": F.expr("struct(left.v, unix_millis(left.ts) AS at, matched)"),
            "r": F.expr("struct(right.id, unix_millis(right.rt) AS at)"),
        }
    )
    sides = rows.groupBy("k").agg(
        F.expr("collect_list(l) FILTER (WHERE side = 'left') AS left"),
        F.expr("collect_list(r) FILTER (WHERE side = 'right') AS right"),
    )
    table = sides.withColumn("end", F.expr(f"transform(left, it -> it.at + {NEAR_MS + 1})"))
    left = Types.TUPLE([Types.LONG(), Types.LONG(), Types.BOOLEAN()])
    keyed = OperatorTransformation.bootstrap_with(table).key_by("k")
    keyed = keyed.with_state(ListStateDescriptor("left", left))
    keyed = keyed.with_state(ListStateDescriptor("right", Types.TUPLE([Types.INT(), Types.LONG()])))
    return keyed.with_timers(event_time="end")


def test_flink_reads_the_first_half_and_spark_the_second(
    spark: SparkSession, flink: FlinkRuns, tmp_path: Path
) -> None:
    names = tuple(PROCESSORS) if is_night() else ("accounts",)
    savepoint = Savepoint.load(spark, flink.half, uids=KINDS)
    # Two more batches, so that time moves on, and timers fire.
    end = [{"k": "end", "v": 0, "t": NOON + 36_000, "id": 0, "r": "end"}]
    put(tmp_path / "in", [*rows_of(SECOND), end, end])
    rows = stream(spark, tmp_path / "in")
    going_on = {}
    for name in names:
        processor, key = PROCESSORS[name]
        initial = savepoint.initial_state(name, key=key)
        mode = "processingTime" if name == "visits" else "eventTime"
        going_on[name] = with_state(rows, processor, *key, mode=mode, initial=initial)
    run_in_turn(going_on, tmp_path)
    second = [line for line in given(tmp_path) if line.split()[1] != "end"]
    others = [name for name in names if name != "visits"]
    assert_equal([*flink.first, *second], flink.alone, others)
    if "visits" in names:
        # The time to live begins anew in Spark, so that it does not forget the list of the first half.
        visits = without_lists([*flink.first, *second])
        assert_equal(visits, without_lists(flink.alone), ("visits",))


def test_times_of_elements_are_shown_as_flink_has_them(
    spark: SparkSession, flink: FlinkRuns
) -> None:
    """Of each element of a list, and each entry of a map: the time at which its row was read."""
    savepoint = Savepoint.load(spark, flink.half, uids=KINDS)
    rows = savepoint.read_keyed_state("visits", with_times=True).collect()
    values = savepoint.read_keyed_state("visits").collect()
    assert {row["key"] for row in rows} == {"k0", "k1", "k2"}
    plain = {row["key"]: row for row in values}
    for row in rows:
        timed = [*row["recent"], *row["by_id"].values(), row["last"]]
        assert [it["value"] for it in row["recent"]] == plain[row["key"]]["recent"]
        assert {k: it["value"] for k, it in row["by_id"].items()} == plain[row["key"]]["by_id"]
        assert all(flink.begun <= it["timestamp"].timestamp() <= flink.saved for it in timed)


def assert_equal(together: Sequence[str], alone: Sequence[str], names: Iterable[str]) -> None:
    """Asserts that both engines gave what one gave, of some kinds."""
    more = {"groups": ("timeout",), "accounts": ("fired",)}
    for name in names:
        for word in (OTHER_LINES.get(name, name), *more.get(name, ())):
            own = [it for it in together if it.startswith(f"{word} ")]
            expected = [it for it in alone if it.startswith(f"{word} ")]
            assert expected
            if word in LAST_ALONE:
                assert last_of_keys(own) == last_of_keys(expected), word
            else:
                assert sorted(own) == sorted(expected), word


def without_lists(lines: Iterable[str]) -> list[str]:
    return [re.sub(r"\[.*\]", "", line) for line in lines]


def last_of_keys(lines: Sequence[str]) -> dict[str, str]:
    return {line.split()[1]: line for line in lines}


@nightly
def test_spark_lets_fewer_rows_return_than_flink(
    spark: SparkSession, flink: FlinkRuns, tmp_path: Path
) -> None:
    """Spark forgets keys between batches, Flink with each row: a page names these numbers."""
    put(tmp_path / "in", rows_of((*FIRST, *SECOND)))
    rows = stream(spark, tmp_path / "in").withColumn("ki", F.concat_ws("-", "k", "id"))
    run_all({"returned": within(rows, "returned", "ki")}, tmp_path)
    by_flink = {it for it in flink.alone if it.startswith("returned ")}
    by_spark = {*given(tmp_path)}
    assert by_spark < by_flink
    assert (len(by_spark), len(by_flink)) == (30, 48)
