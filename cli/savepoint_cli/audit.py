"""Commands for those who look after a job: what its state weighs, what a key has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion
from savepoint_cli.engine import opened_for, work_options
from savepoint_cli.options import (
    allow_path_option,
    inspection,
    open_savepoint,
    strict_paths_option,
    times_option,
    undescribed_subclasses_option,
)
from savepoint_cli.terminal.help import Command, command
from savepoint_cli.terminal.output import output_option
from savepoint_database.audit.page import page
from savepoint_database.audit.statistics_views import largest_tables, statistics_tables
from savepoint_database.snapshot import retained
from savepoint_database.types.flink_units import milliseconds
from savepoint_formats.new_snapshot.whole_file import whole_file
from savepoint_formats.printable import printable
from state_processor import Garbage

if TYPE_CHECKING:
    from savepoint_cli.terminal.output import Output
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan.read_options import UndescribedSubclasses

_NEGATIVE = re.compile(r"-\d.*")

NOT_FOUND = 3
"""The exit code where all is well, but there is nothing of what was asked for."""


def _moment(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}, expected such as 2026-01-31T12:00:00Z") from error
    return moment.replace(tzinfo=moment.tzinfo or UTC)


def _lives(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, timedelta]:
    lives: dict[str, timedelta] = {}
    for assignment in given:
        state, equals, text = assignment.rpartition("=")
        if not (state and equals):
            raise click.BadParameter(f"{assignment!r}, expected a state and a time, as sessions=7d")
        try:
            lives[state] = timedelta(milliseconds=milliseconds(text))
        except (ValueError, OverflowError) as error:
            raise click.BadParameter(str(error)) from error
    return lives


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


at_option = click.option(
    "--at",
    metavar="TIME",
    callback=_moment,
    help="The time that counts as now, as 2026-01-31T12:00:00Z. UTC if it has no zone.",
)


@dataclass(frozen=True)
class WrittenPage:
    """A page of HTML that was written. ``size`` is in bytes."""

    path: str
    size: int


@command()
@inspection
@click.argument("table", required=False, shell_complete=completion.tables)
@at_option
@click.option(
    "--ttl",
    "ttl",
    multiple=True,
    metavar="STATE=DURATION",
    callback=_lives,
    shell_complete=completion.followed("=", completion.states),
    help="How long values of a state live, as sessions=7d; no savepoint knows it. Repeatable.",
)
@click.option(
    "--top",
    metavar="COUNT",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many of the largest keys of each operator to show.",
)
@click.option("--key-groups", "with_key_groups", is_flag=True, help="Show each key group, too.")
@click.option(
    "--html",
    "html_file",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    help="Write a page with plots to the file OUT, which needs no network; it is replaced.",
)
@work_options
def stats(
    output: Output,
    path: str,
    table: str | None,
    at: datetime | None,
    ttl: dict[str, timedelta],
    top: int,
    *,
    with_key_groups: bool,
    html_file: str | None,
    **options: Any,
) -> None:
    """Show what the state at PATH, or that of TABLE, weighs: keys, bytes, timers, skew.

    Bytes are those of keys and values; values are not decoded. What could not be read is listed at
    the end, and makes for exit code 1.

    \b
    savepoint stats s3://jobs/orders/savepoint-1a2b --ttl sessions=7d
    savepoint stats s3://jobs/orders/savepoint-1a2b --output json
    savepoint stats s3://jobs/orders/savepoint-1a2b --html report.html
    """
    savepoint = opened_for(path, options)
    report = savepoint.stats(table, at=at, ttl=ttl, top=top)
    if html_file is None:
        tables = statistics_tables(report, with_key_groups=with_key_groups)
        output.page(report, *tables, digest=largest_tables(report))
    else:
        text = page(report, savepoint.describe()).encode()
        with whole_file(html_file, is_overwritten=True) as file:
            file.write(text)
        output.page(WrittenPage(html_file, len(text)))
    if report.problems:
        click.get_current_context().exit(1)


class _KeyCommand(Command):
    """A command with an argument that may be a negative number, which is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(map(_NEGATIVE.fullmatch, args))
        return super().parse_args(ctx, args)


@click.command(cls=_KeyCommand)
@inspection
@click.argument("key")
@click.option(
    "--operator",
    metavar="OPERATOR",
    shell_complete=completion.operators,
    help="Look into this operator only, by its uid or hash.",
)
@times_option
@undescribed_subclasses_option
def key(
    output: Output,
    path: str,
    key: str,
    operator: str | None,
    times: Times,
    undescribed_subclasses: UndescribedSubclasses,
    **uids: Any,
) -> None:
    """Show all that KEY has in the savepoint at PATH: states, windows and timers.

    Only its key group is read. A key that is a struct is JSON, one of bytes hexadecimal. Exit
    codes: 0 found, 3 no operator has the key.

    \b
    savepoint key s3://jobs/orders/savepoint-1a2b customer-001
    savepoint key s3://jobs/orders/savepoint-1a2b '{"f0": 7, "f1": "EUR"}' --operator summarize
    """
    key_state = open_savepoint(path, **uids).key(
        key, operator=operator, undescribed_subclasses=undescribed_subclasses
    )
    for key_rows in key_state.tables:
        title = f"{key_rows.operator}.{key_rows.table}"
        place = {"operator": key_rows.operator, "table": key_rows.table}
        output.placed_values(title, place, key_rows.rows.column_names, key_rows.printable(times))
    if not key_state.is_found:
        click.echo(f"no operator has the key {printable(key_state.key)}", err=True)
        click.get_current_context().exit(NOT_FOUND)


@command()
@click.argument("directory", shell_complete=completion.paths)
@allow_path_option
@strict_paths_option
@output_option
def snapshots(
    output: Output, directory: str, allow_paths: tuple[str, ...], *, strict_paths: bool
) -> None:
    """List all checkpoints and savepoints below DIRECTORY, the newest first.

    Each with its id, kind, time, bytes and number of operators, and whether it is complete. Exit
    codes: 0 done, 3 there are none.

    \b
    savepoint snapshots s3://jobs/checkpoints
    """
    snapshots = retained.snapshots(directory, allow_paths=allow_paths, strict_paths=strict_paths)
    output.rows(f"Snapshots below {directory}", snapshots)
    if not snapshots:
        click.get_current_context().exit(NOT_FOUND)


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


@command()
@inspection
@click.argument("table", shell_complete=completion.tables)
@click.option("--key", metavar="KEY", required=True, help="The key, as savepoint key takes it.")
@click.option("--changes", is_flag=True, help="Show only snapshots where the rows have changed.")
@times_option
@undescribed_subclasses_option
def history(
    output: Output,
    path: str,
    table: str,
    key: str,
    times: Times,
    undescribed_subclasses: UndescribedSubclasses,
    *,
    changes: bool,
    **uids: Any,
) -> None:
    """Show what a key has in TABLE in each complete snapshot below the directory PATH.

    The oldest comes first; those without the key have a row of nothing. Exit codes: 0 found, 1 a
    snapshot could not be read, 3 no snapshot has the key.

    \b
    savepoint history s3://jobs/checkpoints summarize.keyed_state --key 42 --changes
    """
    options = {**uids, "uids": (*uids["uids"], *uids["listed_uids"])}
    del options["listed_uids"]
    history = state_processor.history(
        path, table, key, undescribed_subclasses=undescribed_subclasses, **options
    )
    for moment in history.moments:
        if moment.is_changed or not changes:
            place = {
                "snapshot": moment.snapshot.path,
                "id": moment.snapshot.id,
                "time": moment.snapshot.time,
            }
            output.moment(place, moment.printable(times), moment.problem)
    if any(moment.problem for moment in history.moments):
        click.get_current_context().exit(1)
    if not history.is_found:
        click.get_current_context().exit(NOT_FOUND)
