"""The commands that look into a savepoint, as a user calls them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.changed_metadata import renamed
from support.commands import lines, run
from support.sample_rows import SAMPLES

from savepoint_cli.main import main
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

STATES = SAMPLES / "states-2.2.1-hashmap-canonical"
ROWS = ("show", STATES, "stateful.keyed_state", "-n", "99", "--with-times")
COLUMNS = ("--column", "recent_memo", "--column", "recent_memos", "--column", "recent_by_currency")
UIDS = ("--uid", "currency_converter", "--uid", "summarize")


@pytest.fixture
def currency(samples: Path) -> Path:
    return samples / "currency-1.20.5-hashmap-canonical"


def test_describe_shows_what_is_inside(currency: Path) -> None:
    code, output = run("describe", currency, *UIDS)
    assert code == 0
    for fact in ("canonical savepoint", "1.16 to 1.20", "summarize", "total", "DOUBLE", "rates"):
        assert fact in output


def test_describe_is_one_json_object(currency: Path) -> None:
    (described,) = lines("describe", currency, *UIDS)
    assert described["kind"] == "canonical savepoint"
    assert described["checkpoint_id"] == 1
    operators = {operator["uid"]: operator for operator in described["operators"]}
    summarize = operators["summarize"]
    assert (summarize["parallelism"], summarize["max_parallelism"]) == (2, 128)
    assert {state["state"]: (state["kind"], state["value"]) for state in summarize["states"]} == {
        "total": ("value", "DOUBLE"),
        "count": ("value", "INT"),
    }


def test_list_names_the_tables(currency: Path) -> None:
    tables = {table["table"]: table["columns"] for table in lines("list", currency, *UIDS)}
    assert tables["currency_converter.rates"] == ["key", "value"]
    assert tables["summarize.keyed_state"] == ["key", "total", "count"]


def test_schema_of_one_table(currency: Path) -> None:
    columns = lines("schema", currency, "summarize.keyed_state", *UIDS)
    assert [(column["column"], column["type"]) for column in columns] == [
        ("key", "INT"),
        ("total", "DOUBLE"),
        ("count", "INT"),
    ]


def test_a_table_may_be_named_by_its_uid_without_telling_it_before(currency: Path) -> None:
    assert lines("schema", currency, "summarize.keyed_state")


def test_rows_are_limited_by_any_of_three_names(currency: Path) -> None:
    for option in ("-n", "--limit", "--rows"):
        assert len(lines("show", currency, "summarize.keyed_state", option, "3")) == 3


def test_flink_2_tells_its_uids(samples: Path) -> None:
    tables = lines("list", samples / "currency-2.2.1-hashmap-canonical")
    assert "summarize.keyed_state" in {table["table"] for table in tables}


def test_uids_come_from_a_file_too(currency: Path, tmp_path: Path) -> None:
    uids = tmp_path / "uids"
    uids.write_text("# the job's operators\nsummarize\n\ncurrency_converter\n")
    tables = {table["table"] for table in lines("list", currency, "--uids-file", uids)}
    assert "currency_converter.rates" in tables


def test_files_tells_who_refers_to_each_file(currency: Path) -> None:
    files = {file["path"]: file for file in lines("files", currency, *UIDS)}
    assert set(files) == {path.name for path in currency.iterdir()}
    for path, file in files.items():
        assert file["size"] == (currency / path).stat().st_size
        assert not file["is_missing"]
    assert files["expected.json"]["references"] == []
    users = [user for file in files.values() for user in file["references"]]
    assert {"summarize 0: keyed state", "summarize 1: keyed state"} <= set(users)


def test_files_tells_what_is_missing(currency: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(currency, copy)
    before = lines("files", copy, *UIDS)
    gone = next(f["path"] for f in before if "summarize 0: keyed state" in f["references"])
    (copy / gone).unlink()
    after = {file["path"]: file for file in lines("files", copy, *UIDS)}
    assert [path for path, file in after.items() if file["is_missing"]] == [gone]


def test_describe_goes_on_without_a_missing_file(currency: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(currency, copy)
    for file in lines("files", currency, *UIDS):
        if "summarize 0: keyed state" in file["references"]:
            (copy / file["path"]).unlink()
    (described,) = lines("describe", copy, *UIDS)
    summarize = next(o for o in described["operators"] if o["uid"] == "summarize")
    assert "does not exist" in summarize["problems"][0]
    assert {state["state"] for state in summarize["states"]} == {"total", "count"}


@pytest.fixture
def without_files(currency: Path, tmp_path: Path) -> Path:
    """A savepoint that has lost its files of keyed state and of broadcast state."""
    copy = tmp_path / "copy"
    shutil.copytree(currency, copy)
    for file in lines("files", currency, *UIDS):
        if any(user.startswith(("summarize", "currency_converter")) for user in file["references"]):
            (copy / file["path"]).unlink()
    return copy


def test_list_names_tables_whose_files_are_missing(without_files: Path) -> None:
    tables = {table["table"]: table for table in lines("list", without_files, *UIDS)}
    for name in ("currency_converter.rates", "summarize.keyed_state"):
        table = tables[name]
        assert table["columns"] == []
        assert [problem.split(":")[0] for problem in table["problems"]] == [
            "subtask 0",
            "subtask 1",
        ]
        assert all("does not exist" in problem for problem in table["problems"])
    code, output = run("list", without_files, *UIDS)
    assert code == 0
    assert output.count("subtask ") == 4


def test_list_names_what_is_damaged_of_a_table(currency: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(currency, copy)
    for file in lines("files", currency, *UIDS):
        if "summarize 1: keyed state" in file["references"]:
            (copy / file["path"]).write_bytes(b"\0\0\0\x63")
    tables = {table["table"]: table for table in lines("list", copy, *UIDS)}
    (problem,) = tables["summarize.keyed_state"]["problems"]
    assert "at byte 0: keyed state of version 99" in problem
    assert tables["summarize.keyed_state"]["columns"] == ["key", "total", "count"]
    assert tables["currency_converter.rates"]["problems"] == []


def test_schema_names_tables_whose_files_are_missing(without_files: Path) -> None:
    result = CliRunner().invoke(main, ["schema", str(without_files), *UIDS, "--output", "json"])
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    tables = {column["table"].partition(".")[2] for column in schema["columns"]}
    assert not {"rates", "keyed_state"} & tables
    assert "does not exist" in schema["problems"][0]
    told = result.stderr.splitlines()
    assert len(told) == 2
    for line, table in zip(
        told, ("currency_converter.rates", "summarize.keyed_state"), strict=True
    ):
        assert line.startswith(f"Warning: table {table} could not be read: subtask 0: ")
        assert "does not exist" in line
        assert line.endswith("(and 1 more)")


@pytest.mark.parametrize("table", ["currency_converter.rates", "summarize.keyed_state"])
@pytest.mark.parametrize("command", ["show", "schema"])
def test_a_table_whose_files_are_missing_has_exit_code_1(
    without_files: Path, command: str, table: str
) -> None:
    code, output = run(command, without_files, table, *UIDS)
    operator, _, name = table.partition(".")
    assert (code, output.count("\n")) == (1, 1), output
    assert "does not exist" in output
    assert f"; in subtask 0, table {name}, operator {operator}" in output


def test_describe_is_readable_where_an_operator_has_no_states_left(without_files: Path) -> None:
    code, output = run("describe", without_files, *UIDS)
    assert code == 0
    assert "does not exist" in output
    assert "StateDescription" not in output


def test_describe_prints_no_records_where_the_first_operator_has_no_states(
    samples: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(samples / "states-2.2.1-hashmap-canonical", copy)
    (described,) = lines("describe", copy)
    first = next(one["uid"] for one in described["operators"] if one["states"])
    for file in lines("files", copy):
        if any(user.startswith(f"{first} ") for user in file["references"]):
            (copy / file["path"]).unlink(missing_ok=True)
    _, output = run("describe", copy)
    assert "StateDescription" not in output


def test_a_moved_checkpoint_with_shared_files_is_whole(samples: Path) -> None:
    files = lines("files", samples / "states-2.2.1-rocksdb-incremental/chk-2")
    assert files
    assert not [file for file in files if file["is_missing"]]


@pytest.mark.parametrize("command", ["describe", "list", "schema", "files"])
class TestBadInput:
    def fails(self, command: str, path: Path, message: str) -> None:
        code, output = run(command, path)
        assert code == 1
        assert message in output
        assert output.count("\n") == 1, output

    def test_a_missing_path(self, command: str, tmp_path: Path) -> None:
        self.fails(command, tmp_path / "nowhere", "does not exist")

    def test_an_empty_directory(self, command: str, tmp_path: Path) -> None:
        self.fails(command, tmp_path, "has no _metadata file")

    def test_the_folder_above_what_is_no_checkpoint_any_more(
        self, command: str, tmp_path: Path
    ) -> None:
        (tmp_path / "chk-2").mkdir()
        (tmp_path / "chk-2" / "_metadata").write_bytes(b"PAR1PAR1")
        self.fails(command, tmp_path, f"it contains, for instance, {tmp_path / 'chk-2'}: ")

    def test_a_file_of_another_kind(self, command: str, tmp_path: Path) -> None:
        (tmp_path / "_metadata").write_bytes(b"PAR1PAR1")
        self.fails(command, tmp_path, "begins with 50 41 52 31")

    def test_a_truncated_file(self, command: str, currency: Path, tmp_path: Path) -> None:
        data = (currency / "_metadata").read_bytes()
        (tmp_path / "_metadata").write_bytes(data[:500])
        self.fails(command, tmp_path, "_metadata at byte")

    def test_a_future_version(self, command: str, currency: Path, tmp_path: Path) -> None:
        data = (currency / "_metadata").read_bytes()
        (tmp_path / "_metadata").write_bytes(data[:4] + b"\0\0\0\x09" + data[8:])
        self.fails(command, tmp_path, "metadata version 9, expected 2 to 7")

    def test_a_uid_that_no_operator_has(self, command: str, currency: Path) -> None:
        arguments = [command, str(currency), "--uid", "sumarize", "--uid", "summarize"]
        result = CliRunner().invoke(main, [*arguments, "--output", "json"])
        assert result.exit_code == 0
        (line,) = result.stderr.splitlines()
        assert line.startswith("Warning: ")
        assert "has no operator 'sumarize'; it has: " in line
        assert "summarize" in result.stdout


def test_a_path_comes_from_what_kubectl_prints(currency: Path) -> None:
    snapshot = {
        "kind": "FlinkStateSnapshot",
        "metadata": {"name": "last"},
        "spec": {"jobReference": {"kind": "FlinkDeployment", "name": "orders"}},
        "status": {"state": "COMPLETED", "path": str(currency), "resultTimestamp": "1"},
    }
    result = CliRunner().invoke(main, ["describe", "-", "--output", "json"], json.dumps(snapshot))
    assert result.exit_code == 0
    assert json.loads(result.stdout)["path"] == str(currency)


def test_only_a_running_job_takes_a_savepoint(currency: Path) -> None:
    code, output = run("describe", currency, "--trigger")
    assert (code, "is not the address of a job" in output) == (2, True)


def test_a_list_of_uids_in_another_encoding_is_a_wrong_call(currency: Path, tmp_path: Path) -> None:
    uids = tmp_path / "uids"
    uids.write_bytes("Zoë".encode("latin-1"))
    code, output = run("list", currency, "--uids-file", uids)
    assert (code, "is not UTF-8 at byte 2" in output) == (2, True)


def test_an_unknown_table_lists_those_there_are(currency: Path) -> None:
    code, output = run("schema", currency, "summarize.keyed", *UIDS)
    assert code == 2
    assert "operator summarize has no table 'keyed'; it has: keyed_state" in output


def test_a_wrong_call_is_exit_code_2() -> None:
    assert run("describe")[0] == 2


def test_no_command_loads_spark(currency: Path) -> None:
    program = (
        "import sys; from savepoint_cli.main import main;"
        f"main(['describe', {str(currency)!r}], standalone_mode=False);"
        "assert 'pyspark' not in sys.modules and 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


HOSTILE = "sum\x1b[2J\x9b31m\u202emus\x07"


@pytest.mark.parametrize("command", ["describe", "list", "schema", "files"])
def test_names_do_not_command_the_terminal(samples: Path, tmp_path: Path, command: str) -> None:
    sample = samples / "currency-2.2.1-rocksdb-native"
    path = renamed(sample, tmp_path / "hostile", {"summarize": HOSTILE})
    code, output = run(command, path)
    assert code == 0
    assert printable(output, keep="\n\t") == output
    assert r"sum\x1b[2J\x9b31m\u202emus\x07" in output.replace("\n", "")
    told = lines(command, path)
    assert HOSTILE in str(told) or repr(HOSTILE)[1:-1] in str(told)


def test_an_error_does_not_command_the_terminal(samples: Path, tmp_path: Path) -> None:
    sample = samples / "currency-2.2.1-rocksdb-native"
    path = renamed(sample, tmp_path / "hostile", {"summarize": HOSTILE})
    code, output = run("show", path, "nothing.keyed_state")
    assert code == 2
    assert output.count("\n") == 1
    assert printable(output, keep="\n\t") == output


@pytest.mark.parametrize(
    "words", [("describe", "{}", "--uid"), ("show", "{}"), ("query", "{}"), ("key", "{}", "--type")]
)
def test_arguments_that_are_no_utf_8(currency: Path, words: tuple[str, ...]) -> None:
    given = [word.format(currency) for word in words]
    code, output = run(*given, "total\udcff")
    assert code == 2
    assert output.splitlines()[-1] == (
        f"Error: argument {len(words) + 1} is not UTF-8: b'total\\xff'"
    )


@pytest.mark.parametrize(
    ("command", "option"),
    [("describe", "--classes"), ("describe", "--uids-file"), ("kafka", "--set-offsets")],
)
def test_files_that_are_no_utf_8(currency: Path, tmp_path: Path, command: str, option: str) -> None:
    file = tmp_path / "given"
    file.write_bytes(b"# caf\xe9")
    out = ("--out", tmp_path / "out") if command == "kafka" else ()
    code, output = run(command, currency, option, file, *out)
    assert (code, output.splitlines()[-1]) == (2, f"Error: {file} is not UTF-8 at byte 5")


def test_sql_from_stdin_that_is_no_utf_8(currency: Path) -> None:
    result = CliRunner().invoke(main, ["query", str(currency)], input=b"SELECT '\xe9'")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "Error: stdin is not UTF-8 at byte 8"


def test_times_of_access_are_dates_or_numbers() -> None:
    dated, raw = lines(*ROWS, *COLUMNS), lines(*ROWS, *COLUMNS, "--times", "raw")
    assert [_with_numbers(row) for row in dated] == raw
    assert any(row["recent_memo"] for row in raw)


def test_other_columns_are_as_they_are() -> None:
    columns = ("--column", "key", "--column", "last_seen", "--column", "average")
    assert lines(*ROWS, *columns) == lines(*ROWS, *columns, "--times", "raw")


def test_conditions_are_about_what_is_shown() -> None:
    where = "recent_memo.timestamp > {}"
    dated = lines(*ROWS, *COLUMNS, "--where", where.format("TIMESTAMPTZ '2000-01-01 00:00Z'"))
    raw = lines(*ROWS, *COLUMNS, "--times", "raw", "--where", where.format(946684800000))
    assert [_with_numbers(row) for row in dated] == raw
    assert len(raw) > 0


def _with_numbers(value: object) -> object:
    """A value whose times of access are milliseconds."""
    if isinstance(value, dict):
        numbers = {name: _with_numbers(one) for name, one in value.items()}
        if isinstance(value.get("timestamp"), str):
            time = datetime.fromisoformat(value["timestamp"])
            numbers["timestamp"] = (time - datetime.fromtimestamp(0, UTC)) // timedelta(
                milliseconds=1
            )
        return numbers
    return [_with_numbers(one) for one in value] if isinstance(value, list) else value
