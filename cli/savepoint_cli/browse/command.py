"""The command that opens the browser."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import click

from savepoint_cli.inspect import open_savepoint, opening
from savepoint_formats.errors import MissingPackageError


@click.command()
@opening
def browse(path: str, **uids: Any) -> None:
    """Browse the savepoint at PATH on the terminal: operators, states, keys, what is heavy.

    Needs the extra "browse". Enter opens what the cursor is on, / finds a key, s weighs, q ends.

    \b
    savepoint browse s3://jobs/orders/savepoint-1a2b
    """
    if find_spec("textual") is None:
        raise MissingPackageError(
            "browse needs textual: pip install 'savepoint-state-processor[browse]'"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("browse needs a terminal; show, key and stats print to anything")
    savepoint = open_savepoint(path, **uids)
    from savepoint_cli.browse.app import SavepointBrowser  # noqa: PLC0415  # of the extra "browse"

    browser = SavepointBrowser(savepoint)
    browser.run()
    click.get_current_context().exit(browser.return_code or 0)
