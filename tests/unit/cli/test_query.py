"""SQL on the command line, by the engine within this process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from support.commands import result_of
from support.sample_rows import SAMPLES, Sample, copy_of, file_of
from support.slow_cases import slow_unless
from support.stopped_program import has_loaded, interrupt, stopped

from savepoint_cli import STOPPED, STOPPED_CODE

if TYPE_CHECKING:
    from pathlib import Path

CURRENCY = SAMPLES / "currency-2.2.1-hashmap-canonical"
STATES = SAMPLES / "states-2.2.1-hashmap-canonical"
SQL = SAMPLES / "sql-2.2.1-hashmap-canonical"
TOTALS = "SELECT key, total FROM summarize.keyed_state WHERE key < 1 ORDER BY key"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, what was printed, and what was told besides."""
    result = result_of("query", *arguments)
    return result.exit_code, result.stdout, result.stderr


def test_prints_lines_with_tabs_to_a_pipe_and_tells_the_engine_besides() -> None:
    code, printed, told = run(CURRENCY, TOTALS)
    assert code == 0
    assert printed == "key\ttotal\n-2147483648\t758887.21875\n-7\t913265.84375\n0\t591906.34375\n"
    assert told.startswith("3 rows by duckdb in ")


def test_prints_json_lines() -> None:
    _, printed, _ = run(CURRENCY, TOTALS, "--output", "json", "-n", "1")
    assert [json.loads(line) for line in printed.splitlines()] == [
        {"key": -2147483648, "total": 758887.21875}
    ]


def test_prints_csv() -> None:
    query = "SELECT key, 'a,\"b\"' AS text FROM summarize.keyed_state WHERE key = 0"
    assert run(CURRENCY, query, "--output", "csv")[1] == 'key,text\n0,"a,""b"""\n'


def test_prints_a_cell_per_line() -> None:
    _, printed, _ = run(CURRENCY, TOTALS, "--vertical", "-n", "1")
    assert printed.splitlines()[1:] == ["key    -2147483648", "total  758887.21875"]


def test_says_that_there_are_more_rows() -> None:
    _, printed, told = run(CURRENCY, TOTALS, "-n", "2")
    assert len(printed.splitlines()) == 3
    assert "2 rows by duckdb" in told
    assert "there are more" in told


def test_shows_timers_as_dates_or_as_numbers() -> None:
    query = "SELECT min(timestamp) AS first FROM stateful.timers WHERE timestamp > {}"
    _, dates, _ = run(STATES, query.format("TIMESTAMP '2100-01-01'"))
    _, numbers, _ = run(STATES, query.format("4102444800000"), "--times", "raw")
    assert dates == "first\n2100-01-01 00:00:00.001000Z\n"
    assert numbers == "first\n4102444800001\n"


def test_sums_are_numbers() -> None:
    _, printed, _ = run(
        CURRENCY, "SELECT sum(count) AS s FROM summarize.keyed_state", "--output", "json"
    )
    assert json.loads(printed) == {"s": 240}


def test_columns_of_one_name_are_told_apart() -> None:
    _, printed, _ = run(CURRENCY, "SELECT 1 AS a, 2 AS a", "--output", "json")
    assert json.loads(printed) == {"a": 1, "a_2": 2}


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.json"])
def test_columns_of_one_name_are_told_apart_in_files(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert run(CURRENCY, "SELECT 1 AS a, 2 AS a", "-o", out)[0] == 0
    if name.endswith("parquet"):
        assert pq.read_table(out).to_pylist() == [{"a": 1, "a_2": 2}]
    else:
        expected = {"rows.csv": '"a","a_2"\n1,2\n', "rows.json": '{"a":1,"a_2":2}\n'}
        assert out.read_text() == expected[name]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.json", "rows.JSONL"])
def test_writes_all_rows_to_a_file(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    query = "SELECT key, total, interval '1 day' AS day FROM summarize.keyed_state"
    code, printed, told = run(CURRENCY, query, "-n", "1", "-o", out)
    assert (code, printed) == (0, "")
    assert "written by duckdb" in told
    text = out.read_bytes()
    if name.endswith("parquet"):
        assert pq.read_table(out).num_rows == 24
    else:
        assert text.count(b"\n") == 24 + name.endswith("csv")


def test_writes_over_no_file_unless_asked_and_nothing_of_a_query_that_fails(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    out.write_text("mine")
    assert run(CURRENCY, TOTALS, "-o", out)[0] == 1
    assert out.read_text() == "mine"
    assert run(CURRENCY, TOTALS, "-o", out, "--overwrite")[0] == 0
    assert out.read_text().startswith('"key","total"')
    savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
    file = file_of(savepoint, "summarize 0: keyed state")
    file.write_bytes(file.read_bytes()[:-2])
    other = tmp_path / "other.csv"
    assert run(savepoint.path, "FROM summarize.keyed_state", "-o", other)[0] == 1
    assert not other.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SELEKT 1"], "syntax error"),
        (["DROP VIEW summarize.keyed_state"], "expected a query"),
        (["SET a = 1", "--engine", "spark"], "a statement of type SET, expected a query"),
        (["SELECT totl FROM summarize.keyed_state"], "did you mean 'total'?"),
        (["FROM sumarize.keyed_state"], "did you mean 'summarize.keyed_state'?"),
        (["SELECT 1", "-o", "rows.xls"], "expected a name that ends in one of .parquet"),
        (["SELECT 1", "-o", "rows/"], "needs --engine spark"),
        (["SELECT 1", "--engine", "flink"], "'flink' is not one of"),
        (["SELECT 1", "--enginee", "spark"], "--engine"),
        (["SELECT 1", "--conf", "x"], "expected such as"),
        (["SELECT 1", "--memory-limit", "x"], "expected an amount such as 4GB or 50%"),
        (["SELECT 1", "--engine", "spark", "--allow-files"], "--allow-files is for DuckDB"),
        (["FROM read_csv('/etc/passwd')"], "allow it to read files with --allow-files"),
    ],
)
def test_a_wrong_call_is_told_from_a_wrong_savepoint(arguments: list[str], message: str) -> None:
    code, printed, told = run(CURRENCY, *arguments)
    assert (code, printed) == (2, "")
    assert message in told


def test_reads_files_where_that_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("name\nAda\n", encoding="utf-8")
    code, printed, _ = run(CURRENCY, f"FROM '{file}'", "--allow-files", "--memory-limit", "1GB")
    assert (code, printed.splitlines()) == (0, ["name", "Ada"])


def test_a_damaged_savepoint_is_one(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
    file = file_of(savepoint, "summarize 0: keyed state")
    file.write_bytes(file.read_bytes()[:-2])
    code, _, told = run(savepoint.path, "SELECT sum(total) FROM summarize.keyed_state")
    assert code == 1
    assert f"{file.name} at byte" in told


@pytest.mark.usefixtures("slow")
def test_a_reader_that_has_enough_is_no_error() -> None:
    program = f"from savepoint_cli.main import main; main(['query', {str(STATES)!r}, {{}}])"
    query = "SELECT * FROM range(100000)"
    with subprocess.Popen(
        [sys.executable, "-c", program.format(repr(query) + ", '-n', '100000'")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, b"Error" in told, b"Traceback" in told) == (0, False, False)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("library", slow_unless("pyarrow".__eq__, ["pyarrow", "_duckdb"]))
def test_ctrl_c_is_a_line_and_leaves_nothing(library: str) -> None:
    query = "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b"
    ended = stopped(
        ("query", str(CURRENCY), query), lambda pid: has_loaded(pid, library), interrupt
    )
    assert (ended.code, ended.told) == (STOPPED_CODE, [STOPPED])
    assert (ended.left, ended.files) == ([], [])
