"""Commands that export tables from savepoints, and import them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion, option_groups, options
from savepoint_cli.engine import started_session
from savepoint_cli.modify import Destination, change_destination
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import command, format_option
from savepoint_cli.terminal.output import output_option
from savepoint_database import files

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output

_FORMATS = ("parquet", "avro", "csv", "jsonl")
_NAMED_FORMATS = "parquet, avro, csv or jsonl"
_DATABASES = ("duckdb", "delta", "iceberg")


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
    with usage_errors():
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
@change_destination
@option_groups.added("import")
def import_table(  # the options of the command
    output: Output,
    data: str,
    destination: Destination,
    description: Path | None,
    form: str | None,
    *,
    keeps_others: bool,
) -> None:
    """Write a savepoint to OUT whose operator has the rows of DATA as its state.

    DATA is a Parquet, Avro, CSV or JSON lines file, or a directory of such files.

    \b
    savepoint import totals.csv s3://jobs/bootstrapped --description totals.yaml
    """
    if description is None:
        raise click.UsageError("Missing option '--description'.")
    described = state_processor.DescribedImport.of(data, description, form)
    destination.write(output, described.writer(started_session(), keeps_others=keeps_others))
