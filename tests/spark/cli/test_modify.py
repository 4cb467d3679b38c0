"""The commands that spread or filter state anew, as a user calls them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import lines, run

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def rows(path: Path, table: str) -> list[str]:
    return sorted(map(str, lines("show", path, table, "-n", "1000")))


@pytest.fixture
def currency(samples: Path) -> Path:
    return samples / "currency-2.2.1-rocksdb-native"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_rescale_spreads_the_state_over_other_key_groups_and_subtasks(
    spark: SparkSession, currency: Path, out: Path
) -> None:
    code, output = run("rescale", currency, out, "--max-parallelism", "64", "--parallelism", "3")
    assert code == 0
    for fact in ("files", "seconds", "summarize", "changed"):
        assert fact in output
    record = Savepoint.open(str(out)).operator("summarize").record
    assert (record.max_parallelism, record.parallelism) == (64, 3)
    for table in ("summarize.keyed_state", "currency_converter.rates"):
        assert rows(out, table) == rows(currency, table)


def test_rescale_tells_programs_what_it_wrote(
    spark: SparkSession, currency: Path, out: Path
) -> None:
    (written,) = lines("rescale", currency, out, "--parallelism", "1")
    assert written["files"] == len(list(out.iterdir()))
    actions = {one["operator"]: one["action"] for one in written["operators"]}
    assert actions["summarize"] == "changed"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "add --max-parallelism, --parallelism or both"),
        (("--parallelism", "0"), "0 is not in the range 1<=x<=32768"),
        (("--max-parallelism", "2", "--parallelism", "3"), "parallelism 3 of max parallelism 2"),
    ],
)
def test_a_wrong_call_of_rescale_has_exit_code_2(
    currency: Path, out: Path, options: tuple[str, ...], message: str
) -> None:
    code, output = run("rescale", currency, out, *options)
    assert code == 2
    assert message in " ".join(output.split())
    assert not out.exists()


def test_remove_state_leaves_the_others_of_the_operator(
    spark: SparkSession, currency: Path, out: Path
) -> None:
    (written,) = lines("remove-state", currency, "summarize", "count", out)
    actions = {one["operator"]: one["action"] for one in written["operators"]}
    assert actions.pop("summarize") == "changed"
    assert set(actions.values()) == {"copied"}
    columns = [one["column"] for one in lines("schema", out, "summarize.keyed_state")]
    assert columns == ["key", "total"]


def test_remove_state_lists_the_states_there_are(currency: Path, out: Path) -> None:
    code, output = run("remove-state", currency, "summarize", "sum", out)
    assert (code, output.count("\n")) == (2, 1)
    assert "has no state 'sum'; it has: total, count" in output


@pytest.mark.parametrize(
    ("command", "rest"),
    [("rescale", ("--parallelism", "1")), ("remove-state", ("summarize", "count"))],
)
def test_a_dry_run_starts_no_session(
    command: str, rest: tuple[str, ...], currency: Path, out: Path
) -> None:
    arguments = [command, str(currency), *(() if command == "rescale" else rest), str(out)]
    arguments += [*(rest if command == "rescale" else ()), "--dry-run"]
    program = (
        "from savepoint_cli.main import main;"
        f"main({arguments!r}, standalone_mode=False);"
        "from pyspark.sql import SparkSession;"
        "assert SparkSession.getActiveSession() is None"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert not out.exists()


def test_a_savepoint_is_replaced_only_when_told_so(
    spark: SparkSession, currency: Path, out: Path
) -> None:
    assert run("copy", currency, out)[0] == 0
    code, output = run("rescale", currency, out, "--parallelism", "1")
    assert code == 1
    assert "is a savepoint already" in output
    assert run("rescale", currency, out, "--parallelism", "1", "--overwrite")[0] == 0
    assert Savepoint.open(str(out)).operator("summarize").record.parallelism == 1
