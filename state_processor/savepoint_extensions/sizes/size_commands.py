"""The command that shows sizes of state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import options
from savepoint_cli.engine import Engine, work_options
from savepoint_database import files
from savepoint_database.types import moment
from savepoint_extensions.sizes.statistics_views import largest_tables, page

if TYPE_CHECKING:
    from datetime import datetime

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output


def _moment(text: str) -> datetime | None:
    try:
        return moment(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@options.inspection()
@options.optional_table
@click.option(
    "--at",
    metavar="TIME",
    callback=options.callback(_moment),
    help="The time to use as now, such as 2026-01-31T12:00:00Z; UTC if it has no zone.",
)
@options.ttl_option("savepoint")
@click.option(
    "--ttl-of",
    metavar="DURATION",
    callback=options.callback(options.duration),
    help="Show what a time to live such as 7d would save, in each state or in that of TABLE.",
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

    TABLE may be OPERATOR.STATE, too: then only that state is counted.

    Sizes are the bytes of keys and values; values are not decoded. State that can't be read is
    listed at the end, and the exit code is then 1.

    \b
    savepoint stats s3://jobs/orders/savepoint-1a2b --ttl-of 7d
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
