"""The command that runs SQL, by DuckDB or by Spark."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import islice
from pathlib import PurePosixPath
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion
from savepoint_cli.engine import spark_options, started_session
from savepoint_cli.options import (
    inspection,
    nanoseconds_option,
    open_savepoint,
    row_limit,
    times_option,
    undescribed_subclasses_option,
    usage_errors,
    utf8_text,
)
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import command
from savepoint_database import files
from savepoint_database import sql as embedded_sql
from savepoint_database.rows.rows import result_rows
from savepoint_database.snapshot.sql_tables import SqlTables
from savepoint_database.sql.sql_text import expect_spark_query
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_cli.terminal.output import Output
    from savepoint_database.sql import SqlDatabase, SqlResult
    from savepoint_spark.savepoint.spark_database import SparkDatabase

    Engine = SqlDatabase | SparkDatabase

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl"}
_DIRECTORY = "directory"


def _file(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> tuple[str, str] | None:
    if given is None:
        return None
    if given.endswith("/"):
        return given, _DIRECTORY
    form = _FORMATS.get(PurePosixPath(given).suffix.casefold())
    if form is None:
        raise click.BadParameter(
            f"{given!r}, expected a name with one of {', '.join(_FORMATS)}, or one with / at its end"
        )
    return given, form


@command()
@inspection
@click.argument("sql", required=False)
@click.option(
    "-o",
    "--out",
    metavar="OUT",
    callback=_file,
    shell_complete=completion.paths,
    help="Write all rows to OUT, a .parquet, .csv or .json (lines) file; Spark also to a directory/.",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that lies at OUT.")
@click.option("--allow-files", is_flag=True, help="Of DuckDB: let SQL read files of this machine.")
@click.option(
    "--memory-limit",
    default="50%",
    show_default=True,
    metavar="SIZE",
    help="Of DuckDB: how much memory it may take, as 4GB or a part of the machine's.",
)
@row_limit(100)
@times_option
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="What runs the query: DuckDB in this process, or Spark.",
)
@spark_options
@nanoseconds_option
@undescribed_subclasses_option
def query(output: Output, path: str, sql: str | None, **options: Any) -> None:
    """Run SQL over the tables of the savepoint at PATH; without SQL, open a prompt.

    SQL may come by stdin, too.

    A table is called <operator>.<table>; what is no letter, digit or _ in a name becomes _, or the name
    is in double quotes as it is. "savepoint list" shows the names. Only what the query needs is
    read: its tables, their columns, the key groups of key = ... and key IN (...).

    \b
    savepoint query s3://jobs/orders/savepoint-1a2b "SELECT key, total FROM summarize.keyed_state"
    savepoint query s3://jobs/orders/savepoint-1a2b "FROM summarize.keyed_state" -o totals.parquet
    """
    run_options = {name: options.pop(name) for name in _OF_THE_RUN}
    if run_options["engine"] != "spark" and (run_options["out"] or (None,))[-1] == _DIRECTORY:
        raise click.UsageError("-o directory/ is written by --engine spark; DuckDB writes one file")
    if run_options["engine"] == "spark" and run_options["allow_files"]:
        raise click.UsageError("--allow-files is for DuckDB; SQL of Spark may read any file")
    opened = open_savepoint(path, **options)
    if sql is None and not sys.stdin.isatty():
        sql = utf8_text(sys.stdin.buffer.read(), "stdin")
    if sql is not None and not sql.strip():
        raise click.UsageError("no SQL: give it in quotes, or by stdin")
    if sql is not None and run_options["engine"] == "spark":
        # Before Spark starts.
        expect_spark_query(sql)
    with _engine(opened, run_options, options) as engine:
        if sql is not None:
            _answer(output, engine, sql, run_options)
            return
        from savepoint_cli.prompt import Prompt  # noqa: PLC0415  # prompt_toolkit is slow

        def answer(shown: Output, text: str) -> None:
            with progress.reading(path):
                try:
                    _answer(shown, engine, text, run_options)
                except KeyboardInterrupt:
                    if not isinstance(engine, embedded_sql.SqlDatabase):
                        engine.cancel()
                    raise

        progress.hush()
        Prompt(opened, SqlTables(opened.operators()), answer).run()


_OF_THE_RUN = (
    *("engine", "master", "conf", "out", "overwrite", "rows", "times"),
    *("nanoseconds", "undescribed_subclasses", "allow_files", "memory_limit"),
)


def _answer(output: Output, engine: Engine, sql: str, options: Mapping[str, Any]) -> None:
    start, limit = perf_counter(), options["rows"]
    if options["out"] is not None:
        _write(output, engine, sql, options)
        return
    result = _result(engine, sql, limit + 1)
    names, rows = result_rows(result.schema, result.batches)
    count = output.values("", names, islice(rows, limit))
    seconds = perf_counter() - start
    is_more = limit > 0 and next(rows, None) is not None
    more = f"; there are more: -n {limit * 10} shows them" if is_more else ""
    counted = f"{count:,} row{'' if count == 1 else 's'}"
    output.note(f"{counted} by {options['engine']} in {seconds:.1f} s{more}")


def _write(output: Output, engine: Engine, sql: str, options: Mapping[str, Any]) -> None:
    path, form = options["out"]
    if not isinstance(engine, embedded_sql.SqlDatabase) and form == _DIRECTORY:
        engine.write(sql, path, is_overwritten=options["overwrite"])
        output.note(f"{path}: written by {options['engine']}")
        return
    result = _result(engine, sql).with_distinct_names()
    with usage_errors():
        size = files.write_table_file(
            path,
            files.TableFormat(form),
            result.schema,
            result.batches,
            is_overwritten=options["overwrite"],
        )
    output.note(f"{path}: {size:,} bytes, written by {options['engine']}")


def _result(engine: Engine, sql: str, limit: int | None = None) -> SqlResult:
    """What a query gives; DuckDB needs no limit, as its rows are read when they are taken."""
    if isinstance(engine, embedded_sql.SqlDatabase):
        return engine.query(sql)
    return engine.query(sql, limit)


@contextmanager
def _engine(
    opened: Savepoint, options: Mapping[str, Any], where: Mapping[str, Any]
) -> Iterator[Engine]:
    if options["engine"] == "spark":
        yield _spark(opened, options, where)
        return
    asked = {name: options[name] for name in ("nanoseconds", "undescribed_subclasses")}
    given = {name: options[name] for name in ("times", "allow_files", "memory_limit")}
    with usage_errors():
        database = embedded_sql.SqlDatabase(opened, ReadOptions(**asked), **given)
    with database:
        yield database


def _spark(
    opened: Savepoint, options: Mapping[str, Any], where: Mapping[str, Any]
) -> SparkDatabase:
    from savepoint_spark.savepoint.spark_database import SparkDatabase  # noqa: PLC0415  # Spark

    spark = started_session(options["master"], options["conf"])
    names = tuple(operator.uid for operator in opened.operators() if operator.uid)
    paths = {
        name: where[name] for name in ("allow_paths", "strict_paths", "key_types", "kryo_classes")
    }
    savepoint = Savepoint.load(spark, opened.path, uids=names, **paths)
    asked = {name: options[name] for name in ("nanoseconds", "undescribed_subclasses")}
    return SparkDatabase(savepoint, ReadOptions(**asked), times=options["times"])
