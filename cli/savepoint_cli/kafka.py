"""The command for Kafka: where sources continue, and which transactions sinks have open."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import options
from savepoint_cli.modify import optional_destination

if TYPE_CHECKING:
    from savepoint_cli.modify import Destination
    from savepoint_cli.options import Opening
    from savepoint_cli.terminal.output import Output


@options.inspection()
@click.option(
    "--set-offsets",
    "offsets",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file with the columns topic, partition, offset. Needs --out.",
)
@optional_destination
@options.operator_option("With --set-offsets: the only source to change, by uid or hash.")
def kafka(
    output: Output,
    opening: Opening,
    offsets: Path | None,
    operator: str | None,
    destination: Destination,
) -> None:
    """Show the Kafka state of the savepoint at PATH: topics, partitions, offsets, transactions.

    With --set-offsets a savepoint is written whose sources go on elsewhere. An offset is that of
    the next record, or earliest, latest or committed. Partitions that the file does not name stay
    where they are.

    \b
    savepoint kafka s3://jobs/orders/savepoint-1a2b
    savepoint kafka s3://jobs/orders/savepoint-1a2b --set-offsets offsets.csv --out s3://jobs/replay
    """
    is_wanted = destination.is_wanted(has_change=offsets is not None)
    savepoint = opening.open()
    if offsets is None or not is_wanted:
        kafka_state = savepoint.kafka()
        output.page(
            kafka_state,
            ("Offsets", kafka_state.offsets),
            ("Partitions", kafka_state.partitions),
            ("Transactions", kafka_state.transactions),
        )
        return
    rows = _rows(offsets)
    with options.usage_errors():
        writer = savepoint.set_kafka_offsets(rows, operator=operator)
    destination.write(output, writer)


def _rows(file: Path) -> list[dict[str, Any]]:
    lines = io.StringIO(options.utf8_text(file.read_bytes(), str(file)), newline="")
    try:
        return list(csv.DictReader(lines))
    except csv.Error as error:
        raise click.UsageError(f"{file} can't be read as CSV: {error}") from error
