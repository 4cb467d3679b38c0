"""Commands about connectors: positions of sources, and open or uncommitted work of sinks.

Each command shows this state, or writes a savepoint in which it is changed.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import options
from savepoint_cli.modify import optional_destination, writes
from savepoint_cli.opening import usage_errors
from savepoint_extensions.connectors.connector_changes import (
    offset_rows,
    transplanted,
    version_and_operator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_cli.modify import Destination
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from savepoint_extensions.connectors.kafka_state import KafkaOffset
    from state_processor import SavepointWriter


_OF_RENEWAL = ("without_topics", "allow_empty", "stream_arns", "directory")


@options.inspection()
@click.option(
    "--set-offsets",
    "offsets",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file with the columns topic, partition, offset. Needs OUT.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["spark"]),
    metavar="FORMAT",
    help="Print the offsets of a source as text to copy: spark (its option startingOffsets).",
)
@optional_destination
@options.operator_option("The only source to change or print, by uid or hash.")
def kafka(  # the options of the command
    output: Output,
    opening: Opening,
    offsets: Path | None,
    form: str | None,
    operator: str | None,
    destination: Destination,
) -> None:
    """Show the Kafka state of the savepoint at PATH: topics, partitions, offsets, transactions.

    --set-offsets writes a savepoint whose sources continue at other offsets. An offset is that of
    the next record, or earliest, latest or committed. Partitions that the file does not name keep
    their offsets.

    \b
    savepoint kafka s3://jobs/orders/savepoint-1a2b
    savepoint kafka s3://jobs/orders/savepoint-1a2b --format spark --operator orders
    savepoint kafka s3://jobs/orders/savepoint-1a2b s3://jobs/replay --set-offsets offsets.csv
    """
    is_wanted = destination.is_wanted(has_change=offsets is not None)
    savepoint = opening.open()
    if form is not None:
        if is_wanted:
            raise click.UsageError("--format goes with no change")
        name = operator and savepoint.operator(operator).name
        with usage_errors():
            text = savepoint.kafka().starting_offsets_json(name)
        output.text({"path": opening.path, "form": form}, text)
        return
    if offsets is None or not is_wanted:
        kafka_state = savepoint.kafka()
        output.page(
            kafka_state,
            ("Offsets", kafka_state.offsets),
            ("Partitions", kafka_state.partitions),
            ("Transactions", kafka_state.transactions),
        )
        return
    with usage_errors():
        rows = offset_rows(offsets)
        writer = savepoint.set_kafka_offsets(rows, operator=operator)
    moves = None
    if destination.dry_run:
        name = operator and savepoint.operator(operator).name
        moves = {"offsets": _moves(savepoint.kafka().offsets, rows, name)}
    destination.write(output, writer, moves)


def _moves(
    offsets: Sequence[KafkaOffset], rows: list[dict[str, Any]], operator: str | None
) -> list[dict[str, Any]]:
    """Where each partition of the file is read now, and where it will be."""
    new = {(row["topic"], int(row["partition"])): row["offset"] for row in rows}
    return [
        {
            "operator": known.operator,
            "topic": known.topic,
            "partition": known.partition,
            "from": known.start if known.offset is None else known.offset,
            "to": new[known.topic, known.partition],
        }
        for known in offsets
        if (known.topic, known.partition) in new and operator in (None, known.operator)
    ]


@options.inspection()
@click.option(
    "--drop",
    metavar="CONDITION",
    help="Drop entries that match this condition, or all. Needs OUT.",
)
@click.option("--keep", metavar="CONDITION", help="Drop all other entries. Needs OUT.")
@click.option(
    "--renumber",
    "checkpoint",
    metavar="ID",
    type=click.IntRange(min=0),
    help="Set the checkpoint id of the newest pending commit. Needs OUT.",
)
@click.option(
    "--transactional-prefix",
    metavar="PREFIX",
    help="Set the prefix of Kafka writers' transactional ids. Needs OUT.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Save dropped entries to FILE, one JSON line each.",
)
@optional_destination
def sinks(
    output: Output, opening: Opening, save: Path | None, destination: Destination, **changes: Any
) -> None:
    """Show the state of the sinks in the savepoint at PATH: pending commits and writers' states.

    A restored job repeats pending commits. A commit that can no longer succeed keeps the job from
    starting. --drop writes a savepoint without it; its data is lost unless you commit it by hand.
    CONDITION is SQL over the shown columns, such as "checkpoint < 17" or "transaction = 'results-0-4'".

    \b
    savepoint sinks s3://jobs/orders/savepoint-1a2b
    savepoint sinks s3://jobs/orders/savepoint-1a2b s3://jobs/mended --drop "kind = 'commit'"
    """
    has_change = any(change is not None for change in changes.values())
    is_wanted = destination.is_wanted(has_change=has_change)
    drop, keep = changes["drop"], changes["keep"]
    if save is not None and drop is keep is None:
        raise click.UsageError("--save needs --drop or --keep")
    savepoint = opening.open()
    state = savepoint.sinks()
    if not is_wanted:
        output.page(state, ("Entries", state.entries))
        return
    with usage_errors():
        dropped = state.dropped(drop, keep)
        writer = savepoint.change_sinks(**changes)
    for entry in dropped:
        click.echo(
            f"drop {entry.kind} {entry.number} of {entry.operator}: {entry.content}", err=True
        )
    if drop is not None or keep is not None:
        click.echo(f"drop {len(dropped)} of {len(state.entries)} entries", err=True)
    if save is not None and not destination.dry_run:
        save.write_text("".join(f"{json.dumps(asdict(entry))}\n" for entry in dropped), "utf-8")
        click.echo(f"saved {len(dropped)} entries in {save}", err=True)
    destination.write(output, writer)


def _forgets(option: str, name: str, metavar: str, text: str) -> Callable[..., Any]:
    return click.option(option, name, metavar=metavar, multiple=True, help=text)


@options.inspection()
@click.option(
    "--set",
    "positions",
    metavar="SPLIT=POSITION",
    multiple=True,
    # A position may contain an equals sign; the id of a split can't.
    callback=options.pairs("a split and a position, such as orders-3=42", divided=str.partition),
    help="Continue reading a split at POSITION, which is JSON; also with --to-new. Repeatable.",
)
@click.option(
    "--drop-table",
    "drop_tables",
    metavar="TABLE",
    multiple=True,
    help="Change data capture: forget this table. Repeatable.",
)
@click.option(
    "--add-table",
    "add_tables",
    metavar="TABLE",
    multiple=True,
    help="Change data capture: read the changes of this table, without a snapshot. Repeatable.",
)
@click.option(
    "--release-finished",
    is_flag=True,
    help="Change data capture: remember one finished split per table instead of all.",
)
@click.option(
    "--stream-from",
    metavar="POSITION",
    help="Change data capture: leave the snapshot phase, and read changes from POSITION on.",
)
@_forgets("--drop-topic", "drop_topics", "TOPIC", "Kafka: forget this topic. Repeatable.")
@_forgets("--drop-partition", "drop_partitions", "PARTITION", "Kafka: forget orders-3. Repeatable.")
@_forgets("--drop-file", "drop_files", "FILE", "Files: forget this path, as shown. Repeatable.")
@_forgets("--reset", "reset", "OPERATOR", "Let this source start as in a new job. Repeatable.")
@click.option(
    "--to-new",
    metavar="OPERATOR",
    help="Write state of FlinkKafkaConsumer, FlinkKafkaProducer, FlinkKinesisConsumer or the reader of files for"
    " the new KafkaSource, KafkaSink, KinesisStreamsSource or FileSource.",
)
@click.option(
    "--stream-arn",
    "stream_arns",
    metavar="ARN",
    multiple=True,
    help="With --to-new: the ARN of a stream of Kinesis. Repeatable.",
)
@click.option(
    "--directory",
    metavar="URI",
    default="",
    help="With --to-new: the directory that an old source of files watches, which is listed.",
)
@click.option(
    "--as-version",
    nargs=2,
    type=(str, str),
    metavar="VERSION OPERATOR",
    help="Write the state of a coordinator of Kafka, or of change data capture with its splits, in VERSION, for"
    " another release of the connector.",
)
@options.without_topics
@options.allow_empty
@options.operator_option("With a change: the source to change, by uid or hash.")
@optional_destination
def sources(
    output: Output,
    opening: Opening,
    operator: str | None,
    destination: Destination,
    to_new: str | None,
    as_version: tuple[str, str] | None,
    **changes: Any,
) -> None:
    """Show where the sources in the savepoint at PATH continue: splits, positions, tables.

    The command knows sources of Kafka, files, Kinesis and Pulsar, and change data capture of MySQL,
    Postgres, MongoDB, Oracle and SQL Server. It shows other sources as bytes. Options that change
    something write another savepoint, to OUT.

    \b
    savepoint sources s3://jobs/orders/savepoint-1a2b
    savepoint sources s3://jobs/orders/savepoint-1a2b s3://jobs/mended  --release-finished
    """
    renewal = {name: changes.pop(name) for name in _OF_RENEWAL}
    if operator is not None and (as_version is not None or to_new is not None):
        raise click.UsageError("--as-version and --to-new name their operator themselves")
    if as_version is not None:
        with usage_errors():
            changes["as_version"], operator = version_and_operator(as_version)
    is_wanted = destination.is_wanted(has_change=any([*changes.values(), to_new]))
    if to_new is None and any(renewal.values()):
        raise click.UsageError(
            "--without-topic, --allow-empty, --stream-arn and --directory need --to-new"
        )
    if to_new is not None and any(changes[name] for name in changes.keys() - {"positions"}):
        raise click.UsageError("--to-new goes with --set alone: write one change after the other")
    savepoint = opening.open()
    if to_new is not None:
        with usage_errors():
            renewed = savepoint.renew_connectors(to_new, positions=changes["positions"], **renewal)
        destination.write(output, renewed)
        return
    if not is_wanted:
        state = savepoint.sources()
        output.page(state, ("Entries", state.entries))
        return
    with usage_errors():
        writer = savepoint.change_sources(**changes, operator=operator)
    destination.write(output, writer)


@options.inspection()
@click.argument("other")
@options.operator_option("The operator of OTHER, by uid or hash.", required=True)
@click.option("--new-uid", metavar="UID", help="Its uid in OUT; by default the one that it has.")
@writes
def transplant(
    writer: SavepointWriter, other: str, operator: str, new_uid: str | None
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with an operator of the savepoint OTHER.

    The operator is taken as a whole, with the state of its coordinator, and replaces one of the same
    uid. This is the way to a source or sink of a connector that no command knows: start the new job
    once, take a savepoint of it, and take its source.

    \b
    savepoint transplant s3://jobs/flink-2 s3://jobs/new-job s3://jobs/both --operator orders
    """
    return transplanted(writer, other, operator, new_uid)
