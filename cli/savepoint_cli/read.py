"""Commands that read the rows of a savepoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from savepoint_cli.inspect import inspection, open_savepoint
from state_processor import Savepoint, local_session
from state_processor.rows import first_rows
from state_processor.schema import to_printable

if TYPE_CHECKING:
    from savepoint_cli.output import Output


@click.command()
@inspection
@click.argument("table")
@click.option("-n", "--rows", default=20, show_default=True, help="How many rows at most.")
@click.option("--key", "keys", multiple=True, help="Only the row of this key. Repeatable.")
@click.option("--where", help="A condition in SQL, e.g. \"total > 100 AND key LIKE 'a%'\".")
@click.option("--column", "columns", multiple=True, help="Only this column. Repeatable.")
def show(
    output: Output,
    path: str,
    table: str,
    rows: int,
    keys: tuple[str, ...],
    where: str | None,
    columns: tuple[str, ...],
    **uids: Any,
) -> None:
    """Show rows of TABLE of the savepoint at PATH, without Spark.

    \b
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state -n 5
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state --key 42
    """
    savepoint = open_savepoint(path, **uids)
    scan = savepoint.scan(table, columns=columns or None)
    if keys:
        wanted = tuple(_key(key, savepoint.scan(table).schema.field("key").type) for key in keys)
        scan = savepoint.scan(table, columns=columns or None, keys=wanted)
    output.values(f"Rows of {table}", scan.schema.names, first_rows(scan, rows, where))


def _key(text: str, key_type: pa.DataType) -> Any:
    """A key as a user writes it: a text as it is, all else as JSON."""
    if pa.types.is_string(key_type):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no {key_type} in JSON", param_hint="--key") from error


@click.command()
@inspection
@click.argument("sql")
@click.option("-n", "--rows", default=100, show_default=True, help="How many rows at most.")
def query(output: Output, path: str, sql: str, rows: int, **uids: Any) -> None:
    """Run Spark SQL over all tables of the savepoint at PATH.

    A table is called <uid>.<table>; what is no letter, digit or _ in a name becomes _.

    \b
    savepoint query s3://jobs/orders/savepoint-1a2b "SELECT key, total FROM summarize.keyed_state"
    """
    opened = open_savepoint(path, **uids)
    spark = local_session()
    names = tuple(operator.uid for operator in opened.operators() if operator.uid)
    Savepoint.load(spark, path, uids=names).register()
    found = spark.sql(sql).limit(rows).toArrow()
    records = [row for batch in found.to_batches() for row in to_printable(batch).to_pylist()]
    output.values("", found.schema.names, records)
