"""The command that runs SQL, by DuckDB or by Spark."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import PurePosixPath
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.engine import spark_options, started_session
from savepoint_cli.inspect import (
    inspection,
    nanoseconds_option,
    open_savepoint,
    undescribed_subclasses_option,
)
from savepoint_cli.local import usage_errors
from savepoint_cli.read import row_limit, times_option
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import Savepoint, files, reading
from state_processor import sql as embedded_sql
from state_processor.reading.rows import result_rows
from state_processor.snapshot.sql_tables import SqlTables
from state_processor.sql.sql_text import Dialect, rewritten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from savepoint_cli.output import Output
    from state_processor.sql.sql_database import SqlResult

    Run = Callable[[str, int | None], SqlResult]

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl"}


def _file(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> tuple[str, str] | None:
    if given is None:
        return None
    form = _FORMATS.get(PurePosixPath(given).suffix.casefold())
    if form is None:
        raise click.BadParameter(f"{given!r}, expected a name with one of {', '.join(_FORMATS)}")
    return given, form


@click.command()
@inspection
@click.argument("sql", required=False)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="What runs the query: DuckDB in this process, or Spark.",
)
@spark_options
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    callback=_file,
    help="Write all rows to a .parquet, .csv or .json (lines) file.",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that lies there.")
@row_limit(100)
@times_option
@nanoseconds_option
@undescribed_subclasses_option
def query(output: Output, path: str, sql: str | None, **options: Any) -> None:
    """Run SQL over the tables of the savepoint at PATH; without SQL, open a prompt.

    SQL may come by stdin, too.

    A table is called <uid>.<table>; what is no letter, digit or _ in a name becomes _, or the name
    is in double quotes as it is. "savepoint list" shows the names. Only what the query needs is
    read: its tables, their columns, the key groups of key = ... and key IN (...).

    \b
    savepoint query s3://jobs/orders/savepoint-1a2b "SELECT key, total FROM summarize.keyed_state"
    savepoint query s3://jobs/orders/savepoint-1a2b "FROM summarize.keyed_state" -o totals.parquet
    """
    run_options = {name: options.pop(name) for name in _OF_THE_RUN}
    opened = open_savepoint(path, **options)
    if sql is None and not sys.stdin.isatty():
        sql = sys.stdin.read()
    if sql is not None and not sql.strip():
        raise click.UsageError("no SQL: give it in quotes, or by stdin")
    with _engine(opened, run_options, options) as run:
        if sql is not None:
            _answer(output, run, sql, run_options)
            return
        from savepoint_cli.prompt import Prompt  # noqa: PLC0415  # prompt_toolkit is slow

        tables = SqlTables(opened.operators())
        Prompt(opened, tables, lambda out, text: _answer(out, run, text, run_options)).run()


_OF_THE_RUN = (
    *("engine", "master", "conf", "out", "overwrite", "rows", "times"),
    *("nanoseconds", "undescribed_subclasses"),
)


def _answer(output: Output, run: Run, sql: str, options: Mapping[str, Any]) -> None:
    start, limit = perf_counter(), options["rows"]
    if options["out"] is not None:
        _write(output, run(sql, None), options)
        return
    found = run(sql, limit + 1)
    names, rows = result_rows(found.schema, found.batches, limit + 1)
    output.values("", names, rows[:limit])
    seconds = perf_counter() - start
    more = f"; there are more: -n {limit * 10} shows them" if len(rows) > limit > 0 else ""
    output.note(f"{min(len(rows), limit):,} rows by {options['engine']} in {seconds:.1f} s{more}")


def _write(output: Output, found: SqlResult, options: Mapping[str, Any]) -> None:
    path, form = options["out"]
    with usage_errors():
        size = files.write_table_file(
            path,
            files.TableFormat(form),
            found.schema,
            found.batches,
            is_overwritten=options["overwrite"],
        )
    output.note(f"{path}: {size:,} bytes, written by {options['engine']}")


@contextmanager
def _engine(
    opened: Savepoint, options: Mapping[str, Any], where: Mapping[str, Any]
) -> Iterator[Run]:
    if options["engine"] == "spark":
        yield _spark(opened, options, where)
        return
    asked = {name: options[name] for name in ("nanoseconds", "undescribed_subclasses")}
    with embedded_sql.SqlDatabase(opened, ReadOptions(**asked), times=options["times"]) as database:
        yield lambda sql, _limit: database.query(sql)


def _spark(opened: Savepoint, options: Mapping[str, Any], where: Mapping[str, Any]) -> Run:
    spark = started_session(options)
    names = tuple(operator.uid for operator in opened.operators() if operator.uid)
    paths = {name: where[name] for name in ("allow_paths", "strict_paths", "key_types")}
    savepoint = Savepoint.load(spark, opened.path, uids=names, **paths)
    asked = {name: options[name] for name in ("nanoseconds", "undescribed_subclasses", "times")}
    savepoint.register(**asked)
    tables, unread = SqlTables(savepoint.operators()), savepoint.unread_views()

    def run(sql: str, limit: int | None) -> SqlResult:
        text = rewritten(sql, tables, Dialect.SPARK)
        found = reading.query_table(spark, text, limit, unread)
        return embedded_sql.SqlResult(found.schema, iter(found.to_batches()))

    return run
