"""The options that commands share, and the savepoint that they are about."""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import common_option
from savepoint_cli.terminal.output import Output, output_option
from savepoint_formats.errors import SavepointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def _rules(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    rules = {}
    for pair in given:
        state, equals, rule = pair.rpartition("=")
        if not (state and equals and rule):
            raise click.BadParameter(f"{pair!r}, expected such as count=sum")
        rules[state] = rule
    return rules


@contextmanager
def usage_errors() -> Iterator[None]:
    """Tells of a rule that there is not, or that a state takes none, as of a wrong call."""
    try:
        yield
    except SavepointError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def merge_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option that says how instances of local state become one value."""
    return click.option(
        "--merge",
        multiple=True,
        metavar="STATE=RULE",
        callback=_rules,
        shell_complete=completion.followed("=", completion.states),
        help=f"{text} Repeatable.",
    )


def row_limit(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option that says how many rows are wanted."""
    return click.option(
        "-n",
        "--rows",
        metavar="COUNT",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        help="How many rows at most.",
    )
