"""The command that finds, and removes, files that no snapshot needs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from savepoint_cli import completion
from savepoint_cli.terminal.help import command
from savepoint_cli.terminal.output import output_option
from savepoint_database.types.flink_units import milliseconds
from state_processor import Garbage

if TYPE_CHECKING:
    from savepoint_cli.terminal.output import Output


def _duration(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> timedelta | None:
    if text is None:
        return None
    if text.strip().isdigit():
        # Elsewhere that is a number of milliseconds, which would be fatal here.
        raise click.BadParameter(f"{text!r} has no unit, expected such as 7d or 12h")
    try:
        return timedelta(milliseconds=milliseconds(text))
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error)) from error


@command()
@output_option
@click.argument("directory", shell_complete=completion.paths)
@click.option("--delete", "is_deleting", is_flag=True, help="Remove them; needs --older-than.")
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=_duration,
    help="Only files that were written so long ago: 7d, 12h. Longer than any checkpoint takes.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="DIRECTORY",
    shell_complete=completion.paths,
    help="A directory elsewhere whose snapshots may need files below this one. Repeatable.",
)
def gc(
    output: Output,
    directory: str,
    is_deleting: bool,
    older_than: timedelta | None,
    also: tuple[str, ...],
) -> None:
    """List the files below DIRECTORY that no retained snapshot needs; --delete removes them.

    DIRECTORY is that of a job, or one above it. A file is needed if a snapshot below, or below a
    directory of --also, refers to it. Nothing is removed that is younger than the newest snapshot,
    that lies behind a link, or that has a name or a place that Flink does not give. If a snapshot
    can't be read, nothing is removed at all. Exit codes: 0 done, 1 refused, 2 the call is wrong.

    \b
    savepoint gc s3://jobs/checkpoints
    savepoint gc s3://jobs/checkpoints --delete --older-than 7d
    """
    if is_deleting:
        if older_than is None:
            raise click.UsageError("--delete needs --older-than, such as --older-than 7d")
        garbage = Garbage.delete(directory, older_than=older_than, also=also)
    else:
        garbage = Garbage.below(directory, older_than=older_than, also=also)
    output.page(garbage, ("Files that no snapshot needs", garbage.files))
