"""Runs that are left in files, or shuffled, are those that a task takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F
from support.nightly import nightly

from savepoint_formats.errors import DuplicateKeyError, SavepointError
from savepoint_formats.new_snapshot.directory import NewSnapshot
from savepoint_spark.writing import shuffled_runs
from savepoint_spark.writing.run_encoding import RUN_SCHEMA
from savepoint_spark.writing.shuffled_runs import LeftRuns, RunRow, ShuffledRuns
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from support.s3_server import S3Server

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation

ROWS = st.lists(
    st.tuples(st.integers(0, 127), st.none() | st.binary(), st.none() | st.binary()), max_size=9
)


def batch_of(rows: list[tuple[int, bytes | None, bytes | None]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [dict(zip(RUN_SCHEMA.names, row, strict=True)) for row in rows], RUN_SCHEMA
    )


def left(batches: Iterable[pa.RecordBatch], target: NewSnapshot) -> list[pa.RecordBatch]:
    """Bytes that Spark shuffles for the runs of a task."""
    return list(LeftRuns(iter, target).run(batches))


def taken(batches: Iterable[pa.RecordBatch], target: NewSnapshot) -> list[RunRow]:
    with ShuffledRuns(target) as runs:
        return list(runs.rows(batches))


@pytest.fixture
def target(tmp_path: Path) -> NewSnapshot:
    return NewSnapshot.at(str(tmp_path / "savepoint"))


@given(rows=st.lists(ROWS, max_size=4), cut=st.integers(0, 5))
def test_what_a_task_leaves_another_takes(
    rows: list[list[tuple[int, bytes | None, bytes | None]]],
    cut: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    target = NewSnapshot.at(str(tmp_path_factory.mktemp("savepoint")))
    batches = [batch_of(one).slice(cut) for one in rows]
    expected = [RunRow(*row) for one in rows for row in one[cut:]]
    assert taken(left(batches, target), target) == expected


def test_a_task_takes_from_more_files_than_it_keeps_open(
    target: NewSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffled_runs, "_MOST_OPEN", 2)
    files = [left([batch_of([(n, b"%d" % n, None)])], target) for n in range(5)]
    turns = [files[n][0] for n in (0, 1, 2, 0, 3, 3, 4, 1)]
    assert [row.run for row in taken(turns, target)] == [
        b"%d" % n for n in (0, 1, 2, 0, 3, 3, 4, 1)
    ]


@pytest.mark.parametrize("size", [0, 3])
def test_a_file_that_lost_its_end_is_told(target: NewSnapshot, size: int) -> None:
    batches = left([batch_of([(0, b"12345", None)])], target)
    (file,) = target.location.filesystem.get_file_info(
        [f"{target.location.path}/{batches[0]['file'][0]}"]
    )
    with open(file.path, "r+b") as stream:
        stream.truncate(size)
    with pytest.raises(SavepointError, match=f"has {size} bytes at 0, expected 5"):
        taken(batches, target)


@nightly
def test_a_file_of_runs_may_have_more_than_2_gib(target: NewSnapshot) -> None:
    names = [b"%d" % number for number in range(34)]
    large = bytes(64 << 20)
    batches = (batch_of([(0, large, None), (1, name, None)]) for name in names)
    placed = left(batches, target)
    assert taken([places.slice(1) for places in placed], target) == [
        RunRow(1, name, None) for name in names
    ]


def test_a_file_that_is_gone_is_told(target: NewSnapshot) -> None:
    batches = left([batch_of([(0, b"12345", None)])], target)
    target.abort()
    with pytest.raises(SavepointError, match=r"runs-\w+-\w+ in .* can't be read"):
        taken(batches, target)


def names(path: Path) -> list[str]:
    return sorted(file.name.partition("-")[0] for file in path.iterdir())


def keyed(data: DataFrame) -> KeyedStateTransformation:
    keyed = OperatorTransformation.bootstrap_with(data).key_by("id")
    return keyed.with_state(ValueStateDescriptor("half", Types.DOUBLE()))


@pytest.fixture
def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(1000).select("id", (F.col("id") / 2).alias("half"))


def test_a_savepoint_keeps_no_file_of_runs(numbers: DataFrame, tmp_path: Path) -> None:
    Savepoint.create(numbers.sparkSession, parallelism=2).with_operator(
        "one", keyed(numbers)
    ).write(str(tmp_path))
    assert names(tmp_path) == ["_metadata", "keyed", "keyed"]


def test_a_write_that_fails_leaves_no_file_of_runs(numbers: DataFrame, tmp_path: Path) -> None:
    writer = Savepoint.create(numbers.sparkSession)
    with pytest.raises(DuplicateKeyError):
        writer.with_operator("one", keyed(numbers.union(numbers))).write(str(tmp_path))
    assert names(tmp_path) == []


def test_runs_on_their_way_to_an_object_store_are_shuffled(
    numbers: DataFrame, s3_server: S3Server
) -> None:
    bucket = s3_server.bucket("runs")
    # The workers have begun before the server, and know nothing of its credentials.
    path = s3_server.uri(bucket, "savepoint").replace("://", "://test:test@", 1)
    spark = numbers.sparkSession
    Savepoint.create(spark, parallelism=2).with_operator("one", keyed(numbers)).write(path)
    found = Savepoint.load(spark, path, uids=["one"]).read_keyed_state("one")
    assert sorted(found.collect()) == [(number, number / 2) for number in range(1000)]
    assert len(s3_server.keys(bucket)) == 3
