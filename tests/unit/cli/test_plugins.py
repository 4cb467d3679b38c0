"""Commands of plug-ins, the list of plug-ins, and the switch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of, run
from support.plug_ins import EXAMPLE, MONEY, example_in, on_path, package_in

from savepoint_cli.command_table import OWN, LazyCommands, listed, plug_in_commands
from savepoint_cli.main import main
from savepoint_cli.plugins import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = "savepoint.commands"
COMMAND = """
import click
from state_processor.plugins import PlugInCommand

@click.command()
def hello():
    click.echo("hello from a plug-in")

@click.command()
def plain():
    'Say less. This text is longer than a line, which ends where the help of commands ends.'
    click.echo("less")

@click.command()
def fails():
    raise ZeroDivisionError("no prices")

HELLO = PlugInCommand(hello, "Say hello")
FAILS = PlugInCommand(fails, "Fail", "Judge it")
"""


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAVEPOINT_PLUGINS", raising=False)


@pytest.fixture
def greeting(tmp_path: Path) -> Iterator[None]:
    places = {"hello": "HELLO", "fails": "FAILS", "plain": "plain"}
    entries = {COMMANDS: {name: f"acme_greeting:{place}" for name, place in places.items()}}
    with on_path(package_in(tmp_path, "acme-greeting", entries, acme_greeting=COMMAND)):
        yield


@pytest.mark.usefixtures("greeting")
class TestACommandOfAPlugIn:
    def test_it_runs(self) -> None:
        assert run("hello") == (0, "hello from a plug-in\n")

    def test_a_command_of_click_is_enough(self) -> None:
        assert run("plain") == (0, "less\n")
        own = result_of("--help").output.partition("\nPlug-ins:\n")[2]
        assert f"  {'plain':15}  Say less.\n" in own

    def test_it_stands_under_its_heading(self) -> None:
        text = result_of("--help").output
        judging = text.partition("\nJudge it:\n")[2].partition("\n\n")[0]
        assert "fails" in judging
        assert text.rstrip().splitlines()[-3:-1] == ["Plug-ins:", f"  {'hello':15}  Say hello"]

    def test_its_name_is_completed(self) -> None:
        with main.make_context("savepoint", [], resilient_parsing=True) as context:
            items = main.shell_complete(context, "hel")
        assert [(item.value, item.help) for item in items] == [("hello", "Say hello")]

    def test_an_error_of_it_names_the_plug_in(self) -> None:
        with pytest.raises(ZeroDivisionError) as raised:
            run("fails")
        assert raised.value.__notes__ == ["the command fails is of the plug-in acme-greeting 1.0"]

    def test_it_is_unknown_where_plug_ins_are_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code, text = run("--no-plugins", "hello")
        assert (code, "No such command 'hello'" in text) == (2, True)
        assert "SAVEPOINT_PLUGINS" not in os.environ
        assert run("hello")[0] == 0
        monkeypatch.setenv("SAVEPOINT_PLUGINS", "off")
        assert run("hello")[0] == 2
        assert "hello" not in result_of("--help").output

    def test_the_table_lists_it_after_those_of_this_package(self) -> None:
        headings = listed(plug_in_commands())
        assert list(headings) == [*OWN, "Plug-ins"]
        assert headings["Plug-ins"] == {"hello": "Say hello", "plain": "Say less."}


def test_a_name_that_is_taken_is_one_line_of_warning(tmp_path: Path) -> None:
    entries = {COMMANDS: {"show": "acme_greeting:HELLO"}}
    problem = "show is registered by savepoint-state-processor itself and by acme-greeting 1.0"
    with on_path(package_in(tmp_path, "acme-greeting", entries, acme_greeting=COMMAND)):
        result = result_of("--help")
        (line,) = [line for line in result.stderr.splitlines() if "Warning" in line]
        assert line.startswith("Warning: plug-in acme-greeting 1.0, show of savepoint.commands, is")
        assert line.endswith(problem)
        assert result.exit_code == 0
        assert "Show rows of a table" in result.stdout
        assert "hello" not in result_of("show", "--help").output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise ImportError('no click')", "ImportError: no click"),
        ("HELLO = 7", "TypeError: int, expected a PlugInCommand with a click.Command"),
    ],
    ids=["import", "no command"],
)
def test_a_broken_plug_in_breaks_no_other_command(text: str, problem: str, tmp_path: Path) -> None:
    entries = {COMMANDS: {"hello": "acme_broken:HELLO"}}
    with on_path(package_in(tmp_path, "acme-broken", entries, acme_broken=text)):
        result = result_of("--help")
        assert (result.exit_code, problem in result.stderr) == (0, True)
        code, output = run("hello")
        assert (code, problem in output, "No such command" in output) == (2, True, True)
        assert result_of("describe", "--help").stderr == ""
        states = [json.loads(line) for line in run("plugins", "--output", "json")[1].splitlines()]
    assert {
        "group": COMMANDS,
        "name": "hello",
        "distribution": "acme-broken",
        "version": "1.0",
        "state": f"broken: {problem}",
    } in states


def test_each_plug_in_is_listed_with_its_state(tmp_path: Path) -> None:
    with on_path(example_in(tmp_path)):
        works = run("plugins", "--output", "json")[1]
        is_off = run("--no-plugins", "plugins", "--output", "json")[1]
    for text, state in ((works, "works"), (is_off, "off")):
        rows = [json.loads(line) for line in text.splitlines()]
        ours = [row for row in rows if row["distribution"] == "shop-savepoint"]
        assert [(row["group"], row["name"], row["version"], row["state"]) for row in ours] == [
            ("savepoint.serializers", "shop", "1.2", state),
            ("savepoint.connectors", "shop", "1.2", state),
            ("savepoint.commands", "prices", "1.2", state),
            ("savepoint.changes", "shop", "1.2", state),
        ]


def test_a_plug_in_of_which_one_row_is_refused_works_in_part(tmp_path: Path) -> None:
    text = (EXAMPLE / "shop_savepoint" / "serializers.py").read_text()
    entries = {"savepoint.serializers": {"all": "acme_money:KINDS"}}
    text += f"\nKINDS = {{{MONEY!r}: KINDS[{MONEY!r}]}}\n"
    first = example_in(tmp_path / "1")
    second = package_in(tmp_path / "2", "acme-money", entries, acme_money=text)
    with on_path(first, second):
        rows = [json.loads(line) for line in run("plugins", "--output", "json")[1].splitlines()]
    states = {(row["distribution"], row["name"]): row["state"] for row in rows}
    reason = f"{MONEY} is registered by acme-money 1.0 and by shop-savepoint 1.2"
    assert states["acme-money", "all"] == f"broken: {reason}"
    assert {row["state"] for row in rows} >= {f"in part: {reason}", f"broken: {reason}"}


def test_a_command_is_imported_when_it_is_called() -> None:
    program = (
        "import sys; from savepoint_cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith('savepoint_cli.')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    imported = run.stdout.splitlines()[-1]
    assert "savepoint_cli.command_table" in imported
    assert "savepoint_cli.inspect" not in imported


def test_a_command_of_this_package_looks_for_no_plug_ins() -> None:
    program = (
        "from savepoint_cli.main import main; from savepoint_formats.plug_ins import installed\n"
        "main(['describe', '--help'], standalone_mode=False); print(installed.cache_info())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1].startswith("CacheInfo(hits=0, misses=0")


def test_the_commands_are_a_mapping_of_all_names() -> None:
    commands = LazyCommands()
    assert len(commands) == len(set(commands)) == sum(map(len, OWN.values()))
    assert commands["plugins"] is plugins
    assert commands["plugins"].short_help == OWN["Extend this program"]["plugins"].help
    assert "nothing" not in commands
    assert commands.get("nothing") is None
