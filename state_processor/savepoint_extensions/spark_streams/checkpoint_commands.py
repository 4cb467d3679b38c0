"""Answers of ``describe``, ``list``, ``show``, ``query`` and ``stats`` about a checkpoint of Spark.

The commands are those of savepoints. They come here if their path has a streaming query's checkpoint.
Its tables are called ``operator_0``, ``operator_1``…
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli.engine import started_session
from savepoint_cli.terminal import Output
from savepoint_database import rows as table_rows
from savepoint_database import sql as embedded_sql
from savepoint_extensions.spark_streams.checkpoint import SparkCheckpoint
from savepoint_extensions.spark_streams.import_words import ImportWords
from savepoint_extensions.spark_streams.operator_tables import state_errors
from savepoint_extensions.spark_streams.stored_fields import sql_errors
from savepoint_extensions.spark_streams.stream_options import parameters_of_user
from savepoint_formats.errors import QueryError, TableNotFoundError
from savepoint_formats.savepoint_warnings import LostStateWarning
from savepoint_spark.session import collected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from savepoint_extensions.spark_streams.stream_options import Stream

    Answer = Callable[[SparkCheckpoint, Output, Mapping[str, Any]], None]

_PREFIX = "operator_"


def answer(context: click.Context, path: str) -> None:
    """Answers the command about a checkpoint of Spark and ends it.

    Raises:
        click.UsageError: The command, or an option of it, is not for such a checkpoint.
    """
    output = context.params.get("output")
    if not isinstance(output, Output):
        return
    name = context.info_name or ""
    if name not in _ANSWERS:
        raise click.UsageError(f"{path} is a checkpoint of Spark: {', '.join(_ANSWERS)} read it")
    answers, parameters = _ANSWERS[name]
    for parameter in parameters_of_user(context):
        if parameter.name not in (*_COMMON, *parameters):
            raise click.UsageError(
                f"{parameter.opts[0]} is not for a checkpoint of Spark, which {path} is"
            )
    answers(SparkCheckpoint.load(started_session(), path), output, context.params)
    context.exit()


def write_imported(command: Mapping[str, Any], words: Stream, uid: str, like: str) -> None:
    """Writes the savepoint of ``import --from-spark``; see ``stream_options``.

    Raises:
        SavepointError: As ``SparkCheckpoint.state_like``.
    """
    spark = started_session()
    checkpoint = SparkCheckpoint.load(spark, command["data"])
    new_job = state_processor.Savepoint.load(spark, like, uids=[uid])
    operator = new_job.operator(uid)
    asked = {field.name: getattr(words, field.name) for field in fields(ImportWords)}
    state = checkpoint.state_like(operator, words.operator, **asked)
    if checkpoint.evicted is not None:
        click.echo(late_rows(checkpoint.evicted, len(checkpoint.operators)), err=True)
    with warnings.catch_warnings():
        if all(known.kind.is_keyed for known in operator.catalog.states):
            # state_like has named the states that begin empty, and how to say that they do.
            warnings.simplefilter("ignore", LostStateWarning)
        writer = new_job.with_operator(uid, state)
    with state_errors(checkpoint.path):
        command["destination"].write(command["output"], writer)


def late_rows(watermark: int, operators: int = 1) -> str:
    """What the user must know about rows that were late for the query."""
    behind_a_join = (
        " Behind a join by a range of time, an operator's own watermark is earlier by that range."
    )
    try:
        moment = (
            f" ({(datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=watermark)).isoformat()})"
        )
    except OverflowError:  # after the year 9999
        moment = ""
    return (
        f"The query has emitted and evicted state by the watermark {watermark} ms{moment}. A job begins"
        " without it, so a row that is late for the query would bring a window back that was emitted."
        " Before the operator, drop rows whose window ends at or before it, and without windows rows"
        f" whose time is at or before it.{behind_a_join if operators > 1 else ''}"
    )


def _describe(checkpoint: SparkCheckpoint, output: Output, _: Mapping[str, Any]) -> None:
    plain = {
        name: getattr(checkpoint, name) for name in ("path", "batch_id", "watermark", "evicted")
    }
    offsets = [{"source": name, "offset": it} for name, it in checkpoint.offsets.items()]
    operators = [asdict(it) for it in checkpoint.operators]
    described = {**plain, "offsets": dict(checkpoint.offsets), "operators": operators}
    shown = described if output.is_json else plain
    output.page(shown, ("Sources", offsets), ("Operators", checkpoint.operators))


def _list(checkpoint: SparkCheckpoint, output: Output, _: Mapping[str, Any]) -> None:
    tables = [
        {
            "table": f"{_PREFIX}{it.id}",
            "kind": it.kind,
            "columns": checkpoint.table(it.id).schema.simpleString()[len("struct<") : -1],
        }
        for it in checkpoint.operators
    ]
    output.rows(f"Tables of {checkpoint.path}", tables, whole=["columns"])


def _show(checkpoint: SparkCheckpoint, output: Output, asked: Mapping[str, Any]) -> None:
    name = asked["table"]
    number = name.removeprefix(_PREFIX)
    if not number.isdecimal():
        known = ", ".join(f"{_PREFIX}{it.id}" for it in checkpoint.operators)
        raise TableNotFoundError(f"{checkpoint.path} has no table {name!r}; it has {known}")
    table = checkpoint.table(int(number))
    if asked["where"]:
        with sql_errors(QueryError):
            table = table.where(asked["where"])
    _print(checkpoint, output, f"Rows of {name}", table, asked["rows"])


def _query(checkpoint: SparkCheckpoint, output: Output, asked: Mapping[str, Any]) -> None:
    sql = asked["sql"]
    if not sql:
        raise click.UsageError("a checkpoint of Spark has no prompt: pass the SQL in quotes")
    embedded_sql.expect_spark_query(sql)
    for it in checkpoint.operators:
        checkpoint.table(it.id).createOrReplaceTempView(f"{_PREFIX}{it.id}")
    with sql_errors(QueryError):
        rows = checkpoint.spark.sql(sql)
    _print(checkpoint, output, "", rows, asked["rows"])


def _stats(checkpoint: SparkCheckpoint, output: Output, _: Mapping[str, Any]) -> None:
    sizes = [size for it in checkpoint.operators for size in checkpoint.sizes(it.id)]
    output.rows(f"Sizes of {checkpoint.path}", sizes)


def _print(
    checkpoint: SparkCheckpoint, output: Output, title: str, table: DataFrame, most: int
) -> None:
    with state_errors(checkpoint.path):
        answered = collected(table.limit(most + 1))
    print_rows(output, title, answered, most)


def print_rows(output: Output, title: str, answered: pa.Table, most: int) -> None:
    """Prints the first rows of an answer, and says if it has more."""
    names, rows = table_rows.result_rows(answered.schema, iter(answered.to_batches()))
    output.values(title, names, islice(rows, most))
    if most and answered.num_rows > most:
        output.note(f"there are more than {most:,} rows: -n {most * 10} shows more of them")


_COMMON = ("path", "output", "vertical", "all")
_ANSWERS: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "describe": (_describe, ()),
    "list": (_list, ()),
    "show": (_show, ("table", "rows", "where")),
    "query": (_query, ("sql", "rows", "engine")),
    "stats": (_stats, ()),
}
"""Name of a command -> its answer, and the parameters that it heeds."""
