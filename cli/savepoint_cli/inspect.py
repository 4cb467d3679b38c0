"""Commands that look: none of them reads bulk data, none starts Spark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

import state_processor
from savepoint_cli import completion
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import command, common_option
from savepoint_cli.terminal.output import Output, output_option
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_database.files.schema_texts import SchemaForm
    from savepoint_database.snapshot.description import OperatorDescription
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.layout import KryoClass


def utf8_text(data: bytes, file: str) -> str:
    """The text that a user gives in a file; an encoding that is not UTF-8 is a wrong call."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is no UTF-8: byte {error.start}") from error


def _uids(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> list[str]:
    if path is None:
        return []
    lines = (line.strip() for line in utf8_text(path.read_bytes(), str(path)).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _classes(
    _context: click.Context, _parameter: click.Parameter, path: str | None
) -> tuple[KryoClass, ...]:
    if path is None:
        return ()
    from savepoint_database.types.class_descriptions import described_classes  # noqa: PLC0415  # YAML is slow

    with click.open_file(path, "rb") as file:
        return described_classes(utf8_text(file.read(), file.name), file.name)


def _key_types(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    texts: dict[str, str] = {}
    for pair in given:
        uid, equals, text = pair.rpartition("=")
        if not (uid and equals and text):
            raise click.BadParameter(
                f"{pair!r}, expected an operator and a type, as summarize=STRING"
            )
        texts[uid] = text
    return texts


allow_path_option = common_option(
    "--allow-path",
    "allow_paths",
    multiple=True,
    metavar="PREFIX",
    help="A directory or URI of another store, where files may lie. Repeatable.",
)
strict_paths_option = common_option(
    "--strict-paths",
    is_flag=True,
    help="Follow nothing out of the savepoint's own directories, unless it is allowed.",
)


def inspection(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options that all commands of this module share.

    A terminal shows what is read where that takes long.
    """
    return opening(output_option(_patient(command)))


def opening(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options that say which savepoint, and how it is opened."""
    for decorate in (
        common_option(
            "--uids-file",
            "listed_uids",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            callback=_uids,
            help="A file with a uid per line, as if each were given by --uid.",
        ),
        common_option(
            "--uid",
            "uids",
            multiple=True,
            metavar="UID",
            help="The uid of an operator, to be shown instead of its hash. Repeatable.",
        ),
        strict_paths_option,
        allow_path_option,
        common_option(
            "--key-type",
            "key_types",
            multiple=True,
            metavar="OPERATOR=TYPE",
            callback=_key_types,
            shell_complete=completion.followed("=", completion.operators),
            help="The type of an operator's keys, where no file tells it, such as"
            " orders='TUPLE<STRING, LONG>'. Repeatable.",
        ),
        common_option(
            "--classes",
            "--kryo-classes",
            "kryo_classes",
            type=click.Path(exists=True, dir_okay=False, allow_dash=True),
            metavar="FILE",
            callback=_classes,
            help="Classes whose objects Kryo wrote, described in YAML as savepoint classes prints it.",
        ),
        click.argument("path", shell_complete=completion.paths),
    ):
        command = decorate(command)
    return command


def _patient(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def patient(*arguments: Any, path: str, **options: Any) -> None:
        with progress.reading(path):
            command(*arguments, path=path, **options)

    return patient


columns_option = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="COLUMN",
    shell_complete=completion.columns,
    help="Only this column. Repeatable.",
)


nanoseconds_option = common_option(
    "--nanoseconds",
    type=click.Choice(["refuse", "struct", "text", "truncate"]),
    default="refuse",
    show_default=True,
    help="What becomes of times with more digits than microseconds.",
)


undescribed_subclasses_option = common_option(
    "--undescribed-subclasses",
    type=click.Choice(["refuse", "bytes", "rest"]),
    default="refuse",
    show_default=True,
    help="What becomes of POJOs of subclasses that no snapshot describes, and with `rest` of what lies"
    " behind any value that can't be decoded, where nobody can tell the two apart.",
)


def _times(_context: click.Context, _parameter: click.Parameter, given: str) -> Times:
    return "dates" if given == "dates" else "numbers"


times_option = click.option(
    "--times",
    type=click.Choice(["dates", "raw"]),
    default="dates",
    show_default=True,
    callback=_times,
    help="Times of timers and of TTL as dates in UTC, or as milliseconds.",
)


def open_savepoint(
    path: str,
    uids: tuple[str, ...],
    listed_uids: list[str],
    *,
    allow_paths: tuple[str, ...],
    strict_paths: bool,
    key_types: dict[str, str],
    kryo_classes: tuple[KryoClass, ...],
) -> Savepoint:
    """The savepoint that the shared options are about."""
    savepoint = Savepoint.open(
        path,
        uids=(*uids, *listed_uids),
        allow_paths=allow_paths,
        strict_paths=strict_paths,
        key_types=key_types,
        kryo_classes=kryo_classes,
    )
    shown = click.get_current_context().params.get("output")
    if isinstance(shown, Output):
        shown.shorten(savepoint.short_ids())
    return savepoint


@command()
@inspection
def describe(output: Output, path: str, **uids: Any) -> None:
    """Show what is in the savepoint at PATH: its format, its operators, their states.

    \b
    savepoint describe s3://jobs/orders/savepoint-1a2b --uid summarize
    """
    description = open_savepoint(path, **uids).describe()
    output.page(
        description,
        ("Operators", description.operators),
        ("States", description.states()),
        digest=[_digest(description.operators)],
    )


@dataclass(frozen=True, slots=True)
class _OperatorLine:
    """What of an operator one line tells. ``size`` is in bytes."""

    operator: str
    size: int
    states: tuple[str, ...]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, operator: OperatorDescription) -> Self:
        # What timers of event and processing time are stored as is long, and says no more.
        names = (
            "timers" if state.kind.endswith("timers") else state.state for state in operator.states
        )
        return cls(
            operator.uid or operator.hash,
            operator.keyed_size + operator.operator_size,
            tuple(dict.fromkeys(names)),
            operator.problems,
        )


def _digest(operators: Sequence[OperatorDescription]) -> tuple[str, Sequence[_OperatorLine]]:
    """The operators with state, a line each, for a screen that has no room for all there is."""
    lines = [
        _OperatorLine.of(operator) for operator in operators if operator.states or operator.problems
    ]
    return f"Operators with state ({len(lines)} of {len(operators)})", lines


@command("list")
@inspection
def list_tables(output: Output, path: str, **uids: Any) -> None:
    """List the tables of the savepoint at PATH.

    \b
    savepoint list s3://jobs/orders/savepoint-1a2b
    """
    output.rows(f"Tables of {path}", open_savepoint(path, **uids).tables(), whole=["sql"])


@command()
@inspection
@click.argument("table", required=False, shell_complete=completion.tables)
@click.option(
    "--format",
    "--as",
    "form",
    metavar="FORMAT",
    type=click.Choice(["ddl", "avro", "json-schema", "pyflink", "spark"]),
    help="Print the schema of TABLE to copy, as ddl (CREATE TABLE of Flink), avro, json-schema,"
    " pyflink (descriptors) or spark.",
)
def schema(
    output: Output, path: str, table: str | None, form: SchemaForm | None, **uids: Any
) -> None:
    """Show the columns of TABLE, or of all tables, with their types in Spark's words.

    \b
    savepoint schema s3://jobs/orders/savepoint-1a2b summarize.keyed_state --uid summarize
    savepoint schema s3://jobs/orders/savepoint-1a2b summarize.keyed_state --format ddl
    """
    if form is not None:
        if table is None:
            raise click.UsageError("--format is about one table: name it")
        text = state_processor.schema_text(open_savepoint(path, **uids), table, form)
        output.text({"table": table, "form": form}, text)
        return
    output.rows(f"Columns of {table or path}", open_savepoint(path, **uids).schema(table))


@command()
@inspection
def files(output: Output, path: str, **uids: Any) -> None:
    """List every file of the savepoint at PATH, who refers to it, and what is missing.

    \b
    savepoint files s3://jobs/orders/savepoint-1a2b --output json
    """
    output.rows(f"Files of {path}", open_savepoint(path, **uids).files())
