"""Commands that watch over jobs: the state of a key, retained snapshots."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion, options
from savepoint_cli.terminal.help import Command, command
from savepoint_cli.terminal.output import output_option
from savepoint_database import snapshot as retained
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output
    from savepoint_database.types import Times

_NEGATIVE = re.compile(r"-\d.*")

NOT_FOUND = 3
"""The exit code if nothing was found."""


class _KeyCommand(Command):
    """A command whose argument may be a negative number; it is not taken for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(map(_NEGATIVE.fullmatch, args))
        return super().parse_args(ctx, args)


@options.inspection(kind=_KeyCommand)
@click.argument("key")
@options.operator_option("Read only this operator, by its uid or hash.")
@options.times
@options.undescribed_subclasses
def key(
    output: Output, opening: Opening, key: str, operator: str | None, times: Times, **forms: Any
) -> None:
    """Show everything that KEY has in the savepoint at PATH: states, windows and timers.

    Only its key group is read. Write a struct as JSON, and bytes as hexadecimal digits. Exit codes:
    0 found, 3 no operator has the key.

    \b
    savepoint key s3://jobs/orders/savepoint-1a2b customer-001
    savepoint key s3://jobs/orders/savepoint-1a2b '{"f0": 7, "f1": "EUR"}' --operator summarize
    """
    key_state = opening.open().with_forms(**forms).key(key, operator=operator)
    for key_rows in key_state.tables:
        title = f"{key_rows.operator}.{key_rows.table}"
        place = {"operator": key_rows.operator, "table": key_rows.table}
        output.placed_values(title, place, key_rows.rows.column_names, key_rows.printable(times))
    if not key_state.is_found:
        click.echo(f"no operator has the key {printable(key_state.key)}", err=True)
        click.get_current_context().exit(NOT_FOUND)


@command()
@click.argument("directory", shell_complete=completion.paths)
@options.allow_path
@options.strict_paths
@output_option
def snapshots(
    output: Output, directory: str, allow_paths: tuple[str, ...], *, strict_paths: bool
) -> None:
    """List all checkpoints and savepoints below DIRECTORY, the newest first.

    Shows each snapshot's id, kind, time, size in bytes and number of operators, and whether it is
    complete. Exit codes: 0 done, 3 there are none.

    \b
    savepoint snapshots s3://jobs/checkpoints
    """
    snapshots = retained.snapshots(directory, allow_paths=allow_paths, strict_paths=strict_paths)
    output.rows(f"Snapshots below {directory}", snapshots)
    if not snapshots:
        click.get_current_context().exit(NOT_FOUND)
