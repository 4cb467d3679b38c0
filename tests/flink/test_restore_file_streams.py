"""A real Flink reads no file again that a streaming query of Spark has read, and each new one once."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.file_jobs import file_jobs

from state_processor import Savepoint, SparkCheckpoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.flink
SIZE, FILES = 5, 12
"""Lines of a file; and so many files that Spark puts the first ten into one file of its log."""


def write(folder: Path, number: int) -> None:
    """A file that appears at once, as both engines want it, with a name that URIs escape."""
    (folder / "in").mkdir(exist_ok=True)
    hidden = folder / "hidden"
    hidden.write_text("".join(f"{line}\n" for line in range(number * SIZE, (number + 1) * SIZE)))
    os.utime(hidden, (number, number))
    hidden.rename(folder / "in" / f"part {number} ü%41.txt")


def queried(spark: SparkSession, folder: Path) -> SparkCheckpoint:
    """A query that has read all files, one in each batch."""
    files = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "in"))
    writer = files.writeStream.format("noop").option("checkpointLocation", str(folder / "query"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return SparkCheckpoint.load(spark, folder / "query")


def given(folder: Path) -> Counter[int]:
    """How often each line came out of the job."""
    texts = [file.read_text() for file in (folder / "out").rglob("part-*")]
    lines = [line for text in texts for line in text.split("\n") if line]
    return Counter(int(line.split()[2]) for line in lines)


def test_flink_goes_on_behind_the_files_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(FILES):
        write(tmp_path, number)
    checkpoint = queried(spark, tmp_path)
    files = checkpoint.files("0")
    assert len(files) == FILES
    assert (tmp_path / "query" / "sources" / "0" / "9.compact").exists()
    Savepoint.create(spark).with_file_source("lines", files).write(tmp_path / "begun")
    places = [(tmp_path / name).as_uri() for name in ("begun", "checkpoints", "in", "out")]
    with file_jobs("2.2.1", tmp_path) as job:
        write(tmp_path, FILES)
        job.line("start", places[0], 2, *places[1:], 0)
        job.line("await", SIZE)
        write(tmp_path, FILES + 1)
        job.line("await", 2 * SIZE)
        time.sleep(1.5)  # a file that is read again would come now
        job.line("stop", (tmp_path / "last").as_uri())
    assert given(tmp_path) == Counter(range(FILES * SIZE, (FILES + 2) * SIZE))
