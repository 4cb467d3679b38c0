"""Commands whose work Spark may do say the same as without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from support.commands import run
from support.longs_by_text import savepoint_of_longs
from support.sample_rows import Sample, copy_of, file_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = ("--engine", "spark")


def test_stats_by_spark_are_the_same_lines(spark: SparkSession, tmp_path: Path) -> None:
    path = savepoint_of_longs(tmp_path / "job", {f"key {n}": n for n in range(20)})
    command = ("stats", path, "--uid", "a", "--at", "2030-01-01T00:00:00Z", "--output", "json")
    expected = run(*command)
    assert run(*command, *SPARK) == expected
    assert (expected[0], '"entries": 20' in expected[1]) == (0, True)


def test_diff_by_spark_has_the_same_exit_code_counts_and_samples(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = savepoint_of_longs(tmp_path / "before", {"a": 1, "b": 2})
    after = savepoint_of_longs(tmp_path / "after", {"a": 1, "b": 3})
    command = ("diff", before, after, "--uid", "a")
    expected = run(*command)
    assert run(*command, *SPARK) == expected
    assert (expected[0], "update_postimage" in expected[1]) == (3, True)
    assert run("diff", before, before, *SPARK)[0] == 0


def test_verify_by_spark_has_the_same_exit_code_and_faults(
    spark: SparkSession, tmp_path: Path
) -> None:
    damaged = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path)
    file = file_of(damaged, "summarize 0: keyed state")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    command = ("verify", damaged.path, "--uid", "summarize", "--output", "json")
    expected = run(*command)
    assert run(*command, *SPARK) == expected
    assert (expected[0], '"sections"' in expected[1]) == (1, True)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "_metadata").write_bytes(b"no savepoint")
    assert run("verify", tmp_path / "none", *SPARK) == run("verify", tmp_path / "none")


def savepoint(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which starts Java itself."""
    program = "from savepoint_cli.main import main; main(prog_name='savepoint')"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_nothing_of_java_is_said_beside_the_answer() -> None:
    sample = Sample("currency-2.2.1-rocksdb-native").path
    query = "SELECT key FROM summarize.keyed_state LIMIT 3"
    done = savepoint("query", str(sample), query, *SPARK)
    assert len(done.stdout.splitlines()) == 1 + 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("3 rows by spark in ")


def test_workers_that_spark_starts_itself_end_in_silence_behind_a_limit() -> None:
    sample = Sample("states-2.2.1-rocksdb-native").path
    query = "SELECT key FROM stateful.keyed_state LIMIT 1"
    home = str(Path(pyspark.__file__).parent)
    done = savepoint("query", str(sample), query, *SPARK, SPARK_HOME=home)
    assert len(done.stdout.splitlines()) == 1 + 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("1 row by spark in ")


def test_why_java_did_not_start_is_a_line() -> None:
    sample = Sample("currency-2.2.1-rocksdb-native").path
    asked = ["query", str(sample), "SELECT 1", *SPARK, "--conf", "spark.driver.memory=much"]
    done = savepoint(*asked)
    said = "Error: Spark's Java did not start: Invalid maximum heap size: -Xmxmuch\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
