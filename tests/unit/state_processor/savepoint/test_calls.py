"""Calls that are wrong, and what they are told: the way, and never an error of Python's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from savepoint_database.files import export_table
from savepoint_formats.errors import (
    ColumnNotFoundError,
    KeyTypeError,
    SavepointNotFoundError,
    StateNotFoundError,
)
from state_processor import Garbage, Savepoint, history, snapshots
from state_processor.savepoint.spark_savepoint import SparkSavepoint

CALLS: Any = {
    "open": Savepoint.open,
    "snapshots": snapshots,
    "garbage": Garbage.below,
    "history": lambda path: history(path, "summarize.keyed_state", 1),
}


@pytest.fixture
def currency(samples: Path) -> Savepoint:
    return Savepoint.open(str(samples / "currency-2.2.1-rocksdb-native"))


class TestPaths:
    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("wrong", [None, 3, b"/jobs", Path("s3://jobs/savepoint")], ids=repr)
    def test_what_is_no_path(self, call: str, wrong: Any) -> None:
        with pytest.raises(TypeError, match=r"^the path .*(expected a text|give it as text)"):
            CALLS[call](wrong)

    @pytest.mark.parametrize("call", CALLS)
    def test_an_empty_path_is_not_the_root_of_the_machine(self, call: str) -> None:
        with pytest.raises(SavepointNotFoundError, match="the path is empty"):
            CALLS[call]("")

    @pytest.mark.parametrize("wrong", [None, Path("s3://jobs/savepoint")], ids=repr)
    def test_writes_and_comparisons(self, wrong: Any, currency: Savepoint) -> None:
        for call in (currency.writer().write, currency.writer().plan, currency.diff):
            with pytest.raises(TypeError, match=r"^the path "):
                call(wrong)
        with pytest.raises(TypeError, match=r"^the path "):
            export_table(currency.scan("summarize.keyed_state"), wrong, "csv")

    def test_a_path_of_pathlib(self, currency: Savepoint, samples: Path, tmp_path: Path) -> None:
        path = samples / "currency-2.2.1-rocksdb-native"
        opened = Savepoint.open(path, allow_paths=[tmp_path])
        assert opened.path == currency.path
        assert snapshots(samples)
        assert history(path, "summarize.keyed_state", 1).directory == str(path)
        assert Garbage.below(path, also=[tmp_path]).path == str(path)
        written = opened.writer().write(tmp_path / "copy")
        assert written.path == str(tmp_path / "copy")
        assert opened.diff(tmp_path / "copy").is_equal
        exported = export_table(opened.scan("summarize.keyed_state"), tmp_path / "rows.csv", "csv")
        assert exported.path == str(tmp_path / "rows.csv")


class TestSessions:
    @pytest.mark.parametrize("given", [("savepoint",), (Path("savepoint"),), (None, "savepoint")])
    def test_load_without_a_session(self, given: Any) -> None:
        message = r"not a session of Spark: call Savepoint\.load\(spark, path\) .*Savepoint\.open"
        with pytest.raises(TypeError, match=message):
            Savepoint.load(*given)

    def test_create_without_a_session(self) -> None:
        with pytest.raises(
            TypeError, match=r"not a session of Spark: call Savepoint\.create\(spark\)"
        ):
            Savepoint.create(None)  # type: ignore[arg-type]  # the mistake

    @pytest.mark.parametrize("name", ["read_keyed_state", "read_table", "register", "count_rows"])
    def test_what_needs_spark(self, name: str, currency: Savepoint) -> None:
        assert hasattr(SparkSavepoint, name)
        with pytest.raises(AttributeError, match=r"Savepoint\.load\(local_session\(\), path\)"):
            getattr(currency, name)
        assert not hasattr(currency, name)

    def test_what_there_is_not_at_all(self, currency: Savepoint) -> None:
        with pytest.raises(AttributeError, match=r"no attribute 'read_everything'$"):
            currency.read_everything  # type: ignore[attr-defined]  # noqa: B018  # the mistake


class TestScans:
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"columns": ["totl"]}, ColumnNotFoundError),
            ({"flat": "total"}, StateNotFoundError),
            ({"keys": ["seven"]}, KeyTypeError),
        ],
        ids=str,
    )
    def test_options_are_checked_when_a_scan_is_made(
        self, options: Any, error: type[Exception], currency: Savepoint
    ) -> None:
        with pytest.raises(error):
            currency.scan("summarize.keyed_state", **options)

    @pytest.mark.parametrize("table", [None, 3])
    def test_what_is_no_table(self, table: Any, currency: Savepoint) -> None:
        with pytest.raises(TypeError, match=r"^a table is .*summarize\.keyed_state"):
            currency.scan(table)
