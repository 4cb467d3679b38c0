"""Commands that export tables from savepoints, and import them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion, options
from savepoint_cli.command_table import OF_STREAM
from savepoint_cli.engine import started_session
from savepoint_cli.modify import Destination, change_destination
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import command, format_option
from savepoint_cli.terminal.output import output_option
from savepoint_database import files
from savepoint_formats.lazy_names import named

if TYPE_CHECKING:
    from datetime import timedelta

    from savepoint_cli.options import Opening
    from savepoint_cli.terminal.output import Output

_FORMATS = ("parquet", "avro", "csv", "jsonl")
_NAMED_FORMATS = "parquet, avro, csv or jsonl"
_DATABASES = ("duckdb", "delta", "iceberg")


@dataclass(frozen=True, slots=True)
class Stream:
    """The options about a streaming query of Spark."""

    from_spark: bool
    operator: int | None
    uid: str | None
    like: str | None
    aggregate: dict[str, str]
    timeout: str | None
    ttl: dict[str, timedelta]

    def others(self) -> list[str]:
        """The options that are given without ``--from-spark``."""
        return [it.name for it in fields(self) if getattr(self, it.name) not in (None, False, {})]


@options.inspection("export")
@options.table
@click.argument("out", shell_complete=completion.paths)
@format_option(
    "--to",
    "form",
    type=click.Choice(_FORMATS + _DATABASES),
    help="The format of OUT, if its name doesn't end in .parquet, .avro, .csv, .jsonl or .duckdb; or"
    " the database: duckdb, delta or iceberg.",
)
@options.columns
@options.keys
@click.option("--with-key-group", is_flag=True, help="Add the column key_group.")
@click.option("--with-times", is_flag=True, help="Keep the last access of values with TTL.")
@options.nanoseconds
@options.undescribed_subclasses
@click.option(
    "--escape-formulas",
    is_flag=True,
    help="In CSV, put a quote before texts that a spreadsheet would take for formulas.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file or table at OUT.")
def export_table(
    output: Output,
    opening: Opening,
    table: str,
    out: str,
    form: str | None,
    escape_formulas: bool,
    overwrite: bool,
    **read: Any,
) -> None:
    """Write TABLE of the savepoint at PATH to OUT, without Spark.

    OUT is a file, a DuckDB file to add the table to, the directory of a Delta table, or an Iceberg
    table: CATALOG.NAMESPACE.TABLE.

    \b
    savepoint export s3://jobs/savepoint-1a2b summarize.keyed_state totals.parquet
    savepoint export s3://jobs/savepoint-1a2b summarize.keyed_state totals --format delta
    """
    form = form or _format_of(out)
    if escape_formulas and form != "csv":
        raise click.UsageError("--escape-formulas needs --format csv")
    forms = {name: read.pop(name) for name in options.FORMS}
    savepoint = opening.open().with_forms(**forms)
    with options.usage_errors():
        scan = savepoint.scan(table, **read)
    written = {"overwrite": overwrite, "escape_formulas": escape_formulas}
    with progress.steps(f"Writing {out}", len(tuple(scan.splits()))) as on_split:
        output.page(files.export_table(scan, out, form, **written, on_split=on_split))


def _format_of(out: str) -> str:
    form = PurePosixPath(out).suffix.casefold().removeprefix(".")
    if form not in (*_FORMATS, "duckdb"):
        raise click.UsageError(f"the name of {out} doesn't show its format: add --format")
    return form


@command("import")
@output_option
@click.argument("data", shell_complete=completion.paths)
@click.option(
    "--description",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file that maps columns to states; needed unless DATA is a checkpoint.",
)
@format_option(
    "--from",
    "form",
    type=click.Choice(_FORMATS),
    help=f"The format of DATA, if file names don't show it: {_NAMED_FORMATS}.",
)
@click.option(
    "--state",
    "keeps_others",
    is_flag=True,
    help="Replace or add only the described states: the operator of the base keeps its others.",
)
@options.collected(
    "stream",
    Stream,
    click.option(
        "--from-spark", is_flag=True, help="DATA is the checkpoint of a streaming query of Spark."
    ),
    click.option(
        "--operator",
        metavar="OPERATOR",
        type=int,
        help="Of a query: the number of the operator, if it has several.",
    ),
    click.option(
        "--uid", metavar="UID", help="Of a query: the operator of the new job, by uid or hash."
    ),
    click.option(
        "--like",
        metavar="SAVEPOINT",
        help="Of a query: a savepoint of the new job, which may be empty.",
    ),
    click.option(
        "--aggregate",
        multiple=True,
        metavar="STATE=AGGREGATE",
        callback=options.pairs("such as total=sum", divided=str.partition),
        help="Of a query: the state of an aggregate, in the query's order, such as total=sum or"
        " 'seen=collect_list BIGINT'. Repeatable.",
    ),
    click.option(
        "--timeout",
        type=click.Choice(["event_time", "processing_time"]),
        help="Of a query: what its timeouts are; Spark doesn't store it.",
    ),
    click.option(
        "--ttl",
        multiple=True,
        metavar="STATE=DURATION",
        callback=options.pairs("a state and a time, such as sessions=7d", options.duration),
        help="Of a query: a state's time to live, such as sessions=7d; Spark doesn't store it."
        " Repeatable.",
    ),
)
@change_destination
def import_table(  # the options of the command
    output: Output,
    data: str,
    destination: Destination,
    description: Path | None,
    form: str | None,
    stream: Stream,
    *,
    keeps_others: bool,
) -> None:
    """Write a savepoint to OUT whose operator has the rows of DATA as its state.

    DATA is a Parquet, Avro, CSV or JSON lines file, or a directory of such files. With --from-spark it
    is the checkpoint of a streaming query; OUT is then --like with the query's state under --uid.

    \b
    savepoint import totals.csv s3://jobs/bootstrapped --description totals.yaml
    savepoint import --from-spark s3://queries/totals --uid totals --like s3://jobs/empty s3://jobs/begun
    """
    if stream.from_spark:
        if description is not None or form is not None or keeps_others:
            raise click.UsageError("--from-spark goes without --description, --format and --state")
        with options.usage_errors():
            destination.write(output, named(OF_STREAM)(started_session(), data, stream))
        return
    if others := stream.others():
        raise click.UsageError(f"--{others[0]} needs --from-spark")
    if description is None:
        raise click.UsageError("Missing option '--description'.")
    described = state_processor.DescribedImport.of(data, description, form)
    destination.write(output, described.writer(started_session(), keeps_others=keeps_others))
