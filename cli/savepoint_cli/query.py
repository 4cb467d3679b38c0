"""The command that runs SQL by DuckDB or Spark."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion, options
from savepoint_cli.engine import Engine, engine_options
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal import progress
from savepoint_database import files, snapshot
from savepoint_database import rows as table_rows
from savepoint_database import sql as embedded_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output
    from savepoint_database.sql import SqlDatabase, SqlResult
    from state_processor import Savepoint
    from state_processor.savepoint.spark_database import SparkDatabase

    Database = SqlDatabase | SparkDatabase

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl"}
_DIRECTORY = "directory"


def _file(given: str) -> tuple[str, str]:
    if given.endswith("/"):
        return given, _DIRECTORY
    form = _FORMATS.get(PurePosixPath(given).suffix.casefold())
    if form is None:
        raise click.BadParameter(
            f"{given!r}, expected a name that ends in one of {', '.join(_FORMATS)}, or in /"
        )
    return given, form


@options.inspection()
@click.argument("sql", required=False)
@click.option(
    "-o",
    "--out",
    metavar="OUT",
    callback=options.callback(_file),
    shell_complete=completion.paths,
    help="Write all rows to OUT: a .parquet, .csv or .json (lines) file, or with Spark a"
    " directory/.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file at OUT.")
@click.option("--allow-files", is_flag=True, help="Let DuckDB read files of this machine.")
@options.memory_limit
@click.option(
    "--cache",
    metavar="CACHE",
    shell_complete=completion.paths,
    help="Convert the query's tables to Parquet in the directory CACHE once; later queries read"
    " the Parquet.",
)
@options.count_option(
    "rows", "-n", "--limit", "--rows", default=100, text="Maximum number of rows."
)
@options.times
@engine_options("duckdb", "The engine: DuckDB in this process, or Spark.")
@options.nanoseconds
@options.undescribed_subclasses
def query(
    output: Output,
    opening: Opening,
    engine: Engine,
    sql: str | None,
    out: tuple[str, str] | None,
    overwrite: bool,
    rows: int,
    allow_files: bool,
    **settings: Any,
) -> None:
    """Run SQL over the tables of the savepoint at PATH; without SQL, open a prompt.

    SQL can also come from stdin.

    A table is called <operator>.<table>; "savepoint list" shows the names. Replace characters other
    than letters, digits and _ by _, or put the name in double quotes. A query reads only the tables
    and columns that it names, and with key = ... or key IN (...) only the key groups of these keys.

    \b
    savepoint query s3://jobs/orders/savepoint-1a2b "SELECT key, total FROM summarize.keyed_state"
    savepoint query s3://jobs/orders/savepoint-1a2b "FROM summarize.keyed_state" -o totals.parquet
    """
    if not engine.is_spark and out is not None and out[1] == _DIRECTORY:
        raise click.UsageError("-o directory/ needs --engine spark; DuckDB writes one file")
    if engine.is_spark and allow_files:
        raise click.UsageError("--allow-files is for DuckDB; Spark SQL may read any file")
    opened = opening.open()
    if sql is None and not sys.stdin.isatty():
        sql = options.utf8_text(sys.stdin.buffer.read(), "stdin")
    if sql is not None and not sql.strip():
        raise click.UsageError("no SQL: pass it in quotes, or by stdin")
    if sql is not None and engine.is_spark:
        # Before Spark starts.
        embedded_sql.expect_spark_query(sql)
    settings["allow_files"] = allow_files
    if settings["cache"] is not None:
        settings["cache"] = embedded_sql.TableCache(settings["cache"], output.note)
    with _database(opening, opened, engine, settings) as database:
        queries = _Queries(database, engine.engine, out, overwrite, rows)
        if sql is not None:
            queries.answer(output, sql)
            return
        from savepoint_cli.prompt import Prompt  # noqa: PLC0415  # few queries need it

        def answer(shown: Output, text: str) -> None:
            with progress.reading(opening.path):
                try:
                    queries.answer(shown, text)
                except KeyboardInterrupt:
                    if not isinstance(database, embedded_sql.SqlDatabase):
                        database.cancel()
                    raise

        progress.hush()
        Prompt(opened, snapshot.SqlTables(opened.operators()), answer).run()


@dataclass(frozen=True, slots=True)
class _Queries:
    """A database that answers queries, and where their rows go."""

    database: Database
    engine: str
    out: tuple[str, str] | None
    overwrite: bool
    limit: int

    def answer(self, output: Output, sql: str) -> None:
        if self.out is not None:
            self._write(output, sql, *self.out)
            return
        start, limit = perf_counter(), self.limit
        result = self._result(sql, limit + 1)
        names, rows = table_rows.result_rows(result.schema, result.batches)
        count = output.values("", names, islice(rows, limit))
        seconds = perf_counter() - start
        is_more = limit > 0 and next(rows, None) is not None
        more = f"; there are more: -n {limit * 10} shows them" if is_more else ""
        counted = f"{count:,} row{'' if count == 1 else 's'}"
        output.note(f"{counted} by {self.engine} in {seconds:.1f} s{more}")

    def _write(self, output: Output, sql: str, path: str, form: str) -> None:
        if not isinstance(self.database, embedded_sql.SqlDatabase) and form == _DIRECTORY:
            self.database.write(sql, path, is_overwritten=self.overwrite)
            output.note(f"{path}: written by {self.engine}")
            return
        result = self._result(sql).with_distinct_names()
        with usage_errors():
            size = files.write_table_file(
                path,
                files.TableFormat(form),
                result.schema,
                result.batches,
                is_overwritten=self.overwrite,
            )
        output.note(f"{path}: {size:,} bytes, written by {self.engine}")

    def _result(self, sql: str, limit: int | None = None) -> SqlResult:
        """Runs a query; DuckDB needs no limit, as its rows are read when they are taken."""
        if isinstance(self.database, embedded_sql.SqlDatabase):
            return self.database.query(sql)
        return self.database.query(sql, limit)


@contextmanager
def _database(
    opening: Opening, opened: Savepoint, engine: Engine, settings: dict[str, Any]
) -> Iterator[Database]:
    read = {name: settings.pop(name) for name in options.FORMS}
    if engine.is_spark:
        from state_processor.savepoint.spark_database import SparkDatabase  # noqa: PLC0415  # Spark

        savepoint = engine.load(opening, opened)
        shown = {name: settings[name] for name in ("times", "cache")}
        yield SparkDatabase(savepoint, snapshot.ReadOptions(**read), **shown)
        return
    with usage_errors():
        database = embedded_sql.SqlDatabase(opened, snapshot.ReadOptions(**read), **settings)
    with database:
        yield database
