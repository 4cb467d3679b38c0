"""The command that compares two queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import state_processor
from savepoint_cli.checks import DIFFERENT
from savepoint_cli.terminal.help import command
from savepoint_cli.terminal.output import output_option
from savepoint_formats.plans.plan_diff import PlanVerdict

if TYPE_CHECKING:
    from savepoint_cli.terminal.output import Output

_LOST = (PlanVerdict.REBUILT, PlanVerdict.LOST)


@command("sql-diff")
@click.argument("old")
@click.argument("new")
@click.argument("savepoint", required=False)
@click.option(
    "--matches",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Pairs of numbers of operators, old: new, as YAML, where operators were matched wrongly.",
)
@output_option
def sql_diff(
    output: Output, old: str, new: str, savepoint: str | None, matches: str | None
) -> None:
    """Tell what becomes of the state of a SQL job when its query changes from plan OLD to plan NEW.

    Plans are what COMPILE PLAN writes. Verdicts: "same" is restored as it is, "renamed" has
    another uid, "carried over" needs another shape, "rebuilt" needs history, "lost" has no operator
    in the new query. With the SAVEPOINT of the old job, rows and bytes are shown, too. Exit codes:
    0 all is the same, renamed or carried over, 3 something is rebuilt or lost.

    \b
    savepoint sql-diff orders-v1.json orders-v2.json s3://jobs/orders/savepoint-1a2b
    """
    changes = state_processor.sql_diff(old, new, savepoint, matches=matches)
    output.rows(f"State of {old} in {new}", changes)
    if any(change.verdict in _LOST for change in changes):
        click.get_current_context().exit(DIFFERENT)
