"""Commands that watch over jobs: sizes of state, the state of a key, retained snapshots."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion, options
from savepoint_cli.engine import Engine, work_options
from savepoint_cli.terminal.help import Command, command
from savepoint_cli.terminal.output import output_option
from savepoint_database import files
from savepoint_database import snapshot as retained
from savepoint_database.audit.statistics_views import largest_tables, page
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from savepoint_cli.options import Opening
    from savepoint_cli.terminal.output import Output
    from savepoint_database.types.timer_dates import Times

_NEGATIVE = re.compile(r"-\d.*")

NOT_FOUND = 3
"""The exit code if nothing was found."""


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}, expected such as 2026-01-31T12:00:00Z") from error
    return moment.replace(tzinfo=moment.tzinfo or UTC)


@options.inspection()
@options.optional_table
@click.option(
    "--at",
    metavar="TIME",
    callback=options.callback(_moment),
    help="The time to use as now, such as 2026-01-31T12:00:00Z; UTC if it has no zone.",
)
@click.option(
    "--ttl",
    multiple=True,
    metavar="STATE=DURATION",
    callback=options.pairs("a state and a time, such as sessions=7d", options.duration),
    shell_complete=completion.followed("=", completion.states),
    help="A state's time to live, such as sessions=7d; no savepoint stores it. Repeatable.",
)
@options.count_option("--top", default=10, text="Number of largest keys to show per operator.")
@click.option("--key-groups", "with_key_groups", is_flag=True, help="Show each key group, too.")
@click.option(
    "--html",
    "html_file",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    help="Write a page with plots to the file OUT, replacing it; the page needs no network.",
)
@work_options
def stats(
    output: Output,
    opening: Opening,
    engine: Engine,
    table: str | None,
    *,
    with_key_groups: bool,
    html_file: str | None,
    **judged: Any,
) -> None:
    """Show sizes of the state at PATH, or of one TABLE: keys, bytes, timers, skew.

    Sizes are the bytes of keys and values; values are not decoded. State that can't be read is
    listed at the end, and the exit code is then 1.

    \b
    savepoint stats s3://jobs/orders/savepoint-1a2b --ttl sessions=7d
    savepoint stats s3://jobs/orders/savepoint-1a2b --output json
    savepoint stats s3://jobs/orders/savepoint-1a2b --html report.html
    """
    savepoint = engine.open(opening)
    report = savepoint.stats(table, **judged)
    if html_file is None:
        tables = report.tables(with_key_groups=with_key_groups)
        output.page(report, *tables, digest=largest_tables(report))
    else:
        text = page(report, savepoint.describe()).encode()
        with files.whole_file(html_file, is_overwritten=True) as file:
            file.write(text)
        output.page({"path": html_file, "size": len(text)})
    if report.problems:
        click.get_current_context().exit(1)


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
    output: Output, opening: Opening, key: str, operator: str | None, times: Times, **read: Any
) -> None:
    """Show everything that KEY has in the savepoint at PATH: states, windows and timers.

    Only its key group is read. Write a struct as JSON, and bytes as hexadecimal digits. Exit codes:
    0 found, 3 no operator has the key.

    \b
    savepoint key s3://jobs/orders/savepoint-1a2b customer-001
    savepoint key s3://jobs/orders/savepoint-1a2b '{"f0": 7, "f1": "EUR"}' --operator summarize
    """
    key_state = opening.open().key(key, operator=operator, **read)
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
