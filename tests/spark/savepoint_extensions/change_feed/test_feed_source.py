"""A stream of changes: each once, whatever ends it, as long as the checkpoints are there."""

from __future__ import annotations

import pickle
import shutil
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from support.kept_states import KeptState, savepoint_of_states
from support.longs_by_text import savepoint_of_longs
from support.nightly import nightly

from savepoint_extensions.change_feed import feed_source
from savepoint_extensions.change_feed.retained_steps import GoneCheckpointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from support.s3_server import S3Server

TOTALS = {
    1: {"a": 1, "b": 2},
    2: {"a": 1, "b": 3, "c": 4},
    5: {"b": 3},
    6: {"b": 3, "d": 1},
    8: {"b": 4, "d": 1},
}
CHANGES: dict[tuple[int, int], set[tuple[str, str | None, str | None, str]]] = {
    (1, 2): {("b", "2", "3", "changed"), ("c", None, "4", "added")},
    (2, 5): {("a", "1", None, "removed"), ("c", "4", None, "removed")},
    (1, 5): {("a", "1", None, "removed"), ("b", "2", "3", "changed")},
    (5, 6): {("d", None, "1", "added")},
    (6, 8): {("b", "3", "4", "changed")},
    (5, 8): {("b", "3", "4", "changed"), ("d", None, "1", "added")},
}
IS_BY_CHECKPOINT = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether each batch has one checkpoint; before Spark 4.2, it has all since the last batch."""


def write(job: Path, *numbers: int) -> None:
    for number in numbers:
        savepoint_of_longs(job / f"chk-{number}", TOTALS[number])


def stream(spark: SparkSession, job: Path, **options: Any) -> DataFrame:
    settings = {"changes": "true", "uids": "a", **options}
    return spark.readStream.format("savepoint").options(**settings).load(str(job))


def run(changes: DataFrame, folder: Path) -> None:
    """All that is there now, and then the stream ends."""
    query = (
        changes.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "offsets"))
        .option("path", str(folder / "rows"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def rows(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    columns = ("checkpoint", "key", "before", "after", "kind")
    read = spark.read.parquet(str(folder / "rows")).select(*columns)
    return sorted((tuple(row[name] for name in columns) for row in read.collect()), key=repr)


def steps(*numbers: int) -> list[tuple[int, int]]:
    """From checkpoint to checkpoint, as the batches of a stream that begins after the first go."""
    return list(pairwise(numbers)) if IS_BY_CHECKPOINT else [(numbers[0], numbers[-1])]


def expected(*of_steps: tuple[int, int]) -> list[tuple[Any, ...]]:
    return sorted(((step[1], *row) for step in of_steps for row in CHANGES[step]), key=repr)


@nightly
def test_a_stream_that_is_started_again_gives_each_change_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    job, folder = tmp_path / "job", tmp_path / "stream"
    write(job, 1, 2, 5)
    run(stream(spark, job), folder)
    assert rows(spark, folder) == expected(*steps(1, 2, 5))
    run(stream(spark, job), folder)
    assert rows(spark, folder) == expected(*steps(1, 2, 5))
    write(job, 6, 8)
    shutil.rmtree(job / "chk-1")
    run(stream(spark, job), folder)
    assert rows(spark, folder) == expected(*steps(1, 2, 5), *steps(5, 6, 8))


@nightly
def test_a_batch_that_was_not_committed_is_done_again_from_where_it_began(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark has written which offsets the batch has; the oldest checkpoint is another one by now."""
    job, folder = tmp_path / "job", tmp_path / "stream"
    write(job, 1, 2, 5)
    run(stream(spark, job), folder)
    uncommit(folder)
    shutil.rmtree(folder / "rows")
    run(stream(spark, job), folder)
    assert rows(spark, folder) == expected(*steps(1, 2, 5))
    uncommit(folder)
    shutil.rmtree(folder / "rows")
    shutil.rmtree(job / "chk-1")
    with pytest.raises(PySparkException, match="checkpoint 1 is gone, so the changes from"):
        run(stream(spark, job), folder)


def uncommit(folder: Path) -> None:
    """A stream that ended in its first batch, whose offsets it had written."""
    for log, name in (("commits", "0"), ("offsets", "1")):
        for path in (folder / "offsets" / log).iterdir():
            if int(path.name.strip(".").partition(".")[0]) >= int(name):
                path.unlink()


@nightly
def test_a_checkpoint_that_is_gone_is_an_error_or_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    job, folder = tmp_path / "job", tmp_path / "stream"
    write(job, 1, 2)
    run(stream(spark, job), folder)
    shutil.rmtree(job / "chk-2")
    write(job, 5, 6)
    with pytest.raises(PySparkException, match="checkpoint 2 is gone, so the changes from"):
        run(stream(spark, job), folder)
    run(stream(spark, job, skipGone="true"), folder)
    # A step of several checkpoints is skipped as a whole.
    assert rows(spark, folder) == expected((1, 2), *([(5, 6)] if IS_BY_CHECKPOINT else []))


@nightly
def test_a_job_that_begins_anew_in_its_directory_is_not_waited_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    job, folder = tmp_path / "job", tmp_path / "stream"
    write(job, 5, 6)
    run(stream(spark, job), folder)
    shutil.rmtree(job)
    write(job, 1, 2)
    with pytest.raises(PySparkException, match="checkpoint 6 is gone, so the changes from"):
        run(stream(spark, job), folder)
    run(stream(spark, job, skipGone="true"), folder)
    assert rows(spark, folder) == expected((5, 6), *([(1, 2)] if IS_BY_CHECKPOINT else []))


def test_a_stream_begins_where_it_is_told_and_has_typed_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    job, folder = tmp_path / "job", tmp_path / "stream"
    write(job, 1, 2, 5, 6, 8)
    typed = stream(spark, job, changes="a.total", since="5")
    kinds = [(field.name, field.dataType.simpleString()) for field in typed.schema]
    assert kinds == [
        ("checkpoint", "bigint"),
        ("key", "string"),
        ("before", "bigint"),
        ("after", "bigint"),
        ("kind", "string"),
    ]
    run(typed, folder)
    added = 6 if IS_BY_CHECKPOINT else 8
    changes = [(added, "d", None, 1, "added"), (8, "b", 3, 4, "changed")]
    assert rows(spark, folder) == sorted(changes, key=repr)


def test_two_savepoints_are_a_table(spark: SparkSession, tmp_path: Path) -> None:
    old = {"k": KeptState(1, ("a", "a"), {"d": None}, panes={(0, 10): 3}, timers=frozenset([5]))}
    new = {"k": KeptState(1, ("a",), {"d": 3}, panes={(0, 10): 4})}
    paths = [
        str(savepoint_of_states(tmp_path / name, keys))
        for name, keys in (("old", old), ("new", new))
    ]
    reader = spark.read.format("savepoint").option("uids", "a").option("since", paths[0])
    table = reader.option("changes", "true").load(paths[1])
    before, after = (Savepoint.open(path, uids=["a"]) for path in paths)
    feed = before.changes(after)
    assert sorted(map(tuple, table.collect()), key=repr) == sorted(
        (tuple(row.values()) for row in feed.to_arrow().to_pylist()), key=repr
    )
    for name in feed.states:
        typed = reader.option("changes", name).load(paths[1]).toArrow()
        assert typed.to_pylist() == feed.to_arrow(name).to_pylist(), name


def test_a_first_batch_is_done_again_from_where_it_began_before_spark_4_2(tmp_path: Path) -> None:
    """It asks for the newest offset before the initial one, and for both again after a restart."""
    write(tmp_path, 1, 2)
    options = feed_source.FeedOptions.parse({"changes": "true", "uids": "a", "path": str(tmp_path)})
    reader, again = (feed_source.FeedStreamReader(options) for _ in range(2))
    first, start = reader.latestOffset(), reader.initialOffset()
    assert [part.step.since for part in reader.partitions(start, first)] == [1]
    write(tmp_path, 5)
    second = reader.latestOffset()
    assert [part.step.since for part in reader.partitions(first, second)] == [2]
    shutil.rmtree(tmp_path / "chk-1")
    with pytest.raises(GoneCheckpointError, match="checkpoint 1 is gone"):
        again.partitions(again.initialOffset(), first)
    third = again.latestOffset()
    assert [part.step.since for part in again.partitions(first, third)] == [2]


def test_what_is_committed_is_not_read_again_after_a_restart(tmp_path: Path) -> None:
    """Spark asks for the partitions from its newest offset to that offset; others may be gone."""
    write(tmp_path, 1, 2)
    options = feed_source.FeedOptions.parse({"changes": "true", "uids": "a", "path": str(tmp_path)})
    reader = feed_source.FeedStreamReader(options)
    end = reader.latestOffset(reader.initialOffset())
    shutil.rmtree(tmp_path / "chk-1")
    assert feed_source.FeedStreamReader(options).partitions(end, end) == []


def test_checkpoints_in_a_store_are_a_stream(s3_server: S3Server, tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 5)
    bucket = s3_server.bucket("feed")
    for metadata in tmp_path.glob("chk-*/_metadata"):
        s3_server.put(bucket, f"job/{metadata.parent.name}/_metadata", metadata.read_bytes())
    options = {"changes": "true", "uids": "a", "path": s3_server.uri(bucket, "job")}
    reader = feed_source.FeedStreamReader(feed_source.FeedOptions.parse(options))
    start, seen = reader.initialOffset(), []
    for _ in range(2):
        end = reader.latestOffset(start)
        for part in reader.partitions(start, end):
            for batch in reader.read(pickle.loads(pickle.dumps(part))):
                seen += batch.select(["checkpoint", "key", "before", "after", "kind"]).to_pylist()
        start = end
    assert sorted((tuple(row.values()) for row in seen), key=repr) == expected((1, 2), (2, 5))


def test_wrong_options_are_errors(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    with pytest.raises(PySparkException, match="there is no option 'sinse' for changes"):
        stream(spark, tmp_path, sinse="1")
    with pytest.raises(PySparkException, match="need the earlier one"):
        spark.read.format("savepoint").option("changes", "true").load(str(tmp_path)).collect()
    with pytest.raises(PySparkException, match=r"no state 'a\.tota'"):
        stream(spark, tmp_path, changes="a.tota")
    assert feed_source.CHECKPOINT == "checkpoint"
