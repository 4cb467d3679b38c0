"""A streaming query of Spark reads half of the rows, and a Flink job the rest: nothing is missing or twice.

Together they give what one run of Flink over all rows gives. The state goes by a savepoint that was taken
of the Flink job before its first row.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flink_home import FlinkHome
from pyspark.sql import functions as F
from support.commands import run as command
from support.sample_rows import SAMPLES
from support.stream_queries import PROVIDERS, input_rows, processed, put, read, run

from state_processor import Savepoint, SparkCheckpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

SOURCES = Path(__file__).parent / "stream_job"
FIRST, SECOND = (0, 1), (2, 3)
UIDS = ("totals", "windows", "sessions", "distinct", "accounts")
OF_EACH_ROW = ("total ", "account ")
HDFS = {"spark.sql.streaming.stateStore.providerClass": PROVIDERS["hdfs"]}


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
            given = list(iter(lambda: answers.readline().rstrip("\n"), ""))
            assert given, (folder / "log").read_text(encoding="utf-8")[-4000:]
            return given

        yield ask
        requests.close()


def written(folder: Path, batches: Sequence[int]) -> Path:
    """The rows of batches as ``MovedJob`` reads them."""
    rows = [row for batch in input_rows(batches) for row in batch]
    lines = [f"{it['k']}\t{it['v']}\t{it['t'] * 1000}\t{it['id']}" for it in rows]
    file = folder / f"rows-{'-'.join(map(str, batches))}.tsv"
    file.write_text("\n".join(lines), "utf-8")
    return file


@pytest.fixture(scope="module")
def queries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of queries that have read the first half, and what they gave."""
    folder = tmp_path_factory.mktemp("queries")
    put(folder / "in", input_rows(FIRST))
    rows = read(spark, folder / "in")
    totals = rows.groupBy("k").agg(F.sum("v"), F.count("v"), F.collect_list("v"))
    window, session = F.window("ts", "30 seconds"), F.session_window("ts", "15 seconds")
    windows = rows.groupBy("k", window).agg(F.sum("v").alias("total"), F.count("v").alias("n"))
    sessions = rows.groupBy("k", session).agg(F.sum("v").alias("total"))
    run(totals, folder / "totals")
    run(windows, folder / "windows", "append", str(folder / "windows out"), **HDFS)
    run(sessions, folder / "sessions", "append", str(folder / "sessions out"))
    distinct = rows.dropDuplicates(["k", "id"]).select("k", "id")
    run(distinct, folder / "distinct", "append", str(folder / "distinct out"), **HDFS)
    run(processed(rows, "eventTime"), folder / "accounts")
    return folder


def given_by_spark(spark: SparkSession, folder: Path) -> list[str]:
    def rows(name: str) -> list[dict[str, Any]]:
        return [
            json.loads(it.value) for it in spark.read.text(str(folder / f"{name} out")).collect()
        ]

    def ms(text: str) -> int:
        return int(spark.sql(f"SELECT unix_millis(TIMESTAMP '{text}')").collect()[0][0])

    return [
        *(
            f"window {it['k']} {ms(it['window']['start'])} {it['total']} {it['n']}"
            for it in rows("windows")
        ),
        *(
            f"session {it['k']} {ms(it['session_window']['start'])} {ms(it['session_window']['end'])}"
            f" {it['total']}"
            for it in rows("sessions")
        ),
        *(f"distinct {it['k']} {it['id']}" for it in rows("distinct")),
    ]


def last_of_keys(given: Sequence[str]) -> dict[tuple[str, ...], str]:
    """The last line of each key, of the operators that give one for each row."""
    return {tuple(it.split()[:2]): it for it in given if it.startswith(OF_EACH_ROW)}


@pytest.mark.parametrize("flink", ["2.2.1", "1.20.5"])
def test_spark_reads_the_first_half_and_flink_the_second(
    spark: SparkSession, queries: Path, flink: str, tmp_path: Path
) -> None:
    checkpoints = {name: SparkCheckpoint.load(spark, queries / name) for name in UIDS}
    with moved_job(flink, tmp_path) as ask:
        (empty,) = ask(f"empty {(tmp_path / 'empty').as_uri()}")
        new_job = Savepoint.load(spark, empty, uids=UIDS)
        like = {name: new_job.operator(name) for name in UIDS}
        aggregates = {"total": "sum", "n": "count", "seen": "collect_list BIGINT"}
        totals = checkpoints["totals"].state_like(like["totals"], 0, aggregates=aggregates)
        writer = new_job.with_operator("totals", totals)
        for name in ("windows", "sessions", "accounts"):
            writer = writer.with_operator(name, checkpoints[name].state_like(like[name]))
        writer.write(tmp_path / "four")
        words = ("--from-spark", queries / "distinct", "--uid", "distinct", "--like")
        code, printed = command("import", *words, tmp_path / "four", tmp_path / "moved")
        assert code == 0, printed
        watermark = checkpoints["distinct"].watermark
        assert f"The query's watermark is {watermark} ms" in printed
        moved = (tmp_path / "moved").as_uri()
        second = ask(f"run {written(tmp_path, SECOND)} {moved}")
        alone = ask(f"run {written(tmp_path, (*FIRST, *SECOND))} -")
    assert last_of_keys(second) == last_of_keys(alone)
    together = [
        *given_by_spark(spark, queries),
        *(it for it in second if not it.startswith(OF_EACH_ROW)),
    ]
    assert sorted(together) == sorted(it for it in alone if not it.startswith(OF_EACH_ROW))
    # Both halves count: neither engine alone gives it all.
    assert {it.split()[0] for it in second} == {
        *("total", "window", "session", "distinct", "account", "fired")
    }
    assert {it.split()[0] for it in given_by_spark(spark, queries)} >= {"window", "distinct"}
