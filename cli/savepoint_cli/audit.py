"""Commands for those who look after a job: what its state weighs, what a key has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.inspect import inspection, open_savepoint
from state_processor.types.flink_units import milliseconds

if TYPE_CHECKING:
    from savepoint_cli.output import Output


def _moment(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}, expected such as 2026-01-31T12:00:00Z") from error
    return found.replace(tzinfo=found.tzinfo or UTC)


def _lives(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, timedelta]:
    found: dict[str, timedelta] = {}
    for one in given:
        state, equals, text = one.rpartition("=")
        if not (state and equals):
            raise click.BadParameter(f"{one!r}, expected a state and a time, as sessions=7d")
        try:
            found[state] = timedelta(milliseconds=milliseconds(text))
        except (ValueError, OverflowError) as error:
            raise click.BadParameter(str(error)) from error
    return found


at_option = click.option(
    "--at",
    metavar="TIME",
    callback=_moment,
    help="The time that counts as now, as 2026-01-31T12:00:00Z. UTC if it has no zone.",
)


@click.command()
@inspection
@click.argument("table", required=False)
@at_option
@click.option(
    "--ttl",
    "ttl",
    multiple=True,
    metavar="STATE=TIME",
    callback=_lives,
    help="How long values of a state live, as sessions=7d; no savepoint knows it. Repeatable.",
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many of the largest keys of each operator to show.",
)
@click.option("--key-groups", "with_key_groups", is_flag=True, help="Show each key group, too.")
def stats(
    output: Output,
    path: str,
    table: str | None,
    at: datetime | None,
    ttl: dict[str, timedelta],
    top: int,
    *,
    with_key_groups: bool,
    **uids: Any,
) -> None:
    """Show what the state at PATH, or that of TABLE, weighs: keys, bytes, timers, skew.

    Bytes are those of keys and values; values are not decoded. What could not be read is told at
    the end, and makes for exit code 1.

    \b
    savepoint stats s3://jobs/orders/savepoint-1a2b --ttl sessions=7d
    savepoint stats s3://jobs/orders/savepoint-1a2b --output json
    """
    # Numba is slow to import, and most commands have no need of it.
    from state_processor.audit.statistics_views import statistics_tables  # noqa: PLC0415

    report = open_savepoint(path, **uids).stats(table, at=at, ttl=ttl, top=top)
    output.page(report, *statistics_tables(report, with_key_groups=with_key_groups))
    if report.problems:
        click.get_current_context().exit(1)
