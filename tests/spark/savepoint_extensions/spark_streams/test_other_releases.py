"""Checkpoints that other releases of PySpark write are read with the values that their queries gave."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.nightly import nightly
from support.stream_queries import DELAY_MS, HOUR_MS, input_rows
from support.written_streams import sessions

from savepoint_formats.errors import UnsupportedVersionError
from state_processor import SparkCheckpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

TESTS = Path(__file__).parents[3]
OLDEST = "3.5"
RELEASES = (OLDEST, "4.0", "4.1", "4.2")
HUNDREDTHS = 100
"""Spark averages short decimals as whole numbers, and its state has these."""
AGGREGATES = {
    "total": "sum",
    "mean": "avg",
    "n": "count",
    "amount": "sum",
    "amount_mean": "avg",
    "numbers": "collect_list BIGINT",
    "amounts": "collect_list DECIMAL(10, 2)",
    "words": "collect_set STRING",
    "highest": "max",
    "spread": "stddev",
    "earliest": "first",
    "best": "max_by",
}
pytestmark = [nightly]


@pytest.fixture(scope="module", params=RELEASES)
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """A release, and a folder of checkpoints that it has written, by a Python of its own."""
    if sys.version_info >= (3, 12) and request.param == OLDEST:
        pytest.skip("PySpark 3.5 imports distutils, which Python 3.12 lacks")
    own = tmp_path_factory.mktemp("python")
    venv.create(own, symlinks=True, with_pip=True)
    python = own / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", f"pyspark=={request.param}.*"]
    subprocess.run([python, *install], check=True, timeout=900)
    # All other packages are those of these tests.
    packages = sysconfig.get_path("purelib", vars={"base": str(own)})
    here = sysconfig.get_path("purelib")
    Path(packages, "others.pth").write_text(f"import site; site.addsitedir({here!r})\n", "utf-8")
    folder = tmp_path_factory.mktemp("written")
    write(python, folder, 0, 1)
    shutil.rmtree(own)
    yield request.param, folder
    shutil.rmtree(folder)


def write(python: Path, folder: Path, *batches: int) -> None:
    """Writes checkpoints by a Python, or continues them."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYSPARK_PYTHON": str(python)}
    environment.pop("SPARK_HOME", None)
    words: list[str | Path] = [python, "-m", "support.written_streams", folder, *map(str, batches)]
    subprocess.run(words, check=True, env=environment, timeout=1800, stdout=subprocess.DEVNULL)


@dataclass(frozen=True)
class Written:
    """A checkpoint, what its query has read, and what it gave.

    Attributes:
        folder: The folder of checkpoints.
        name: The query, and how it stores state.
    """

    folder: Path
    name: str

    @cached_property
    def batches(self) -> list[list[dict[str, Any]]]:
        return input_rows(range(len([*(self.folder / "in").glob("*.json")])))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch]

    @cached_property
    def evicted(self) -> int:
        """The watermark by which the last batch evicts."""
        return int(max(row["t"] for row in self.batches[-2])) * 1000 - DELAY_MS

    @cached_property
    def output(self) -> list[dict[str, Any]]:
        lines = (self.folder / f"{self.name}.json").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def last(self, *key: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The last output per key."""
        return {tuple(row[it] for it in key): row for row in self.output}

    def opened(self, spark: SparkSession) -> SparkCheckpoint:
        return SparkCheckpoint.load(spark, self.folder / self.name)


def rows_of(table: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in table.collect()]


def expect_aggregates(spark: SparkSession, written: Written) -> None:
    table = written.opened(spark).aggregation(0, key=["k"], **AGGREGATES)
    answers = {(row["k"],): row for row in rows_of(table)}
    expected = written.last("k")
    assert answers.keys() == expected.keys()
    assert len(answers) == 3
    for key, answer in answers.items():
        wanted = expected[key]
        for column in ("total", "n", "numbers", "words", "earliest"):
            assert answer[column] == wanted[column], column
        assert answer["best"]["value"] == wanted["best"]
        assert answer["mean"]["sum"] / answer["mean"]["count"] == wanted["mean"]
        for column in ("amount", "highest"):
            assert answer[column] == Decimal(wanted[column]), column
        mean = answer["amount_mean"]
        assert mean["sum"] / mean["count"] / HUNDREDTHS == pytest.approx(
            float(wanted["amount_mean"])
        )
        assert answer["amounts"] == [Decimal(it) for it in wanted["amounts"]]
        spread = answer["spread"]
        assert (spread["m2"] / (spread["n"] - 1)) ** 0.5 == pytest.approx(wanted["spread"])


def expect_windows(spark: SparkSession, written: Written) -> None:
    checkpoint = written.opened(spark)
    assert checkpoint.evicted == written.evicted
    table = checkpoint.aggregation(0, total="sum", mean="avg")
    table = table.selectExpr(
        "unix_millis(window.start) AS start", "unix_millis(window.end) AS end", "k", "total", "mean"
    )
    answers = {(row["start"], row["end"], row["k"]): row for row in rows_of(table)}
    expected = {
        key: row
        for key, row in written.last("start", "end", "k").items()
        if key[1] > written.evicted
    }
    assert answers.keys() == expected.keys()
    assert answers
    for key, row in answers.items():
        assert row["total"] == expected[key]["total"]
        mean = row["mean"]["sum"] / row["mean"]["count"]
        assert mean / HUNDREDTHS == pytest.approx(float(expected[key]["mean"]))


def expect_sessions(spark: SparkSession, written: Written) -> None:
    table = written.opened(spark).aggregation(0, total="sum", n="count")
    stored = rows_of(
        table.selectExpr(
            "unix_millis(session_window.start) AS start",
            "unix_millis(session_window.end) AS end",
            "k",
            "total",
            "n",
        )
    )
    assert stored
    files = spark.read.schema("k STRING, v BIGINT, d DECIMAL(10, 2), t BIGINT, id INT")
    rows = files.json(str(written.folder / "in")).selectExpr("*", "timestamp_seconds(t) AS ts")
    assert all(row["end"] > written.evicted for row in stored)
    assert as_set(stored + written.output) == as_set(rows_of(sessions(rows)))


def as_set(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def expect_distinct(spark: SparkSession, written: Written) -> None:
    keys = rows_of(written.opened(spark).deduplicated(0))
    assert as_set(keys) == as_set([{"k": row["k"], "id": row["id"]} for row in written.output])
    assert keys


def expect_within(spark: SparkSession, written: Written) -> None:
    keys = rows_of(written.opened(spark).deduplicated(0))
    expected = [
        {"k": row["k"], "id": row["id"], "expires_at": row["t"] * 1000 + DELAY_MS}
        for row in written.output
    ]
    assert as_set(keys) == as_set([row for row in expected if row["expires_at"] > written.evicted])
    assert keys


def expect_joined(spark: SparkSession, written: Written) -> None:
    checkpoint = written.opened(spark)
    times = "unix_millis(left.ts) AS ts", "unix_millis(right.rt) AS rt"
    stored = rows_of(checkpoint.joined(key=["account"]).selectExpr("*", *times))
    emitted = written.output
    pairs = {(row["lk"], row["ts"]) for row in emitted if row["rt"] is not None}
    alone = {(row["lk"], row["ts"]) for row in emitted if row["rt"] is None}
    left = {(it["account"], it["ts"]): it for it in stored if it["side"] == "left"}
    right = {(it["account"], it["rt"]): it for it in stored if it["side"] == "right"}
    # Each row is in the output or will be: those without a match are in the state, and no others.
    all_left = {(row["k"], row["t"] * 1000): row for row in written.rows}
    unmatched = {key for key in left if key not in pairs}
    assert unmatched == all_left.keys() - pairs - alone
    assert left.keys() >= {(row["k"], row["t"] * 1000) for row in written.batches[-1]}
    all_right = {key: row for key, row in all_left.items() if row["id"] % 2 == 0}
    assert right.keys() <= all_right.keys()
    assert right.keys() >= {key for key, row in all_right.items() if row in written.batches[-1]}
    for key, row in left.items():
        assert row["left"]["v"] == all_left[key]["v"]
        assert row["matched"] == (key in pairs)
    for key, row in right.items():
        assert row["right"]["id"] == all_right[key]["id"]


def expect_counted(spark: SparkSession, written: Written) -> None:
    rows = rows_of(written.opened(spark).state(timeout="event_time"))
    expected = written.last("k")
    assert {(row["k"],): row["state"] for row in rows} == {
        key: row["n"] for key, row in expected.items()
    }
    assert {row["event_time"] for row in rows} == {written.evicted + HOUR_MS}


def expect_variables(spark: SparkSession, written: Written) -> None:
    rows = rows_of(written.opened(spark).state())
    own = defaultdict(list)
    for row in written.rows:
        own[row["k"]].append(row)
    expected = written.last("k")
    assert {(row["k"],): row["total"]["n"] for row in rows} == {
        key: row["n"] for key, row in expected.items()
    }
    for row in rows:
        mine = own[row["k"]]
        assert row["total"] == {"n": len(mine), "last": mine[-1]["v"]}
        assert row["seen"] == [it["v"] for it in mine]
        by_id = {it["id"]: it["v"] for it in mine}
        if written.name.startswith("timed"):
            assert row["by_id"] == by_id
            assert row["event_time"] == sorted(it["t"] * 1000 + HOUR_MS for it in mine)
        else:
            assert {key: it["value"] for key, it in row["by_id"].items()} == by_id
            assert all(it["expires_at"] > HOUR_MS for it in row["by_id"].values())


CHECKS = {
    "aggregated": expect_aggregates,
    "windows": expect_windows,
    "sessions": expect_sessions,
    "distinct": expect_distinct,
    "within": expect_within,
    "joined2": expect_joined,
    "joined3": expect_joined,
    "joined4": expect_joined,
    "counted": expect_counted,
    "timed": expect_variables,
    "expiring": expect_variables,
}


def expect_all(spark: SparkSession, folder: Path) -> None:
    """Each checkpoint is read as its query's output says."""
    names = sorted(file.stem for file in folder.glob("*.json"))
    assert names
    for name in names:
        CHECKS[name.partition("-")[0]](spark, Written(folder, name))


def test_values_are_those_that_the_queries_gave(
    spark: SparkSession, written: tuple[str, Path]
) -> None:
    release, folder = written
    if release != OLDEST:
        expect_all(spark, folder)
        return
    for place in folder.glob("*/state"):
        checkpoint = SparkCheckpoint.load(spark, place.parent)
        with pytest.raises(UnsupportedVersionError, match=r"since 4\.0: run a batch of the query"):
            checkpoint.operators  # noqa: B018  # they are read when they are asked for
    write(Path(sys.executable), folder, 2)
    expect_all(spark, folder)
