"""Each command that a page names is parsed by the real command line."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from savepoint_cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^ *```(?:bash|sh|console)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(savepoint [^`]+)`(?!`)")
ENDS = {"|", ">", ">>", "2>", "<", "&&", "||", ";", "&"}
MORE = {"…", "..."}


def commands_of(page: Path) -> Iterator[str]:
    text = page.read_text("utf-8")
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield from (
                part.strip() for part in re.findall(r"(?:^|[\s/;&|$(])(savepoint [a-z-].*)", line)
            )
    yield from (command for command in INLINE.findall(text))


def words_of(command: str) -> list[str]:
    """The words behind ``savepoint``, up to the end of the command."""
    words: list[str] = []
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    for word in lexer:
        if word in ENDS:
            break
        words.append(word)
    return words[1:]


def wrong(command: str) -> str | None:
    """Why the command line refuses a command; None if it doesn't."""
    try:
        words = words_of(command.rstrip(")"))
    except ValueError:
        words = words_of(command)
    name, *words = words
    if name.startswith("-") or name in {"COMMAND", *MORE}:
        return None
    known = main.get_command(click.Context(main), name)
    if known is None:
        return f"no command {name!r}"
    arguments, is_open = _arguments(words)
    try:
        values, rest, _ = known.make_parser(click.Context(known)).parse_args(arguments)
    except click.BadOptionUsage as error:
        # A page may name an option without its value.
        return None if error.option_name == words[-1] else error.format_message()
    except click.UsageError as error:
        return error.format_message()
    if rest:
        return f"too many words: {rest}"
    # A page may name a command with an option alone.
    is_open |= not isinstance(values.get("path", ""), str)
    for parameter in known.params:
        value = values.get(str(parameter.name))
        if isinstance(parameter, click.Argument) and not isinstance(value, str | tuple):
            if parameter.required and not is_open:
                return f"no {parameter.name}"
        elif isinstance(parameter.type, click.Choice) and isinstance(value, str):
            is_placeholder = value.isupper() or value in MORE
            if not is_placeholder and value not in parameter.type.choices:
                return f"{value!r} is no {parameter.name}"
    return None


def _arguments(words: list[str]) -> tuple[list[str], bool]:
    """The words of a call, and whether the page leaves some out."""
    arguments = list[str]()
    for before, word in pairwise(["", *words]):
        if word not in MORE or before.startswith("-"):
            arguments.append(word)
    return arguments, not words or arguments != words or words[-1].startswith("-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_command_of_a_page_is_taken(page: Path) -> None:
    refused = {
        command: reason for command in commands_of(page) if (reason := wrong(command)) is not None
    }
    assert not refused


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("savepoint rescale PATH --max-parallelism 8 --out OUT", "--out"),
        ("savepoint rescue PATH", "no command"),
        ("savepoint verify", None),
        ("savepoint diff PATH", "no other"),
        ("savepoint describe PATH | grep x", None),
        ("savepoint export PATH t OUT --format paper", "is no form"),
    ],
)
def test_a_wrong_command_would_be_seen(command: str, reason: str | None) -> None:
    refusal = wrong(command)
    assert refusal is None if reason is None else refusal is not None and reason in refusal
