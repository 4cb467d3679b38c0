"""What ``savepoint import`` takes for the checkpoint of a streaming query of Spark.

It is imported with the command, and imports no Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from savepoint_cli import option_groups, options
from savepoint_cli.opening import usage_errors
from savepoint_extensions.spark_streams.import_words import ImportWords
from savepoint_extensions.spark_streams.stream_operator import EVENT_TIME, PROCESSING_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(ImportWords):
    """The options about a streaming query of Spark."""

    from_spark: bool = False
    operator: int | None = None
    uid: str | None = None
    like: str | None = None


def parameters_of_user(context: click.Context) -> list[click.Parameter]:
    """The parameters of a command that the user gives, also if their values are the defaults."""
    parameters = context.command.params
    of_user = {it: context.get_parameter_source(it.name or "") for it in parameters}
    return [it for it, source in of_user.items() if source is ParameterSource.COMMANDLINE]


def answered(stream: Stream, command: Mapping[str, Any]) -> bool:
    """Writes the savepoint of ``import --from-spark``; False for an import of files.

    Raises:
        click.UsageError: Options are missing, or don't go together.
        SavepointError: As ``SparkCheckpoint.state_like``.
    """
    if not stream.from_spark:
        ours = {field.name for field in fields(Stream)}
        for option in parameters_of_user(click.get_current_context()):
            if option.name in ours:
                raise click.UsageError(f"{option.opts[0]} needs --from-spark")
        return False
    if command["description"] is not None or command["form"] is not None or command["keeps_others"]:
        raise click.UsageError("--from-spark goes without --description, --format and --state")
    if stream.uid is None or stream.like is None:
        raise click.UsageError(
            "--from-spark needs --uid, the operator of the new job, and --like, a savepoint of that job"
        )
    from savepoint_extensions.spark_streams.checkpoint_commands import write_imported  # noqa: PLC0415  # imports Spark

    with usage_errors():
        write_imported(command, stream, stream.uid, stream.like)
    return True


def _milliseconds(text: str) -> int:
    return options.duration(text) // timedelta(milliseconds=1)


_TIMES = click.Choice([EVENT_TIME, PROCESSING_TIME])
_NAME: dict[str, Any] = {"metavar": "OPERATOR"}
_COLUMNS: dict[str, Any] = {"metavar": "COLUMN", "multiple": True}
_DEFAULTS = {field.name: field.default for field in fields(ImportWords)}


def _option(flag: str, text: str, field: str = "", **more: Any) -> Callable[[Any], Any]:
    """An option; ``field`` is that of ``Stream`` if it has another name."""
    return click.option(flag, *([field] if field else []), help=text, **more)


STREAM = option_groups.AddedOptions(
    Stream,
    (
        _option(
            "--from-spark", "DATA is the checkpoint of a streaming query of Spark.", is_flag=True
        ),
        _option(
            "--operator",
            "Of a query: the number of the operator, if it has several.",
            **_NAME,
            type=int,
        ),
        _option("--uid", "Of a query: the new job's operator, by uid or hash.", **_NAME),
        _option(
            "--like",
            "Of a query: a savepoint of the new job, which may be empty.",
            metavar="SAVEPOINT",
        ),
        _option(
            "--key",
            "Of a query: a column of its key, in the order of the new job's, if names don't tell it."
            " Repeatable.",
            **_COLUMNS,
        ),
        _option(
            "--aggregate",
            "Of a query: the state of an aggregate, in the query's order, such as total=sum or"
            " 'seen=collect_list BIGINT'. Repeatable.",
            "aggregates",
            metavar="STATE=AGGREGATE",
            multiple=True,
            callback=options.pairs("such as total=sum", divided=str.partition),
        ),
        _option(
            "--timeout", "Of a query: what its timeouts are; Spark doesn't store it.", type=_TIMES
        ),
        _option(
            "--ttl",
            "Of a query: a state's time to live, such as sessions=7d; Spark doesn't store it. Repeatable.",
            "ttl_ms",
            metavar="STATE=DURATION",
            multiple=True,
            callback=options.pairs("a state and a time, such as sessions=7d", _milliseconds),
        ),
        _option(
            "--allowed-lateness",
            "Of a query with windows: how long after its end the new job keeps a window, such as 1h.",
            "allowed_lateness_ms",
            metavar="DURATION",
            default=f"{_DEFAULTS['allowed_lateness_ms']}ms",
            callback=options.callback(_milliseconds),
        ),
        _option(
            "--window-time",
            "Of a query with windows: what fires those of the new job, the watermark (event_time, the"
            " default) or the clock.",
            type=_TIMES,
            default=_DEFAULTS["window_time"],
        ),
        _option(
            "--begin-empty",
            "Of a query: a state of the new job that the query doesn't have. Repeatable.",
            metavar="STATE",
            multiple=True,
        ),
        _option(
            "--left",
            "Of a join: a column of the left input of the new job's join, in order, or an expression of SQL"
            " over the query's left side. Repeatable.",
            **_COLUMNS,
        ),
        _option("--right", "The same for the right input.", **_COLUMNS),
        _option(
            "--on",
            "Of an outer join: what rows of equal keys must fulfil to match, such as 'right.ts > left.ts',"
            " or true.",
            metavar="SQL",
        ),
    ),
    """With --from-spark, DATA is the checkpoint of a streaming query; OUT is then --like with the query's
    state under --uid.

    \b
    savepoint import --from-spark s3://queries/totals --uid totals --like s3://jobs/empty s3://jobs/begun""",
    answered,
)
"""The options, and what they do."""
