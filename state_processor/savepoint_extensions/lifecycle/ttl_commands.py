"""Commands that change how long state lives: ``set-ttl``, ``expire`` and ``dedupe-list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from savepoint_cli import completion, options
from savepoint_cli.modify import change_destination, errors_of_spark, writes
from savepoint_cli.opening import usage_errors
from savepoint_database.types import moment
from savepoint_extensions.lifecycle.lifecycle_kinds import age

if TYPE_CHECKING:
    from savepoint_cli.modify import Destination
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from state_processor import SavepointWriter


@options.inspection("set-ttl")
@options.operator
@options.state
@click.argument("ttl", type=click.Choice(["on", "off"]))
@click.option(
    "--at",
    metavar="TIME",
    help="With on: the last access of all values, such as 2026-01-31T12:00:00Z; now by default.",
)
@writes
def set_ttl(
    writer: SavepointWriter, operator: str, state: str, ttl: str, at: str | None
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, for a job that gives a STATE a time to live, or no longer.

    A savepoint has no time to live, only the time of last access of each value; how long values live
    is in the job. With on, all values get one time of access; with off, they lose theirs. Before 2.2,
    Flink refuses a state without times where its job has a time to live, and the other way round.

    \b
    savepoint set-ttl s3://jobs/savepoint-1a2b sessions last_seen on s3://jobs/with-ttl
    """
    return writer.set_ttl(operator, state, on=ttl == "on", at=moment(at))


@options.inspection("expire")
@options.operator
@click.option(
    "--state",
    metavar="STATE",
    shell_complete=completion.states,
    help="A state with a time to live; all of the operator by default.",
)
@click.option(
    "--older-than",
    metavar="DURATION",
    required=True,
    help="The time to live: values that were last accessed this long ago go, such as 7d.",
)
@click.option(
    "--at",
    metavar="TIME",
    help="The time that counts as now, such as 2026-01-31T12:00:00Z; UTC if it has no zone.",
)
@writes
def expire(
    writer: SavepointWriter, operator: str, state: str | None, older_than: str, at: str | None
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, without values of the OPERATOR past a time to live.

    Flink drops expired values late, or never: in a savepoint they take room and time. List elements
    and map entries have times of their own. Keys that have nothing left are gone; timers stay, as they
    do with Flink's time to live. "savepoint stats PATH --ttl-of 7d" shows what would go.

    \b
    savepoint expire s3://jobs/savepoint-1a2b sessions s3://jobs/smaller --older-than 7d
    """
    return writer.expire(operator, state, older_than=age(older_than), at=moment(at))


@options.inspection("dedupe-list")
@options.operator
@options.state
@change_destination
def dedupe_list(
    output: Output, opening: Opening, destination: Destination, operator: str, state: str
) -> None:
    """Copy the savepoint at PATH to OUT, with each element of a list of the OPERATOR once.

    STATE is a list or union list of the operator, not of its keys. A union list doubles with every
    restart if the job adds to it with every snapshot, and never clears it after a restore. Elements
    are equal if their bytes are. --dry-run says how many there are, and how many differ.

    \b
    savepoint dedupe-list s3://jobs/savepoint-1a2b sink commits s3://jobs/mended
    """
    writer = opening.open().writer()
    with errors_of_spark():
        with usage_errors():
            changed = writer.dedupe_list(operator, state)
        counts = []
        if destination.dry_run:
            from savepoint_extensions.lifecycle.distinct_elements import element_counts  # noqa: PLC0415  # Spark is slow

            before = writer.operator(operator).change
            assert before is not None  # an operator of the savepoint
            counts.append(element_counts(before, state)._asdict())
        destination.write(output, changed, {"elements": counts} if counts else None)
