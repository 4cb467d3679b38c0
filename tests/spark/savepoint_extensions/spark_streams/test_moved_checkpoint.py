"""A checkpoint whose path has characters that a URI escapes: Spark looks for it under the escapes."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.each import each
from support.stream_queries import input_rows, joined, put, read, run

from savepoint_extensions.spark_streams.moved_checkpoint import is_same_place, readable_path
from savepoint_formats.errors import FormatError, RefusedError
from state_processor import SparkCheckpoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_a_checkpoint_is_read_in_a_directory_of_any_name(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in", input_rows())
    folder = tmp_path / "ü %20 {a}*[b]+"
    rows = read(spark, tmp_path / "in")
    run(rows.groupBy("k").agg(F.sum("v")), folder / "totals")
    form = {"spark.sql.streaming.join.stateFormatVersion": "4"}
    run(joined(rows, read(spark, tmp_path / "in")), folder / "joined", "append", **form)
    (tmp_path / "ü+").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "ü+"))
    totals = SparkCheckpoint.load(spark, folder / "totals").aggregation(0, total="sum")
    assert {row["k"] for row in totals.collect()} == {"k0", "k1", "k2"}
    assert SparkCheckpoint.load(spark, folder / "joined").joined(0).count() > 0
    # The checksums of files with paths are those of the paths before.
    (anew,) = (it.iterdir() for it in (tmp_path / "ü+").glob("*/state/0/_metadata/v2"))
    assert [it.name for it in anew] == ["0"]

    (tmp_path / "a b").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a b"))
    with pytest.raises(RefusedError, match="set TMPDIR to a path without"):
        SparkCheckpoint.load(spark, folder / "totals").table(0)


@pytest.mark.parametrize("path", ["s3://queries/my totals", "gs://queries/a%20b", "abfs://c@a/[x]"])
def test_a_checkpoint_in_a_store_is_refused_if_spark_would_not_find_it(path: str) -> None:
    with pytest.raises(RefusedError, match="copy the checkpoint to a local directory"):
        readable_path(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"stateStoreInfo":[{"storeName', "expected an object of JSON"),
        ('{"stateStoreInfo":null}', "stateStoreInfo is None, expected list"),
        ('{"stateStoreInfo":["x"]}', "an entry of stateStoreInfo is 'x', expected dict"),
        ('{"stateStoreInfo":[{"stateSchemaFilePaths":7}]}', "Paths is 7, expected list"),
    ],
)
def test_damaged_facts_of_an_operator_are_an_error_that_names_the_file(
    tmp_path: Path, text: str, reason: str
) -> None:
    facts = tmp_path / "state" / "0" / "_metadata" / "v2"
    facts.mkdir(parents=True)
    (facts / "0").write_text(f"v2\n{text}", "utf-8")
    with pytest.raises(FormatError, match=f"_metadata/v2/0.*{reason}"):
        readable_path(str(tmp_path))


@each(
    ("place", "path", "expected"),
    [
        ("hdfs://one:8020/queries/totals", "hdfs://two:8020/queries/totals", False),
        ("hdfs://one:8020/queries/totals", "hdfs://one:9000/queries/totals", False),
        ("hdfs://one:8020/queries/totals", "hdfs://one/queries//totals", True),
        ("hdfs://one:8020/queries/totals", "hdfs:///queries/totals", True),
        ("hdfs://one:8020/queries/totals", "hdfs:///queries/others", False),
        ("hdfs://one:8020/queries/totals", "/queries/totals", False),
        ("abfss://c@old.dfs/totals", "abfss://c@new.dfs/totals", False),
        ("s3a://queries/totals", "s3://queries/totals", True),
        ("s3a://queries/totals", "s3://copies/totals", False),
        ("file:/queries/totals", "/queries/./totals", True),
        ("file:/queries/totals", "file:///queries/totals", True),
    ],
)
def test_a_checkpoint_is_moved_if_its_store_is_another_one(
    place: str, path: str, expected: bool
) -> None:
    assert is_same_place(place, path) is expected
