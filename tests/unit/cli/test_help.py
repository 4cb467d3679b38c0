"""Help, its examples, completion, and the walk through the commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import click
import pytest
from support.commands import result_of
from support.sample_rows import SAMPLES
from support.slow_cases import slow_unless

from savepoint_cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

CURRENCY = SAMPLES / "currency-2.2.1-hashmap-canonical"
NAMES = {
    **dict.fromkeys(("out", "html_file", "folder"), "OUT"),
    **dict.fromkeys(("form", "to", "output"), "FORMAT"),
    "operator": "OPERATOR",
}
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
            if one.endswith((".yaml", ".csv", ".py", ".json", ".txt", ".avsc")) and "/" not in one:
                (tmp_path / one).write_text("")
        with command.make_context(name, arguments):
            pass


@pytest.mark.parametrize("name", slow_unless("stats".__ne__, sorted(READERS)))
def test_examples_of_commands_that_read_can_be_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in examples(main.commands[name]):
        given = [str(CURRENCY) if one.startswith("s3://") else one for one in arguments]
        if name == "show" and "--key" in given:
            given[given.index("--key") + 1] = "-7"
        if name == "stats" and "--ttl" in given:
            continue  # of a state that isn't in this savepoint
        result = result_of(*given)
        assert result.exit_code == 0, result.output


def test_the_list_of_commands_fits_a_screen_and_names_them_all() -> None:
    text = result_of("--help").output
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) <= 80
    _, _, listed = text.partition("\nLook into a savepoint:")
    assert set(main.commands) <= set(re.findall(r"[\w-]+", listed))


def test_each_command_has_a_line_of_help_that_fits() -> None:
    lines = result_of("--help-all").output.splitlines()
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
    """Completions of the last word of a line that bash gets."""
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


def options_under(title: str, name: str) -> list[str]:
    """Names that help lists below a heading."""
    _, found, after = result_of(name, "--help").output.partition(f"\n{title}:\n")
    assert found, f"{name} has no {title}"
    return re.findall(
        r"^  (-[^ ]*(?:, --[^ ]*)?(?: [A-Z][^ ]*)?)", after.partition("\n\n")[0], re.M
    )


def test_a_command_lists_its_own_options_first() -> None:
    assert options_under("Options", "schema") == ["--format FORMAT"]
    assert options_under("Options", "add-field") == [
        *("--value SQL", "--before COLUMN", "--overwrite", "--dry-run", "--print-change")
    ]
    assert options_under("Common options", "copy") == [
        *("--classes FILE", "--key-type OPERATOR=TYPE", "--types FILE"),
        *("--allow-path PREFIX", "--strict-paths"),
        *(
            "--uid UID",
            "--uids-file FILE",
            "--plan FILE",
            *("--trigger", "--trigger-into PLACE"),
            "--all",
            "--vertical",
            "--output FORMAT",
            "--help",
        ),
    ]
    for name in main.commands:
        text = result_of(name, "--help").output
        assert text.find("\nOptions:") < text.find("\nCommon options:"), name


@pytest.mark.parametrize("name", sorted(main.commands))
def test_one_thing_has_one_name_in_every_help(name: str) -> None:
    """No type of click's is the name of a value, and no list of choices."""
    command = main.commands[name]
    with command.make_context(name, [], resilient_parsing=True) as context:
        for parameter in command.params:
            shown = parameter.make_metavar(context).strip("[]")
            if isinstance(parameter.type, click.Choice) and parameter.name not in NAMES:
                continue
            is_flag = isinstance(parameter, click.Option) and parameter.is_flag
            assert is_flag or re.fullmatch(r"[A-Z_]+([=/ ][A-Z]+)?", shown), shown
            assert is_flag or shown not in {"TEXT", "INTEGER", "DIR", "FOLDER", "BOOLEAN"}
            assert shown == NAMES.get(parameter.name or "", shown)


def test_names_that_options_had_before_are_still_taken(tmp_path: Path) -> None:
    table = "summarize.keyed_state"
    assert result_of("schema", CURRENCY, table, "--as", "ddl").exit_code == 0
    out = tmp_path / "rows.csv"
    assert result_of("export", CURRENCY, table, out, "--to", "csv").exit_code == 0
    assert result_of("describe", CURRENCY, "--kryo-classes", os.devnull).exit_code == 0
    assert "--kryo-classes" not in result_of("describe", "--help").output


def test_the_line_of_a_command_begins_with_a_verb() -> None:
    verbs = {
        *(
            "Leave",
            "Show",
            "List",
            "Run",
            "Browse",
            "Copy",
            "Check",
            "Tell",
            "Compare",
            "Rename",
            "Remove",
        ),
        *("Rescale", "Convert", "Print", "Rewrite", "Add", "Widen", "Update", "Delete", "Merge"),
        *("Export", "Import", "Find", "Write", "Make", "Answer", "Mask", "Take", "Back", "Try"),
    }
    assert {str(command.short_help).split()[0] for command in main.commands.values()} <= verbs
    for name, command in main.commands.items():
        assert (command.help or "").split()[0] in verbs, name


@pytest.mark.usefixtures("slow")
def test_a_shell_completes_operators_states_and_columns() -> None:
    assert completed(f"savepoint remove-state {CURRENCY} summarize c") == ["plain,count"]
    assert completed(f"savepoint rename-field {CURRENCY} summarize t") == ["plain,total"]
    assert completed(f"savepoint show {CURRENCY} summarize.keyed_state --column t") == [
        "plain,total"
    ]
    assert completed(f"savepoint key {CURRENCY} 7 --operator summ") == ["plain,summarize"]
    assert completed(f"savepoint rescale {CURRENCY} out --hash-codes summ") == ["plain,summarize="]
    assert "plain,count=" in completed(f"savepoint stats {CURRENCY} --ttl c")
    assert completed(f"savepoint migrate {CURRENCY} out --skip-state summarize/c") == [
        "plain,summarize/count"
    ]
    assert completed(f"savepoint export {CURRENCY} summarize.keyed_state out --format p") == [
        "plain,parquet"
    ]
    assert completed(f"savepoint diff {CURRENCY} somewh") == ["file,somewh"]


@pytest.mark.usefixtures("slow")
def test_a_shell_completes_what_names_that_were_given_lead_to() -> None:
    old = SAMPLES / "states-1.20.5-hashmap-canonical"
    assert completed(f"savepoint remove-state --uid stateful {old} statef") == ["plain,stateful"]
    assert completed(f"savepoint remove-state --uid stateful {old} stateful avera") == [
        "plain,average"
    ]
