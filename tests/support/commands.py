"""Commands, run in the process of the test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from savepoint_cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def result_of(*arguments: str | Path) -> Result:
    """Result of a command; internal errors are raised unchanged."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and all that was printed."""
    result = result_of(*arguments)
    return result.exit_code, result.output


def lines(*arguments: str | Path) -> list[dict[str, Any]]:
    """The JSON lines that a command printed."""
    code, output = run(*arguments, "--output", "json")
    assert code == 0, output
    return [json.loads(line) for line in output.splitlines()]
