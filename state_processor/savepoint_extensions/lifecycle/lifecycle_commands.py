"""Commands about all snapshots of a job: the history of a key, unneeded files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion, options
from savepoint_cli.audit import NOT_FOUND
from savepoint_cli.terminal import command, output_option
from savepoint_extensions.lifecycle.lifecycle_kinds import age

if TYPE_CHECKING:
    from datetime import timedelta

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from savepoint_database.types import Times


def _age(text: str) -> timedelta:
    try:
        return age(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@command()
@output_option
@click.argument("directory", shell_complete=completion.paths)
@click.option(
    "--delete", "is_deleting", is_flag=True, help="Remove these files; needs --older-than."
)
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=options.callback(_age),
    help="Only files older than this, such as 7d or 12h. Choose longer than any checkpoint takes.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="DIRECTORY",
    shell_complete=completion.paths,
    help="Another directory whose snapshots may need files below DIRECTORY. Repeatable.",
)
def gc(
    output: Output,
    directory: str,
    is_deleting: bool,
    older_than: timedelta | None,
    also: tuple[str, ...],
) -> None:
    """List the files below DIRECTORY that no retained snapshot needs; --delete removes them.

    DIRECTORY is a job's directory, or one above it. A file is needed if a snapshot below DIRECTORY,
    or below a directory of --also, refers to it. These files are never removed: files younger than
    the newest snapshot, files behind a link, and files with names or places that Flink does not
    use. If a snapshot can't be read, nothing is removed. Exit codes: 0 done, 1 refused, 2 the call
    is wrong.

    \b
    savepoint gc s3://jobs/checkpoints
    savepoint gc s3://jobs/checkpoints --delete --older-than 7d
    """
    if is_deleting:
        if older_than is None:
            raise click.UsageError("--delete needs --older-than, such as --older-than 7d")
        garbage = state_processor.Garbage.delete(directory, older_than=older_than, also=also)
    else:
        garbage = state_processor.Garbage.below(directory, older_than=older_than, also=also)
    output.page(garbage, ("Files that no snapshot needs", garbage.files))


@options.inspection()
@options.optional_table
@click.option("--key", metavar="KEY", help="The key, written as for savepoint key.")
@click.option("--sizes", is_flag=True, help="Show which states grow instead, of TABLE or of all.")
@click.option("--changes", is_flag=True, help="Show only snapshots in which the rows changed.")
@options.times
@options.undescribed_subclasses
def history(
    output: Output,
    opening: Opening,
    table: str | None,
    key: str | None,
    times: Times,
    *,
    sizes: bool,
    changes: bool,
    **read: Any,
) -> None:
    """Show what a key has in TABLE in each complete snapshot below the directory PATH.

    The oldest snapshot comes first; one without the key shows no rows. --sizes shows how many bytes
    each state has in the first and in the last snapshot, the one that grows most first. Exit codes:
    0 found, 1 a snapshot could not be read, 3 no snapshot has the key.

    \b
    savepoint history s3://jobs/checkpoints summarize.keyed_state --key 42 --changes
    savepoint history s3://jobs/checkpoints --sizes
    """
    if sizes:
        _show_sizes(output, opening, table)
        return
    if table is None or key is None:
        raise click.UsageError("a history needs TABLE and --key, or --sizes")
    history = state_processor.history(opening.path, table, key, **opening.settings, **read)
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


def _show_sizes(output: Output, opening: Opening, table: str | None) -> None:
    history = state_processor.size_history(opening.path, table, **opening.settings)
    output.page(history, ("Growth of states", history.growth))
    if history.problems:
        click.get_current_context().exit(1)
