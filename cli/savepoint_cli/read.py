"""Commands that read the rows of a savepoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.inspect import (
    inspection,
    nanoseconds_option,
    open_savepoint,
    undescribed_subclasses_option,
)
from savepoint_cli.local import merge_option, usage_errors
from state_processor import Savepoint, local_session
from state_processor.reading.rows import first_rows, query_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_cli.output import Output
    from savepoint_formats.scan.read_options import UndescribedSubclasses
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds


def row_limit(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option that says how many rows are wanted."""
    return click.option(
        "-n",
        "--rows",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        help="How many rows at most.",
    )


@click.command()
@inspection
@click.argument("table")
@row_limit(20)
@click.option("--key", "keys", multiple=True, help="Only the row of this key. Repeatable.")
@click.option("--where", help="A condition in SQL, e.g. \"total > 100 AND key LIKE 'a%'\".")
@click.option("--column", "columns", multiple=True, help="Only this column. Repeatable.")
@merge_option("Of local state: make one value of a state's instances by sum, min, max or concat.")
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
    undescribed_subclasses = options.pop("undescribed_subclasses")
    savepoint = open_savepoint(path, **options)
    with usage_errors():
        scan = savepoint.scan(
            table,
            columns=columns or None,
            keys=keys or None,
            merge=merge or None,
            undescribed_subclasses=undescribed_subclasses,
        )
        names = scan.schema.names
    output.values(f"Rows of {table}", names, first_rows(scan, rows, where))


@click.command()
@inspection
@click.argument("sql")
@row_limit(100)
@nanoseconds_option
@undescribed_subclasses_option
def query(
    output: Output,
    path: str,
    sql: str,
    rows: int,
    nanoseconds: Nanoseconds,
    undescribed_subclasses: UndescribedSubclasses,
    **uids: Any,
) -> None:
    """Run Spark SQL over all tables of the savepoint at PATH.

    A table is called <uid>.<table>; what is no letter, digit or _ in a name becomes _.

    \b
    savepoint query s3://jobs/orders/savepoint-1a2b "SELECT key, total FROM summarize.keyed_state"
    """
    opened = open_savepoint(path, **uids)
    spark = local_session()
    names = tuple(operator.uid for operator in opened.operators() if operator.uid)
    paths = {name: uids[name] for name in ("allow_paths", "strict_paths", "key_types")}
    savepoint = Savepoint.load(spark, path, uids=names, **paths)
    savepoint.register(nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses)
    output.values("", *query_rows(spark, sql, rows, savepoint.unread_views()))
