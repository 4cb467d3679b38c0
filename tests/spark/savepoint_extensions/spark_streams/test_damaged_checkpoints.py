"""Checkpoints that lack files, or have damaged ones: an error says so, where Spark would read the rest."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.commands import run as command
from support.each import each
from support.stream_queries import PROVIDERS, input_rows, put, read, run

from savepoint_extensions.spark_streams.checkpoint_files import CommittedBatch
from savepoint_formats.errors import FormatError, StateFileNotFoundError
from state_processor import (
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

NAMES_OF_FILES = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def total(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").agg(F.sum("v").alias("total"))


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints of one query: of two partitions, and with ids in the names of files."""
    folder = tmp_path_factory.mktemp("damaged")
    put(folder / "in", input_rows())
    rows = total(read(spark, folder / "in"))
    hdfs = {"spark.sql.streaming.stateStore.providerClass": PROVIDERS["hdfs"]}
    run(rows, folder / "plain", **hdfs, **{"spark.sql.shuffle.partitions": "2"})
    run(rows, folder / "with ids", **{NAMES_OF_FILES: "2"})
    return folder


def without(folder: Path, lost: str, to: Path) -> Path:
    """A copy of the plain checkpoint without some of its files."""
    shutil.copytree(folder / "plain", to, ignore=lambda _, names: {".crc"} & {*names})
    files = [*to.glob(lost)]
    assert files
    for file in files:
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    return to


@each(
    ("lost", "message"),
    [
        ("state/0/1", "of 2 partitions of state, 1 are missing. Copy the whole checkpoint"),
        ("state/0/0", "of 2 partitions of state, 0 are missing. Copy the whole checkpoint"),
        ("state/0/0/_metadata", r"\[STDS_FAILED_TO_READ_STATE_SCHEMA\].* another batch"),
    ],
)
def test_what_spark_would_pass_over_is_missed(
    spark: SparkSession,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    lost: str,
    message: str,
) -> None:
    path = without(folder, lost, tmp_path_factory.mktemp("lost") / "plain")
    with pytest.raises(FormatError, match=message):
        SparkCheckpoint.load(spark, path).table(0)


@each("log", ["offsets", "commits"])
def test_a_lost_file_of_a_log_is_missed(folder: Path, tmp_path: Path, log: str) -> None:
    path = without(folder, f"{log}/*", tmp_path / log)
    last = max(int(it.name) for it in (folder / "plain" / log).iterdir() if it.name.isdecimal())
    batch = CommittedBatch(str(path), last)
    with pytest.raises(
        StateFileNotFoundError, match=rf"{log}/{last} is missing\. Copy the whole checkpoint"
    ):
        assert [batch.watermark, batch.offsets]


@each(
    ("provider", "name", "column", "number"),
    [("rocksdb", "stateStoreSave", "sum", 180), ("hdfs", "globalLimit", "value.value", 4)],
)
def test_an_operator_of_all_rows_has_one_partition_of_the_number_for_shuffles(
    spark: SparkSession,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    provider: str,
    name: str,
    column: str,
    number: int,
) -> None:
    rows, path = read(spark, folder / "in"), tmp_path_factory.mktemp("all") / "query"
    query = rows.limit(4) if name == "globalLimit" else rows.agg(F.sum("v"))
    settings = {"spark.sql.streaming.stateStore.providerClass": PROVIDERS[provider]}
    mode = "append" if name == "globalLimit" else "complete"
    run(query, path, mode, **settings, **{"spark.sql.shuffle.partitions": "3"})
    checkpoint = SparkCheckpoint.load(spark, path)
    assert [(it.name, it.partitions) for it in checkpoint.operators] == [(name, 1)]
    assert checkpoint.table(0).select(column).collect() == [(number,)]
    shutil.rmtree(path / "state" / "0" / "0")
    with pytest.raises(FormatError, match="of 3 partitions of state, 0, 1, 2 are missing"):
        SparkCheckpoint.load(spark, path).table(0)


def test_the_last_operator_is_missed_if_its_files_have_ids(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "with ids", tmp_path / "query")
    shutil.rmtree(tmp_path / "query" / "state" / "0")
    with pytest.raises(
        FormatError, match=r"operator 0 is missing; there are none\. Copy the whole"
    ):
        assert SparkCheckpoint.load(spark, tmp_path / "query").operators


def test_files_that_spark_can_t_read_are_an_error_with_its_reason(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    path = without(folder, "state/0/1/2.delta", tmp_path / "plain")
    with pytest.raises(FormatError, match=r"CANNOT_READ_DELTA_FILE_NOT_EXISTS.*1/2\.delta.*Copy"):
        SparkCheckpoint.load(spark, path).sizes()
    code, printed = command("show", path, "operator_0")
    assert code == 1
    assert "plain: Spark can't read its state: [CANNOT_LOAD_STATE_STORE" in printed
    assert "or in Python load another batch: SparkCheckpoint.load(…, batch_id=…)" in printed
    nothing = OperatorTransformation.bootstrap_with(spark.sql("SELECT 'k' AS k, 0L AS n LIMIT 0"))
    keyed = nothing.key_by("k").with_state(ValueStateDescriptor("sum", Types.LONG()), "n")
    Savepoint.create(spark).with_operator("sums", keyed).write(tmp_path / "empty")
    like = Savepoint.load(spark, tmp_path / "empty", uids=["sums"]).operator("sums")
    state = SparkCheckpoint.load(spark, path).state_like(like)
    with pytest.raises(FormatError, match="plain: Spark can't read its state"):
        Savepoint.create(spark).with_operator("sums", state).write(tmp_path / "begun")
    # The batch before has no use for the file.
    assert SparkCheckpoint.load(spark, path, 0).table(0).count() == 3


def test_files_with_ids_in_their_names_are_read_whatever_the_session_has(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "with ids", tmp_path / "moved")
    places = (folder / "with ids", tmp_path / "moved", folder / "plain")
    expected = {
        batch: {*total(spark.read.schema("k STRING, v BIGINT").json(files)).collect()}
        for batch, files in enumerate((str(folder / "in" / "000.json"), str(folder / "in")))
    }
    try:
        for setting in "12":
            spark.conf.set(NAMES_OF_FILES, setting)
            checkpoints = [SparkCheckpoint.load(spark, it, n) for it in places for n in expected]
            for checkpoint in checkpoints:
                assert {*checkpoint.table(0).collect()} == expected[checkpoint.batch_id]
            assert spark.conf.get(NAMES_OF_FILES) == setting
    finally:
        spark.conf.unset(NAMES_OF_FILES)
    with ThreadPoolExecutor(2) as pool:
        # Both at once, of a session that has not set it.
        tables = pool.map(lambda it: it.table(0).columns, checkpoints * 3)
        assert {*map(tuple, tables)} == {("k", "sum")}
    assert spark.conf.get(NAMES_OF_FILES, None) is None
