"""The command about sources: where they go on, and savepoints whose sources go on elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from savepoint_cli import options
from savepoint_cli.modify import optional_destination

if TYPE_CHECKING:
    from savepoint_cli.modify import Destination
    from savepoint_cli.options import Opening
    from savepoint_cli.terminal.output import Output


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Changes that a command makes, as arguments of ``Savepoint.change_sources``."""

    positions: dict[str, str]
    drop_tables: tuple[str, ...]
    add_tables: tuple[str, ...]
    release_finished: bool
    stream_from: str | None


_changes = options.collected(
    "changes",
    SourceOptions,
    click.option(
        "--set",
        "positions",
        metavar="SPLIT=POSITION",
        multiple=True,
        # A position may have an equals sign, the id of a split has none.
        callback=options.pairs("a split and a position, as orders-3=42", divided=str.partition),
        help="Let the reader of a split go on elsewhere. POSITION is JSON. Repeatable.",
    ),
    click.option(
        "--drop-table",
        "drop_tables",
        metavar="TABLE",
        multiple=True,
        help="Change data capture: forget this table. Repeatable.",
    ),
    click.option(
        "--add-table",
        "add_tables",
        metavar="TABLE",
        multiple=True,
        help="Change data capture: read the changes of this table, without a snapshot. Repeatable.",
    ),
    click.option(
        "--release-finished",
        is_flag=True,
        help="Change data capture: remember one finished split per table instead of all.",
    ),
    click.option(
        "--stream-from",
        metavar="POSITION",
        help="Change data capture: leave the snapshot phase, and read changes from here on.",
    ),
)


@options.inspection()
@_changes
@options.operator_option("With a change: the source to change, by uid or hash.")
@optional_destination
def sources(
    output: Output,
    opening: Opening,
    changes: SourceOptions,
    operator: str | None,
    destination: Destination,
) -> None:
    """Show where the sources in the savepoint at PATH go on: splits, positions, tables.

    Sources of Kafka, files, Kinesis and Pulsar, and change data capture of MySQL, Postgres,
    MongoDB, Oracle and SQL Server; those of others as bytes. A change writes another savepoint.
    All changes need --out.

    \b
    savepoint sources s3://jobs/orders/savepoint-1a2b
    savepoint sources s3://jobs/orders/savepoint-1a2b --out s3://jobs/mended --release-finished
    """
    arguments = asdict(changes)
    is_wanted = destination.is_wanted(has_change=any(arguments.values()))
    savepoint = opening.open()
    if not is_wanted:
        state = savepoint.sources()
        output.page(state, ("Entries", state.entries))
        return
    with options.usage_errors():
        writer = savepoint.change_sources(**arguments, operator=operator)
    destination.write(output, writer)
