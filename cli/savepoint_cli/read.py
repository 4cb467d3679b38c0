"""Commands that read the rows of a savepoint."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.options import (
    Opening,
    columns_option,
    count_option,
    inspection,
    keys_option,
    merge_option,
    opening_options,
    table_argument,
    times_option,
    undescribed_subclasses_option,
    usage_errors,
)
from savepoint_cli.terminal.help import command
from savepoint_database.rows.rows import first_rows
from savepoint_formats.extras import imported

if TYPE_CHECKING:
    from savepoint_cli.terminal.output import Output
    from savepoint_database.types.timer_dates import Times


@command()
@inspection
@table_argument
@count_option("-n", "--rows", default=20, text="How many rows at most.")
@keys_option
@click.option(
    "--where", metavar="SQL", help="A condition in SQL, e.g. \"total > 100 AND key LIKE 'a%'\"."
)
@columns_option
@merge_option("Of local state: make one value of a state's instances by sum, min, max or concat.")
@click.option("--with-times", is_flag=True, help="Show the last access of values with TTL.")
@times_option
@undescribed_subclasses_option
def show(
    output: Output,
    opening: Opening,
    table: str,
    rows: int,
    where: str | None,
    merge: dict[str, str],
    times: Times,
    **read: Any,
) -> None:
    """Show rows of TABLE of the savepoint at PATH, without Spark.

    \b
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state -n 5
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state --key 42
    """
    savepoint = opening.open()
    with usage_errors():
        scan = savepoint.scan(table, merge=merge or None, **read)
        names = scan.schema.names
    output.values(f"Rows of {table}", names, first_rows(scan, rows, where, times))


@command()
@opening_options
def browse(opening: Opening) -> None:
    """Browse the savepoint at PATH on the terminal: operators, states, keys, what is heavy.

    Needs the extra "browse". Enter opens what the cursor is on, / finds a key, s weighs, q ends.

    \b
    savepoint browse s3://jobs/orders/savepoint-1a2b
    """
    imported("textual")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("browse needs a terminal; show, key and stats print to anything")
    savepoint = opening.open()
    from savepoint_cli.browse.app import SavepointBrowser  # noqa: PLC0415  # of the extra "browse"

    browser = SavepointBrowser(savepoint)
    browser.run()
    click.get_current_context().exit(browser.return_code or 0)
