"""Commands that read the rows of a savepoint."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion
from savepoint_cli.options import (
    columns_option,
    inspection,
    merge_option,
    open_savepoint,
    opening,
    row_limit,
    times_option,
    undescribed_subclasses_option,
    usage_errors,
)
from savepoint_cli.terminal.help import command
from savepoint_database.rows.rows import first_rows
from savepoint_formats.extras import imported

if TYPE_CHECKING:
    from savepoint_cli.terminal.output import Output


@command()
@inspection
@click.argument("table", shell_complete=completion.tables)
@row_limit(20)
@click.option(
    "--key", "keys", metavar="KEY", multiple=True, help="Only the row of this key. Repeatable."
)
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
    path: str,
    table: str,
    rows: int,
    keys: tuple[str, ...],
    where: str | None,
    columns: tuple[str, ...],
    merge: dict[str, str],
    **options: Any,
) -> None:
    """Show rows of TABLE of the savepoint at PATH, without Spark.

    \b
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state -n 5
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state --key 42
    """
    asked = {name: options.pop(name) for name in ("undescribed_subclasses", "with_times")}
    times = options.pop("times")
    savepoint = open_savepoint(path, **options)
    with usage_errors():
        scan = savepoint.scan(
            table,
            columns=columns or None,
            keys=keys or None,
            merge=merge or None,
            **asked,
        )
        names = scan.schema.names
    output.values(f"Rows of {table}", names, first_rows(scan, rows, where, times))


@command()
@opening
def browse(path: str, **uids: Any) -> None:
    """Browse the savepoint at PATH on the terminal: operators, states, keys, what is heavy.

    Needs the extra "browse". Enter opens what the cursor is on, / finds a key, s weighs, q ends.

    \b
    savepoint browse s3://jobs/orders/savepoint-1a2b
    """
    imported("textual")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("browse needs a terminal; show, key and stats print to anything")
    savepoint = open_savepoint(path, **uids)
    from savepoint_cli.browse.app import SavepointBrowser  # noqa: PLC0415  # of the extra "browse"

    browser = SavepointBrowser(savepoint)
    browser.run()
    click.get_current_context().exit(browser.return_code or 0)
