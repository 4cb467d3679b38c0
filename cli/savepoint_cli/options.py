"""The options that commands share."""

from __future__ import annotations

from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion
from savepoint_cli.opening import Opening
from savepoint_cli.option_groups import collected
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import Command, common_option
from savepoint_cli.terminal.output import output_option
from savepoint_database import snapshot as snapshots
from savepoint_database import types as described
from savepoint_database.types import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import KryoClass

    Function = Callable[..., None]

_MAX_INPUT = 16 << 20


def callback(parse: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback of an option that parses its value, unless that is missing."""
    return lambda _context, _parameter, value: None if value is None else parse(value)


def pairs(
    expected: str,
    parse: Callable[[str], Any] = str,
    divided: Callable[[str, str], tuple[str, str, str]] = str.rpartition,
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback that makes a dict of repeated options such as ``count=sum``."""

    def parsed(texts: tuple[str, ...]) -> dict[str, Any]:
        values = {}
        for text in texts:
            name, _, value = divided(text, "=")
            if not (name and value):
                raise click.BadParameter(f"{text!r}, expected {expected}")
            values[name] = parse(value)
        return values

    return callback(parsed)


def duration(text: str) -> timedelta:
    """A duration in Flink's words, such as ``7d``."""
    try:
        return timedelta(milliseconds=milliseconds(text))
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error)) from error


def interval(text: str) -> timedelta:
    """A time from one look to the next: more than 0, since a program would do nothing but look."""
    time = duration(text)
    if not time:
        raise click.BadParameter(f"{text!r}, expected a time such as 10s")
    return time


def utf8_text(data: bytes, file: str) -> str:
    """The text of a user's file; another encoding than UTF-8 is a wrong call."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8 at byte {error.start}") from error


def _path(path: str) -> str:
    """A path; for ``-``, the path of the snapshot in the output of ``kubectl``."""
    if path != "-":
        return path
    with click.open_file(path, "rb") as file:
        data = file.read(_MAX_INPUT + 1)
    if len(data) > _MAX_INPUT:
        raise click.UsageError(f"standard input has more than {_MAX_INPUT:,} bytes")
    return state_processor.kubernetes_snapshot(utf8_text(data, "the standard input"))


def _uids(path: Path) -> list[str]:
    lines = (line.strip() for line in utf8_text(path.read_bytes(), str(path)).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _classes(path: str) -> tuple[KryoClass, ...]:
    with click.open_file(path, "rb") as file:
        return described.described_classes(utf8_text(file.read(), file.name), file.name)


def _types(path: str) -> dict[str, dict[str, str]]:
    with click.open_file(path, "rb") as file:
        return snapshots.types_of_text(utf8_text(file.read(), file.name), file.name)


allow_path = common_option(
    "--allow-path",
    "allow_paths",
    multiple=True,
    metavar="PREFIX",
    help="Allow reads from this directory, or this URI on another store. Repeatable.",
)
strict_paths = common_option(
    "--strict-paths",
    is_flag=True,
    help="Read nothing outside the savepoint's own directories, unless --allow-path allows it.",
)
opening_only = collected(
    "opening",
    Opening,
    click.argument("path", shell_complete=completion.paths, callback=callback(_path)),
    common_option(
        "--classes",
        "--kryo-classes",
        "kryo_classes",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        metavar="FILE",
        callback=callback(_classes),
        help="Descriptions of classes that Kryo wrote: the YAML that savepoint classes prints,"
        " filled in.",
    ),
    common_option(
        "--key-type",
        "key_types",
        multiple=True,
        metavar="OPERATOR=TYPE",
        callback=pairs("an operator and a type, such as summarize=STRING"),
        shell_complete=completion.followed("=", completion.operators),
        help="The type of an operator's keys, if the savepoint doesn't have it, such as"
        " orders='TUPLE<STRING, LONG>'. Repeatable.",
    ),
    common_option(
        "--types",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        metavar="FILE",
        callback=callback(_types),
        help="Types of a PyFlink job's states: the YAML that savepoint types prints.",
    ),
    allow_path,
    strict_paths,
    common_option(
        "--uid",
        "uids",
        multiple=True,
        metavar="UID",
        help="The uid of an operator, shown instead of its hash. Repeatable.",
    ),
    common_option(
        "--uids-file",
        "listed_uids",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        callback=callback(_uids),
        help="A file with one uid per line; each counts as a --uid.",
    ),
    common_option(
        "--plan",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="The compiled plan of a SQL job; it gives operators their uids, and columns the"
        " names of the query.",
    ),
    common_option(
        "--trigger",
        is_flag=True,
        help="Make the running job flink://host:8081/JOB take a savepoint, and read it.",
    ),
    common_option(
        "--trigger-into",
        default="",
        metavar="PLACE",
        help="Like --trigger, into this directory of the cluster.",
    ),
)
"""The argument PATH and the options that say how the savepoint is opened."""


def inspection(
    name: str | None = None, kind: type[Command] = Command
) -> Callable[[Function], Command]:
    """Makes a command about the savepoint at PATH that prints an answer.

    A terminal shows what is read if that takes long.
    """

    def decorate(function: Function) -> Command:
        @wraps(function)
        def patient(opening: Opening, **values: Any) -> None:
            with progress.reading(opening.path):
                function(opening=opening, **values)

        return click.command(name, cls=kind)(opening_only(output_option(patient)))

    return decorate


operator = click.argument("operator", shell_complete=completion.operators)
state = click.argument("state", shell_complete=completion.states)
table = click.argument("table", shell_complete=completion.tables)
optional_table = click.argument("table", required=False, shell_complete=completion.tables)
columns = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="COLUMN",
    callback=callback(lambda given: given or None),
    shell_complete=completion.columns,
    help="Only this column. Repeatable.",
)
keys = click.option(
    "--key",
    "keys",
    metavar="KEY",
    multiple=True,
    callback=callback(lambda given: given or None),
    help="Only the row of this key. Repeatable.",
)
# Not those of the database, whose module imports Arrow.
FORMS = ("nanoseconds", "undescribed_subclasses")
nanoseconds = common_option(
    "--nanoseconds",
    type=click.Choice(["refuse", "struct", "text", "truncate"]),
    default="refuse",
    show_default=True,
    help="How to show times with nanoseconds.",
)
undescribed_subclasses = common_option(
    "--undescribed-subclasses",
    type=click.Choice(["refuse", "bytes", "rest"]),
    default="refuse",
    show_default=True,
    help="How to show POJOs of subclasses that no snapshot describes; `rest` also leaves out"
    " elements after a value that can't be decoded.",
)
matches = click.option(
    "--matches",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Correct wrongly matched operators: a YAML file with pairs of operator numbers, old: new.",
)
renames = click.option(
    "--rename",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    callback=pairs("OLD=NEW"),
    help="A column of a table has a new name; `orders.id=order_id` names the column of one table.",
)
accept = click.option(
    "--accept",
    multiple=True,
    metavar="NAME",
    help="A new aggregate may begin empty, or a new column may keep old rows from being taken back.",
)
times = click.option(
    "--times",
    type=click.Choice(["dates", "raw"]),
    default="dates",
    show_default=True,
    callback=callback(lambda given: "dates" if given == "dates" else "numbers"),
    help="Times of timers and of TTL as dates in UTC, or as milliseconds.",
)


memory_limit = click.option(
    "--memory-limit",
    default="50%",
    show_default=True,
    metavar="SIZE",
    help="DuckDB's memory limit, such as 4GB or 50% of the machine's.",
)
seconds = click.option(
    "--seconds",
    type=click.IntRange(min=1),
    metavar="COUNT",
    default=60,
    show_default=True,
    help="How long an answer may take.",
)


def operator_option(text: str, *, required: bool = False) -> Callable[[Function], Function]:
    """The option that names an operator."""
    return click.option(
        "--operator",
        metavar="OPERATOR",
        required=required,
        shell_complete=completion.operators,
        help=text,
    )


without_topics = click.option(
    "--without-topic",
    "without_topics",
    multiple=True,
    metavar="TOPIC",
    help="A topic or stream that the new source doesn't continue to read. Repeatable.",
)
allow_empty = click.option(
    "--allow-empty",
    is_flag=True,
    help="Accept an old source without any position: the new one begins where its configuration says, Kafka's at the beginning.",
)


def merge_option(text: str) -> Callable[[Function], Function]:
    """The option that says how instances of local state become one value."""
    return click.option(
        "--merge",
        multiple=True,
        metavar="STATE=RULE",
        callback=pairs("such as count=sum"),
        shell_complete=completion.followed("=", completion.states),
        help=f"{text} Repeatable.",
    )


def count_option(*names: str, default: int, text: str) -> Callable[[Function], Function]:
    """An option that limits how many of something are shown."""
    return click.option(
        *names,
        metavar="COUNT",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        help=text,
    )


def ttl_option(what: str) -> Callable[[Function], Function]:
    """The times to live of states, of which ``what`` stores none."""
    return click.option(
        "--ttl",
        multiple=True,
        metavar="STATE=DURATION",
        callback=pairs("a state and a time, such as sessions=7d", duration),
        shell_complete=completion.followed("=", completion.states),
        help=f"A state's time to live, such as sessions=7d; no {what} stores it. Repeatable.",
    )
