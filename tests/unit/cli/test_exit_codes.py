"""The page of exit codes has what the help of each command says, and what commands do."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from support.commands import run

from savepoint_cli.main import main

PAGE = Path(__file__).parents[3] / "docs" / "exit-codes.md"
CURRENCY = "currency-2.2.1-hashmap-canonical"


def codes_of_page() -> dict[str, set[str]]:
    """The codes of each command that answers a question, besides 0, 2 and 130."""
    rows = re.findall(
        r"^\| `([\w-]+)` +\| (.*?) +\| (.*?) +\|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {
        name: {code for code, text in (("1", error), ("3", no)) if text.strip()}
        for name, error, no in rows
    }


def codes_of_help(command: click.Command) -> set[str]:
    said = re.findall(r"[Ee]xit codes?\b(.*?)(?:\.\s|\n\n|$)", command.help or "", re.DOTALL)
    return set(re.findall(r"\b[13]\b", " ".join(said)))


def test_each_command_that_answers_no_is_on_the_page() -> None:
    context = click.Context(main)
    said = {
        name: codes_of_help(command)
        for name in main.list_commands(context)
        if (command := main.get_command(context, name)) is not None
    }
    page = codes_of_page()
    assert {name for name, codes in said.items() if "3" in codes} == {
        name for name, codes in page.items() if "3" in codes
    }
    for name, codes in page.items():
        assert codes <= said[name], name


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ("key", "P", "127")),
        (3, ("key", "P", "5")),
        (2, ("key", "P", "127", "--operator", "nobody")),
        (3, ("find", "P", "nowhere")),
        (0, ("diff", "P", "P")),
        (1, ("verify", "/nowhere")),
        (0, ("verify", "P")),
        (2, ("verify",)),
    ],
)
def test_commands_end_as_the_page_says(
    samples: Path, code: int, arguments: tuple[str, ...]
) -> None:
    words = [str(samples / CURRENCY) if word == "P" else word for word in arguments]
    assert run(*words)[0] == code
