"""The command that shows a savepoint on a full screen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from savepoint_cli import options
from savepoint_cli.terminal import command
from savepoint_formats.extras import imported

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening


@command()
@options.opening_only
def browse(opening: Opening) -> None:
    """Browse the savepoint at PATH on the terminal: operators, states, keys, sizes.

    Needs the extra "browse". Enter opens an item, / finds a key, s shows sizes, q quits.

    \b
    savepoint browse s3://jobs/orders/savepoint-1a2b
    """
    imported("textual")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("browse needs a terminal; use show, key or stats instead")
    savepoint = opening.open()
    from savepoint_extensions.browse.app import SavepointBrowser  # noqa: PLC0415  # of the extra "browse"

    browser = SavepointBrowser(savepoint)
    browser.run()
    click.get_current_context().exit(browser.return_code or 0)
