"""Errors advise no option that a command lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_cli.query import query
from savepoint_cli.terminal.advice import followable, options_of
from savepoint_extensions.serving.agent_commands import mcp
from savepoint_extensions.serving.serve_commands import serve
from savepoint_formats.values.undecoded import hidden_advice

if TYPE_CHECKING:
    import click

READ = "file system operations are disabled"


@pytest.mark.parametrize("command", [serve, mcp], ids=["serve", "mcp"])
def test_advice_that_a_command_cannot_follow_names_one_that_can(command: click.Command) -> None:
    options = options_of(command)
    message = f"{READ}; allow it to read files with --allow-files, allow_files=True"
    assert followable(message, options) == f"{READ}; savepoint query takes --allow-files"
    assert followable(f"it is unknown{hidden_advice('rest')}", options) == (
        "it is unknown; describe the class (kryo_classes, --classes);"
        " savepoint query takes --undescribed-subclasses"
    )


@pytest.mark.parametrize(
    "message",
    [
        "out of memory; give it more memory with --memory-limit, memory_limit",
        "it is canonical; savepoint convert PATH OUT --overwrite writes another one",
        "the value is -- as it seems; a-b--c, or none",
    ],
)
def test_other_errors_stay_as_they_are(message: str) -> None:
    assert followable(message, options_of(serve)) == message


def test_a_command_that_has_the_option_may_advise_it() -> None:
    message = f"{READ}; allow it to read files with --allow-files, allow_files=True"
    assert followable(message, options_of(query)) == message
