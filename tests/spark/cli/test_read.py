"""The commands that show rows, as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.commands import result_of, run
from support.sample_rows import SAMPLES, Sample, copy_of, file_of

from savepoint_cli.terminal.output import Output, OutputFormat

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CURRENCY = SAMPLES / "currency-1.20.5-rocksdb-canonical"
STATES = SAMPLES / "states-2.2.1-rocksdb-native"
SQL = SAMPLES / "sql-2.2.1-hashmap-canonical"
WINDOWS = SAMPLES / "windows-2.2.1-hashmap-native"


def lines(*arguments: str | Path) -> list[dict[str, Any]]:
    """The JSON lines that a command printed; what it tells besides is not among them."""
    result = result_of(*arguments, "--output", "json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def is_wrong(message: str, *arguments: str | Path) -> None:
    """The command ends with exit code 2, for a wrong call, and one line."""
    fails(message, *arguments, exit_code=2)


def fails(message: str, *arguments: str | Path, exit_code: int = 1) -> None:
    """The command ends with exit code 1, for a wrong savepoint, and one line."""
    code, output = run(*arguments)
    assert code == exit_code, output
    assert message in output
    assert output.count("\n") == 1, output


class TestShow:
    def test_a_table_for_people(self) -> None:
        code, output = run("show", CURRENCY, "summarize.keyed_state")
        assert code == 0
        heading, *rows = [line.split("\t") for line in output.splitlines()]
        assert heading == ["key", "total", "count"]
        assert len([row for row in rows if len(row) == 3]) == 20

    def test_a_json_object_per_row(self) -> None:
        rows = lines("show", CURRENCY, "summarize.keyed_state", "-n", "1000")
        expected = Sample(CURRENCY.name).keyed_state("summarize")
        assert sorted(rows, key=lambda row: row["key"]) == expected

    def test_no_more_rows_than_wanted(self) -> None:
        assert len(lines("show", CURRENCY, "summarize.keyed_state", "-n", "3")) == 3
        assert lines("show", CURRENCY, "summarize.keyed_state", "-n", "0") == []

    def test_some_columns(self) -> None:
        columns = ("--column", "count", "--column", "key")
        rows = lines("show", CURRENCY, "summarize.keyed_state", *columns, "--key", "-7")
        assert [list(row.items()) for row in rows] == [[("count", 14), ("key", -7)]]

    def test_a_column_that_is_named_twice_is_a_wrong_call(self) -> None:
        twice = ("--column", "key", "--column", "key")
        code, output = run("show", CURRENCY, "summarize.keyed_state", *twice)
        assert (code, "column 'key' is named twice" in output) == (2, True)

    def test_rows_of_keys(self) -> None:
        keys = ("--key", "", "--key", "𝄞 clef", "--key", "nobody")
        rows = lines("show", STATES, "stateful.keyed_state", *keys, "--column", "key")
        assert sorted(row["key"] for row in rows) == ["", "𝄞 clef"]

    def test_a_row_whose_key_is_one(self) -> None:
        (row,) = lines("show", SQL, "4_group-aggregate.keyed_state", "--key", '{"f0": "Zoë"}')
        assert row["key"] == {"f0": "Zoë"}
        assert row["accState"]["f1"] == "59902.00"

    def test_rows_of_a_condition(self) -> None:
        rows = lines("show", CURRENCY, "summarize.keyed_state", "--where", "count > 16")
        expected = [
            row for row in Sample(CURRENCY.name).keyed_state("summarize") if row["count"] > 16
        ]
        assert sorted(rows, key=lambda row: row["key"]) == expected

    def test_nulls_and_texts_look_different(self) -> None:
        table = ("show", STATES, "stateful.keyed_state", "--key", "refunds only")
        (row,) = lines(*table, "--column", "recent_memo", "--column", "key")
        _, output = run(*table, "--column", "recent_memo", "--column", "key")
        expected = Sample(STATES.name).keyed_state("stateful")
        (known,) = [one for one in expected if one["key"] == "refunds only"]
        assert row["recent_memo"] is known.get("recent_memo") is None
        assert "null" in output

    def test_windows(self) -> None:
        (row,) = lines(
            "show", WINDOWS, "count_window.window_state", "--where", "key.f0 = 1007 AND key.f1 = 0"
        )
        assert row == {
            "key": {"f0": 1007, "f1": 0},
            "namespace": None,
            "window-contents": {"f0": "customer-010", "f1": 1007, "f2": 0, "f3": 1445525},
            "count": 2,
        }

    def test_an_operator_by_its_hash(self) -> None:
        (operator,) = [
            one for one in Sample(CURRENCY.name).open().operators() if one.name == "summarize"
        ]
        assert len(lines("show", CURRENCY, f"{operator.id}.keyed_state", "-n", "99")) == 24

    def test_never_starts_spark(self) -> None:
        arguments = ["show", str(CURRENCY), "summarize.keyed_state", "--where", "key > 0"]
        program = (
            "import sys; from savepoint_cli.main import main;"
            f"main({arguments!r}, standalone_mode=False);"
            "assert 'pyspark' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


class TestShowWhatIsWrong:
    def test_an_unknown_table(self) -> None:
        is_wrong("has no table 'state'; it has: keyed_state", "show", CURRENCY, "summarize.state")

    def test_an_unknown_operator(self) -> None:
        is_wrong("has no operator 'sum'; it has: ", "show", CURRENCY, "sum.keyed_state")

    def test_a_table_without_an_operator(self) -> None:
        is_wrong("has no operator 'keyed_state'; it has: ", "show", CURRENCY, "keyed_state")

    def test_an_unknown_column(self) -> None:
        table = ("show", CURRENCY, "summarize.keyed_state")
        is_wrong("has no column 'sum'; it has: key, total, count", *table, "--column", "sum")

    @pytest.mark.parametrize("key", ["a", "1.5", "99999999999"])
    def test_a_key_of_another_type(self, key: str) -> None:
        table = ("show", CURRENCY, "summarize.keyed_state")
        is_wrong(f"'{key}' is not a key of type int32", *table, "--key", key)

    def test_a_key_that_is_no_json(self) -> None:
        table = ("show", SQL, "4_group-aggregate.keyed_state")
        is_wrong("'Zoë' is not a key of type struct<f0: string>", *table, "--key", "Zoë")

    def test_keys_of_a_list(self) -> None:
        is_wrong("elements has no column 'key'", "show", STATES, "buffer.elements", "--key", "a")

    @pytest.mark.parametrize("condition", ["sum > 5", "total >", "total = 'much'"])
    def test_a_condition(self, condition: str) -> None:
        table = ("show", CURRENCY, "summarize.keyed_state")
        is_wrong(f"condition {condition!r}: ", *table, "--where", condition)

    def test_a_damaged_file(self, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
        file = file_of(savepoint, "summarize 0: keyed state")
        file.write_bytes(file.read_bytes()[:-2])
        fails(f"{file.name} at byte", "show", savepoint.path, "summarize.keyed_state", "-n", "99")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
        file = file_of(savepoint, "summarize 0: keyed state")
        file.unlink()
        fails(f"{file.name} does not exist", "show", savepoint.path, "summarize.keyed_state")

    def test_a_number_of_rows_is_a_wrong_call(self) -> None:
        assert run("show", CURRENCY, "summarize.keyed_state", "-n", "-1")[0] == 2


class TestValues:
    """Values that no sample has, from the table to what is printed."""

    def shown(
        self,
        form: OutputFormat,
        values: list[Any],
        data_type: pa.DataType | None,
        capsys: pytest.CaptureFixture[str],
    ) -> str:
        rows = pa.table({"value": pa.array(values, data_type)}).to_pylist()
        Output(form).values("", ["value"], rows)
        return capsys.readouterr().out

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (b"\x00\xff", '"00ff"'),
            (None, "null"),
            ("null", '"null"'),
            (float("nan"), '"NaN"'),
            (float("-inf"), '"-Infinity"'),
            ([1.5, float("inf"), None], '[1.5, "Infinity", null]'),
            ({"bytes": b"\x01", "nothing": None}, '{"bytes": "01", "nothing": null}'),
            ("𝄞 [red]", '"𝄞 [red]"'),
        ],
    )
    def test_in_json(self, value: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.shown(OutputFormat.JSON, [value], None, capsys) == f'{{"value": {text}}}\n'

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (b"\x00\xff", "00ff"),
            (None, "null"),
            ("[red]text[/red]", "[red]text[/red]"),
            ([b"\x01"], '["01"]'),
            (True, "true"),
        ],
    )
    def test_for_people(self, value: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert text in self.shown(OutputFormat.TEXT, [value], None, capsys).split()


SPARK = ("--engine", "spark")


class TestQuery:
    def test_prints_rows(self, spark: SparkSession) -> None:
        query = "SELECT key, total FROM summarize.keyed_state ORDER BY count DESC, key LIMIT 1"
        assert lines("query", *SPARK, CURRENCY, query, "--uid", "summarize") == [
            {"key": 127, "total": 1250268.8125}
        ]

    def test_knows_operators_by_their_hash_where_no_uid_is_told(self, spark: SparkSession) -> None:
        (operator,) = [
            one for one in Sample(CURRENCY.name).open().operators() if one.name == "summarize"
        ]
        query = f'SELECT count(*) AS n FROM "{operator.id}".keyed_state'
        assert lines("query", *SPARK, CURRENCY, query) == [{"n": 24}]

    def test_a_table_for_people(self, spark: SparkSession) -> None:
        code, output = run(
            "query", *SPARK, STATES, "SELECT value FROM buffer.elements ORDER BY value"
        )
        assert code == 0
        assert "226: " in output
        assert "by spark in" in output

    def test_no_more_rows_than_wanted(self, spark: SparkSession) -> None:
        assert len(lines("query", *SPARK, STATES, "SELECT * FROM stateful.timers", "-n", "5")) == 5

    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("SELEKT 1", "a statement of type SELEKT, expected a query"),
            ("SELECT * FROM nothing.at_all", "there is no table nothing.at_all; there are: "),
            ("SELECT sum FROM stateful.keyed_state", "cannot be resolved"),
            ("SELECT last_id / 0 FROM stateful.keyed_state", "Division by zero"),
        ],
    )
    def test_that_is_wrong(self, spark: SparkSession, query: str, message: str) -> None:
        is_wrong(message, "query", *SPARK, STATES, query)

    def test_of_a_damaged_savepoint(self, spark: SparkSession, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
        file = file_of(savepoint, "summarize 0: keyed state")
        file.write_bytes(file.read_bytes()[:-2])
        query = "SELECT * FROM summarize.keyed_state"
        fails(f"{file.name} at byte", "query", *SPARK, savepoint.path, query)

    def test_of_a_savepoint_without_files_names_them(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
        for subtask in (0, 1):
            file_of(savepoint, f"summarize {subtask}: keyed state").unlink()
        for table in ("summarize.keyed_state", "Summarize.timers"):
            code, output = run("query", *SPARK, savepoint.path, f"SELECT * FROM {table}")
            assert (code, output.count("\n")) == (1, 1)
            expected = (
                f"Error: there is no table {table}; could not be read: summarize.keyed_state: "
            )
            assert output.startswith(expected)
            assert "does not exist" in output
        query = "SELECT * FROM currency_converter.rates"
        code, output = run("query", *SPARK, savepoint.path, query)
        assert (code, "does not exist" in output) == (0, False)

    def test_writes_all_rows_to_a_file_or_to_a_directory(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        query = "SELECT key, total FROM summarize.keyed_state ORDER BY key"
        for name in ("rows.parquet", "rows.csv", "directory/"):
            out = f"{tmp_path}/{name}"
            where = (SAMPLES / "currency-2.2.1-rocksdb-native", query)
            code, output = run("query", *SPARK, *where, "-n", "1", "-o", out)
            assert (code, "written by spark" in output) == (0, True)
        assert pq.read_table(tmp_path / "rows.parquet").num_rows == 24
        assert (tmp_path / "rows.csv").read_bytes().count(b"\n") == 25
        assert pq.read_table(tmp_path / "directory").num_rows == 24
