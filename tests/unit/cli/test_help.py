"""Help, its examples, completion, and the walk through the commands."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of
from support.sample_rows import SAMPLES

from savepoint_cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import click

CURRENCY = SAMPLES / "currency-2.2.1-hashmap-canonical"
READERS = {"describe", "list", "schema", "files", "show", "query", "verify", "stats"}


def examples(command: click.Command) -> list[list[str]]:
    """The lines of a command's help that can be run."""
    lines = (line.strip() for line in (command.help or "").splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("savepoint ")]


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_help_has_an_example_that_is_a_right_call(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = main.commands[name]
    found = examples(command)
    assert found
    for called, *arguments in found:
        assert called == name
        for one in arguments:
            if one.endswith((".yaml", ".csv")):
                (tmp_path / one).write_text("")
        with command.make_context(name, arguments):
            pass


@pytest.mark.parametrize("name", sorted(READERS))
def test_examples_of_commands_that_read_can_be_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in examples(main.commands[name]):
        given = [str(CURRENCY) if one.startswith("s3://") else one for one in arguments]
        if name == "show" and "--key" in given:
            given[given.index("--key") + 1] = "-7"
        if name == "stats" and "--ttl" in given:
            continue  # of a state that this savepoint has not
        result = result_of(*given)
        assert result.exit_code == 0, result.output


def test_each_command_has_a_line_of_help_that_fits() -> None:
    lines = result_of("--help").output.splitlines()
    for name, command in main.commands.items():
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line.split(maxsplit=1)[1] == command.short_help


def test_the_version_is_told() -> None:
    assert result_of("--version").output.endswith(
        f", version {version('savepoint-state-processor')}\n"
    )


def test_a_mistyped_command_or_option_is_asked_about() -> None:
    result = result_of("describ", CURRENCY)
    assert (result.exit_code, "describe" in result.output) == (2, True)
    result = result_of("describe", CURRENCY, "--uidd", "x")
    assert (result.exit_code, "--uid" in result.output) == (2, True)


def completed(typed: str) -> list[str]:
    """What bash is told to complete the last word of a line with."""
    program = "from savepoint_cli.main import main; main(prog_name='savepoint')"
    words = typed.split(" ")
    environment = {
        **os.environ,
        "_SAVEPOINT_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return found.stdout.split()


@pytest.mark.usefixtures("slow")
def test_a_shell_completes_tables_uids_and_paths() -> None:
    assert completed(f"savepoint show {CURRENCY} summ") == ["plain,summarize.keyed_state"]
    assert completed(f"savepoint remove-operator {CURRENCY} curr") == ["plain,currency_converter"]
    assert completed("savepoint show somewh") == ["file,somewh"]
    assert completed("savepoint show /nowhere summ") == []


def test_the_demo_copies_a_savepoint_and_shows_each_command(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    result = result_of("demo", folder)
    assert result.exit_code == 0
    for fact in (
        "$ savepoint describe",
        "$ savepoint query",
        "1250268.8125",
        "summarize.keyed_state",
    ):
        assert fact in result.output
    assert (folder / "_metadata").read_bytes() == (CURRENCY / "_metadata").read_bytes()
    again = result_of("demo", folder)
    assert (again.exit_code, "exists already" in again.output) == (1, True)
    nowhere = result_of("demo", folder / "_metadata" / "demo")
    assert (nowhere.exit_code, "can't be written" in nowhere.output) == (1, True)
    shutil.rmtree(folder)
