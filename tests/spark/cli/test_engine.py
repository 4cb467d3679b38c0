"""Commands whose work Spark may do say the same as without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.commands import run
from support.longs_by_text import savepoint_of_longs
from support.sample_rows import Sample, copy_of, file_of

if TYPE_CHECKING:
    from pathlib import Path

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
