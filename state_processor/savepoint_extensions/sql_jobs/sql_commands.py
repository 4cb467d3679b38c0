"""Commands about a changed query: which state survives, and a savepoint for the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion, options
from savepoint_cli.checks import DIFFERENT
from savepoint_cli.modify import change_destination
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal import command, output_option, progress
from savepoint_formats.errors import NotAcceptedError

if TYPE_CHECKING:
    from savepoint_cli.modify import Destination
    from savepoint_cli.terminal import Output


@command("sql-diff")
@click.argument("old")
@click.argument("new")
@click.argument("savepoint", required=False)
@options.matches
@options.renames
@options.accept
@output_option
def sql_diff(  # the arguments of the command
    output: Output,
    old: str,
    new: str,
    savepoint: str | None,
    matches: str | None,
    renames: dict[str, str],
    accept: tuple[str, ...],
) -> None:
    """Tell which state of a SQL job survives when its query changes from plan OLD to plan NEW.

    COMPILE PLAN writes the plans. Verdicts: "same" state is restored as it is, "renamed" state has
    another uid, "carried over" state needs another shape, "rebuilt" state needs history, and "lost"
    state has no operator in the new query. With the SAVEPOINT of the old job, the answer has rows
    and bytes, too. Exit codes: 0 all is the same, renamed or carried over, 3 something is rebuilt
    or lost, or begins empty or can't be taken back without --accept.

    \b
    savepoint sql-diff orders-v1.json orders-v2.json s3://jobs/orders/savepoint-1a2b
    """
    changes = state_processor.sql_diff(old, new, savepoint, matches=matches, renames=renames)
    output.rows(f"State of {old} in {new}", changes)
    if any(change.verdict.is_lost or change.unaccepted(accept) for change in changes):
        click.get_current_context().exit(DIFFERENT)


class _UnacceptedError(click.ClickException):
    exit_code = 3


@command("sql-migrate")
@click.argument("old")
@click.argument("new")
@click.argument("savepoint", shell_complete=completion.paths)
@options.matches
@options.renames
@options.accept
@click.option(
    "--allow-loss",
    is_flag=True,
    help="Leave out state that the new query can't use, and start operators that need history empty.",
)
@change_destination
@output_option
def sql_migrate(  # the arguments of the command
    output: Output,
    old: str,
    new: str,
    savepoint: str,
    allow_loss: bool,
    destination: Destination,
    **compared: Any,
) -> None:
    """Copy the SAVEPOINT of plan OLD to OUT, so that the query of plan NEW restores it.

    Operators get the uids of the new plan, rows get its columns, and accumulators move to their new
    places. New columns are null in old rows. State that is rebuilt or lost is refused without
    --allow-loss; see sql-diff. A new aggregate begins empty, and a new column can keep old rows from
    being taken back: --accept each by its name. Without it, nothing is written; the exit code is 3.

    \b
    savepoint sql-migrate orders-v1.json orders-v2.json s3://jobs/orders/savepoint-1a2b s3://jobs/orders/for-v2
    """
    with progress.reading(savepoint), usage_errors():
        opened = state_processor.Savepoint.open(savepoint, plan=old)
        try:
            writer = opened.sql_migrate(new, allow_loss=allow_loss, **compared)
        except NotAcceptedError as error:
            raise _UnacceptedError(str(error)) from error
    destination.write(output, writer)
