"""Names that a user gives and a savepoint lacks: what a command says to find the right one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "show": ("show", "PATH", "TABLE"),
    "schema": ("schema", "PATH", "TABLE"),
    "stats": ("stats", "PATH", "TABLE"),
    "export": ("export", "PATH", "TABLE", "OUT", "--to", "csv"),
    "history": ("history", "PATH", "TABLE", "--key", "customer-001"),
    "diff": ("diff", "PATH", "PATH", "TABLE"),
}


@pytest.fixture
def states(samples: Path) -> Path:
    return samples / "states-2.2.1-rocksdb-native"


@pytest.mark.parametrize("command", COMMANDS)
def test_an_operator_in_the_place_of_a_table(command: str, states: Path, tmp_path: Path) -> None:
    named = {"PATH": str(states), "TABLE": "stateful", "OUT": str(tmp_path / "rows.csv")}
    code, output = run(*(named.get(word, word) for word in COMMANDS[command]))
    message = "stateful is an operator, not a table; its tables: "
    assert (code, output.count("\n")) == (2, 1)
    assert f"{message}stateful.keyed_state, stateful.timers\n" in output


def test_an_operator_without_state_in_the_place_of_a_table(states: Path) -> None:
    code, output = run("show", states, "stateful_sink")
    assert (code, output) == (
        2,
        "Error: stateful_sink is an operator, not a table; its tables: none\n",
    )


def test_an_operator_in_the_place_of_a_table_of_sql(states: Path) -> None:
    code, output = run("query", states, "SELECT * FROM stateful")
    assert code == 2
    assert "stateful is an operator, not a table; its tables: stateful.keyed_state, " in output
    code, output = run("query", states, "SELECT * FROM keyed_state")
    assert "there is no table keyed_state; there are: " in output


def test_a_uid_that_is_almost_one(samples: Path) -> None:
    path = samples / "currency-2.2.1-rocksdb-native"
    code, output = run("describe", path, "--uid", "sumarize", "--uid", "gat")
    assert code == 0
    (warning,) = [line for line in output.splitlines() if line.startswith("Warning")]
    assert "has no operator 'sumarize', 'gat'; it has: " in warning
    assert warning.endswith("; did you mean 'summarize'?; did you mean 'gate'?")


class TestAboveAJob:
    @pytest.fixture
    def above(self, samples: Path, tmp_path: Path) -> Path:
        """A directory of teams, each with a job."""
        source = samples / "states-2.2.1-rocksdb-incremental"
        for team in ("orders", "refunds"):
            shutil.copytree(source, tmp_path / "teams" / team / "checkpoints" / "0a1b")
        return tmp_path / "teams"

    def test_what_lies_below_is_told(self, above: Path) -> None:
        code, output = run("describe", above)
        places = [str(above / team / "checkpoints/0a1b/chk-2") for team in ("orders", "refunds")]
        assert (code, output.count("\n")) == (1, 1)
        assert f"it contains, for instance, {', '.join(places)}: " in output
        for team in ("orders", "refunds"):
            assert f"{team}/checkpoints/0a1b/chk-2" in run("describe", above / team)[1]

    def test_a_snapshot_that_did_not_complete(self, above: Path) -> None:
        chk = above / "orders" / "checkpoints" / "0a1b" / "chk-2"
        (chk / "_metadata").unlink()
        code, output = run("describe", chk)
        assert code == 1
        assert "or did not complete" in output
        code, output = run("describe", above / "orders" / "checkpoints")
        assert f"it contains, for instance, {chk}: " in output

    def test_nothing_below(self, tmp_path: Path) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        assert "has no _metadata file" in run("describe", tmp_path)[1]
