"""``savepoint export``, as a user calls it, and what other programs find in the file."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from pyarrow import parquet
from support.commands import run
from support.sample_rows import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

CURRENCY = Sample("currency-2.2.1-rocksdb-native")
TABLE = "summarize.keyed_state"
FORMATS = ("parquet", "avro", "csv", "jsonl")


def exported(form: str, out: Path, *options: str) -> dict[str, Any]:
    """The summary of an export that succeeds."""
    code, output = run(
        "export", CURRENCY.path, TABLE, out, "--format", form, *options, "--output", "json"
    )
    assert code == 0, output
    return dict(json.loads(output))


def rows_of(path: Path, form: str) -> list[dict[str, Any]]:
    """The rows of a file as a reader of its format has them."""
    match form:
        case "parquet":
            return list(parquet.read_table(path).to_pylist())
        case "avro":
            with path.open("rb") as file:
                return [dict(row) for row in fastavro.reader(file)]  # type: ignore[arg-type]
        case "csv":
            with path.open(encoding="utf-8", newline="") as file:
                return [
                    {name: json.loads(value) for name, value in row.items()}
                    for row in csv.DictReader(file)
                ]
        case _:
            lines = path.read_text(encoding="utf-8").splitlines()
            return [json.loads(line) for line in lines]


def by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["key"]))


@pytest.mark.parametrize("form", FORMATS)
class TestEachFormat:
    def test_has_what_the_job_put_in(self, form: str, tmp_path: Path) -> None:
        out = tmp_path / "rows"
        written = exported(form, out)
        expected = by_key(CURRENCY.keyed_state("summarize"))
        assert by_key(rows_of(out, form)) == expected
        assert written["rows"] == len(expected)
        assert written["size"] == out.stat().st_size
        assert written["columns"] == ["key", "total", "count"]

    def test_has_the_columns_and_keys_that_are_wanted(self, form: str, tmp_path: Path) -> None:
        out = tmp_path / "rows"
        first = by_key(CURRENCY.keyed_state("summarize"))[0]
        exported(form, out, "--key", str(first["key"]), "--column", "total")
        assert rows_of(out, form) == [{"total": first["total"]}]

    def test_is_replaced_only_when_told_so(self, form: str, tmp_path: Path) -> None:
        out = tmp_path / "rows"
        out.write_text("mine")
        code, output = run("export", CURRENCY.path, TABLE, out, "--format", form)
        assert (code, output.count("\n")) == (1, 1)
        assert "exists already; write to another file, or overwrite it" in output
        assert out.read_text() == "mine"
        exported(form, out, "--overwrite")
        assert len(rows_of(out, form)) == len(CURRENCY.keyed_state("summarize"))

    def test_of_a_damaged_savepoint_leaves_nothing(self, form: str, tmp_path: Path) -> None:
        damaged = tmp_path / "damaged"
        shutil.copytree(CURRENCY.path, damaged)
        for file in damaged.iterdir():
            if file.name != "_metadata":
                file.write_bytes(file.read_bytes()[:-60])
        folder = tmp_path / "out"
        folder.mkdir()
        code, _ = run("export", damaged, TABLE, folder / "rows", "--format", form)
        assert code == 1
        assert not list(folder.iterdir())

    def test_reaches_an_object_store(self, form: str, s3_server: S3Server) -> None:
        bucket = s3_server.bucket(f"export-{form}")
        uri = s3_server.uri(bucket, f"rows.{form}")
        code, output = run("export", CURRENCY.path, TABLE, uri, "--format", form)
        assert code == 0, output
        assert s3_server.keys(bucket) == {f"rows.{form}"}


@pytest.mark.parametrize("form", FORMATS)
def test_the_name_of_a_file_shows_its_format(form: str, tmp_path: Path) -> None:
    by_name, by_option = tmp_path / f"rows.{form.upper()}", tmp_path / "rows"
    assert run("export", CURRENCY.path, TABLE, by_name)[0] == 0
    assert run("export", CURRENCY.path, TABLE, by_option, "--format", form)[0] == 0
    assert by_name.stat().st_size == by_option.stat().st_size
    code, output = run("export", CURRENCY.path, TABLE, tmp_path / "other")
    assert code == 2
    assert "add --format" in output


def test_people_get_a_summary(tmp_path: Path) -> None:
    code, output = run("export", CURRENCY.path, TABLE, tmp_path / "rows", "--format", "csv")
    assert code == 0
    for fact in ("rows", "size", "seconds", "csv"):
        assert fact in output


def test_an_unknown_table_or_column_is_named(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    code, output = run("export", CURRENCY.path, "summarize.state", out, "--format", "csv")
    assert code == 2
    assert "has no table 'state'; it has: keyed_state" in output
    code, output = run("export", CURRENCY.path, TABLE, out, "--format", "csv", "--column", "sum")
    assert code == 2
    assert "has no column 'sum'; it has: key, total, count" in output


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    code, output = run("export", CURRENCY.path, TABLE, tmp_path, "--format", "csv", "--overwrite")
    assert code == 1
    assert "is a directory; name a file to write to" in output


def test_an_unknown_format_is_a_wrong_call(tmp_path: Path) -> None:
    code, output = run("export", CURRENCY.path, TABLE, tmp_path / "rows", "--format", "orc")
    assert code == 2
    assert "'parquet', 'avro', 'csv', 'jsonl'" in output


@pytest.mark.usefixtures("slow")
def test_no_export_starts_spark(tmp_path: Path) -> None:
    arguments = ["export", CURRENCY.path, TABLE, str(tmp_path / "rows.avro"), "--format", "avro"]
    program = (
        "import sys; from savepoint_cli.main import main;"
        f"main({arguments!r}, standalone_mode=False);"
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.parametrize(
    "words", [("--aggregate", "total=sum"), ("--ttl", "sessions=7d"), ("--like", "x")]
)
def test_an_option_of_a_streaming_query_is_named_as_it_was_given(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    code, output = run("import", "totals.csv", tmp_path / "out", *words)
    assert (code, f"{words[0]} needs --from-spark" in output) == (2, True), output
