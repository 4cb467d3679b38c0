"""Savepoints made of others: what is changed is as asked, and what is not, is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.changed_savepoints import load, rows, tables, written
from support.sample_rows import Sample, copy_of, file_of, in_order, rows_of

from savepoint_formats.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    StateNotFoundError,
    TruncatedError,
)
from savepoint_formats.pass_through.copied_sections import StoredSections
from savepoint_spark.changing import stored_rows
from savepoint_spark.writing import shuffled_runs
from state_processor import OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

CURRENCY = [
    Sample("currency-1.20.5-hashmap-canonical"),
    Sample("currency-2.2.1-hashmap-native"),
    Sample("currency-2.2.1-rocksdb-native"),
]
STATES = [
    Sample("states-1.20.5-hashmap-changelog"),
    Sample("states-1.20.5-hashmap-compressed"),
    Sample("states-2.2.1-rocksdb-filemerging"),
    Sample("states-2.2.1-rocksdb-heaptimers"),
    Sample("states-2.2.1-rocksdb-incremental"),
]


@pytest.mark.parametrize("sample", CURRENCY, ids=str)
class TestAState:
    def test_is_replaced_and_the_others_stay(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        totals = before.read_keyed_state("summarize")
        doubled = totals.select("key", (F.col("total") * 2).alias("total"))
        after = written(spark, before.with_state("summarize", "total", doubled), sample, tmp_path)
        expected = totals.withColumn("total", F.col("total") * 2)
        assert rows(after.read_keyed_state("summarize").select(expected.columns)) == rows(expected)
        changed = "summarize.keyed_state"
        assert tables(after, changed) == tables(before, changed)

    def test_is_updated_and_rescaled_at_once(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        """Changed rows go to the new key groups as well; they used to keep those of the old file."""
        before = load(spark, sample)
        writer = before.update_state("summarize", "count", "count + 1").rescale(max_parallelism=64)
        writer.write(tmp_path / "new")
        after = Savepoint.load(spark, tmp_path / "new", uids=["summarize"])
        expected = before.read_keyed_state("summarize").withColumn("count", F.expr("count + 1"))
        assert rows(after.read_keyed_state("summarize").select(expected.columns)) == rows(expected)
        assert after.verify().is_whole

    def test_is_removed(self, spark: SparkSession, sample: Sample, tmp_path: Path) -> None:
        before = load(spark, sample)
        after = written(spark, before.remove_state("summarize", "count"), sample, tmp_path)
        kept = before.read_keyed_state("summarize").drop("count")
        assert rows(after.read_keyed_state("summarize")) == rows(kept)

    def test_of_broadcast_is_replaced(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        rates = spark.createDataFrame([(1, 0.5), (9, 9.5)], "key INT, value DOUBLE")
        after = written(
            spark, before.with_state("currency_converter", "rates", rates), sample, tmp_path
        )
        assert rows(after.read_broadcast_state("currency_converter", "rates")) == rows(rates)
        changed = "currency_converter.rates"
        assert tables(after, changed) == tables(before, changed)

    def test_is_written_with_the_types_of_an_existing_operator(
        self, spark: SparkSession, sample: Sample, tmp_path: Path
    ) -> None:
        before = load(spark, sample)
        data = spark.createDataFrame([(7, 1.0, 2)], "key INT, total DOUBLE, count INT")
        like = OperatorTransformation.bootstrap_with(data).like(before.operator("summarize"))
        after = written(spark, before.with_operator("summarize", like), sample, tmp_path)
        assert rows(after.read_keyed_state("summarize")) == rows(data)
        new, old = after.operator("summarize").record, before.operator("summarize").record
        assert new.max_parallelism == old.max_parallelism


def test_contents_of_windows_are_replaced(spark: SparkSession, tmp_path: Path) -> None:
    sample = Sample("windows-2.2.1-hashmap-native")
    before = load(spark, sample)
    uid, name = "session", "window-contents"
    windows = before.read_window_state(uid)
    kept = windows.where("namespace.start % 2 = 0 OR key > 'customer-005'")
    assert 0 < len(rows(kept)) < len(rows(windows))
    after = written(spark, before.with_state(uid, name, kept), sample, tmp_path)
    assert rows(after.read_window_state(uid)) == rows(kept)
    changed = f"{uid}.window_state"
    assert tables(after, changed) == tables(before, changed)


@pytest.mark.parametrize("sample", [*CURRENCY, *STATES], ids=str)
class TestRescaling:
    @pytest.mark.parametrize(("parallelism", "max_parallelism"), [(3, None), (None, 1000), (1, 7)])
    def test_leaves_all_tables_as_they_were(
        self,
        spark: SparkSession,
        sample: Sample,
        tmp_path: Path,
        parallelism: int | None,
        max_parallelism: int | None,
    ) -> None:
        before = load(spark, sample)
        writer = before.rescale(parallelism=parallelism, max_parallelism=max_parallelism)
        after = written(spark, writer, sample, tmp_path)
        assert tables(after) == tables(before)
        for operator in after.operators():
            assert operator.record.parallelism == (parallelism or operator.record.parallelism)
            assert operator.record.max_parallelism in (max_parallelism, 300, 128)


def test_sections_are_copied_as_a_job_would_write_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = Sample("states-2.2.1-rocksdb-canonical")

    def files(name: str) -> list[bytes]:
        load(spark, sample).rescale(parallelism=3).write(str(tmp_path / name))
        return sorted(path.read_bytes() for path in (tmp_path / name).glob("keyed-*"))

    copied = files("copied")
    assert len(copied) == 3
    monkeypatch.setattr(StoredSections, "of", lambda *_: None)
    assert files("assembled") == copied
    monkeypatch.setattr(stored_rows, "SPLIT_SIZE", 1000)
    assert files("in many pieces") == copied
    monkeypatch.setattr(shuffled_runs, "_MOST_ASSEMBLED", -1)
    assert files("shuffled") == copied


class TestAnotherNumberOfKeyGroups:
    """Runs of new key groups lie in files, which the system puts together."""

    sample = Sample("states-2.2.1-rocksdb-canonical")

    def test_has_the_files_that_a_job_would_write(
        self, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def files(name: str) -> list[bytes]:
            writer = load(spark, self.sample).rescale(parallelism=4, max_parallelism=600)
            writer.write(str(tmp_path / name))
            return sorted(path.read_bytes() for path in (tmp_path / name).glob("keyed-*"))

        assembled = files("assembled")
        assert len(assembled) == 4
        monkeypatch.setattr(shuffled_runs, "_MOST_ASSEMBLED", -1)
        assert files("shuffled") == assembled

    @pytest.mark.parametrize("max_parallelism", [600, 100])
    def test_keeps_all_rows(
        self, spark: SparkSession, tmp_path: Path, max_parallelism: int
    ) -> None:
        writer = load(spark, self.sample).rescale(parallelism=4, max_parallelism=max_parallelism)
        writer.write(str(tmp_path / "out"))
        before, after = self.sample.open(), Savepoint.open(str(tmp_path / "out"), uids=["stateful"])
        for table in ("stateful.keyed_state", "stateful.timers"):
            was, found = (rows_of(savepoint.scan(table)) for savepoint in (before, after))
            assert in_order(found) == in_order(was)

    def test_leaves_nothing_where_a_file_is_damaged(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        copy = copy_of(self.sample, tmp_path)
        file = file_of(copy, "stateful 1: keyed state")
        file.write_bytes(file.read_bytes()[:-2])
        writer = Savepoint.load(spark, copy.path).rescale(parallelism=4, max_parallelism=600)
        with pytest.raises(TruncatedError, match=rf"{file.name} at byte .* operator stateful"):
            writer.write(str(tmp_path / "out"))
        assert list((tmp_path / "out").iterdir()) == []


class TestWhatIsRefused:
    @pytest.fixture
    def savepoint(self, spark: SparkSession) -> SparkSavepoint:
        return load(spark, CURRENCY[0])

    def test_a_state_that_there_is_not(self, savepoint: SparkSavepoint) -> None:
        with pytest.raises(StateNotFoundError, match="no state 'sum'; it has: total, count"):
            savepoint.remove_state("summarize", "sum")

    def test_a_column_that_is_missing(self, savepoint: SparkSavepoint, spark: SparkSession) -> None:
        data = spark.createDataFrame([(1, 2.0)], "key INT, sum DOUBLE")
        with pytest.raises(ColumnNotFoundError, match="no column 'total'"):
            savepoint.with_state("summarize", "total", data)

    def test_a_column_of_another_type(self, savepoint: SparkSavepoint, spark: SparkSession) -> None:
        data = spark.createDataFrame([(1, "2")], "key INT, total STRING")
        with pytest.raises(
            ColumnTypeError, match="'total' is string, but state 'total' takes double"
        ):
            savepoint.with_state("summarize", "total", data)
