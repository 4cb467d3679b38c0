"""The command ``apply``, and the option ``--print-change`` of each command that changes a savepoint."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from savepoint_cli import options
from savepoint_cli.engine import started_session
from savepoint_cli.modify import destination, errors_of_spark
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal import CommonOption
from savepoint_extensions.change_files.applied_changes import with_entries
from savepoint_extensions.change_files.change_file import ChangeFile, ChangeFileError, entry_text
from savepoint_extensions.change_files.change_schema import change_schema
from savepoint_extensions.change_files.change_table import all_kinds
from savepoint_extensions.change_files.planned_changes import planned_changes
from savepoint_formats.errors import NotAcceptedError
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_cli.modify import Destination
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from savepoint_extensions.change_files.change_file import ChangeEntry
    from state_processor import SavepointWriter

_OF_WRITING = frozenset({"path", "out", "overwrite", "dry_run", "print_change", "output"})
"""Parameters of commands that say what is read and where it is written, and not what changes."""

_OF_VALUES = frozenset(options.FORMS)
"""Common options that are part of a change: how expressions see values."""


class _UnacceptedError(click.ClickException):
    exit_code = 3


def _print_schema(context: click.Context, _parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        click.echo(json.dumps(change_schema(all_kinds()), indent=2))
        context.exit()


@options.inspection("apply")
@click.argument("changes", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@destination
@click.option(
    "--count",
    "has_counts",
    is_flag=True,
    help="With --dry-run: read the states that change, and count their keys and entries.",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of CHANGES, for editors, and end.",
)
def apply_changes(
    output: Output, opening: Opening, destination: Destination, changes: str, *, has_counts: bool
) -> None:
    """Write the savepoint at PATH to OUT with all CHANGES of a file, in their order.

    CHANGES is a YAML or JSON file: a list of changes, each with the name of a command and its words;
    - reads it from stdin. Each command prints its entry with --print-change. The savepoint is written
    once, after all changes. --dry-run shows what each change touches, and which ones can't be made.

    \b
    savepoint apply s3://jobs/savepoint-1a2b changes.yaml s3://jobs/changed --dry-run
    savepoint apply s3://jobs/savepoint-1a2b changes.yaml s3://jobs/changed
    """
    if has_counts and not destination.dry_run:
        raise click.UsageError("--count needs --dry-run")
    entries = _entries(changes)
    writer = opening.open().writer()
    if any(entry.needs_session for entry in entries):
        writer = writer.with_session(started_session())
    with errors_of_spark():
        with usage_errors(), _accepted():
            if destination.dry_run:
                _try(output, destination, writer, entries, has_counts=has_counts)
                return
            writer = with_entries(writer, entries)
        destination.write(output, writer)


@contextmanager
def _accepted() -> Iterator[None]:
    """Gives an error about history that a query lacks the exit code of ``sql-migrate``."""
    try:
        yield
    except NotAcceptedError as error:
        raise _UnacceptedError(str(error)) from error


def _entries(changes: str) -> tuple[ChangeEntry, ...]:
    with click.open_file(changes, "rb") as file:
        text = options.utf8_text(file.read(), changes)
    try:
        return ChangeFile.of_text(text, changes).entries
    except ChangeFileError as error:
        lines = "\n".join(map(printable, error.problems))
        raise click.ClickException(lines) from error


def _try(
    output: Output,
    destination: Destination,
    writer: SavepointWriter,
    entries: tuple[ChangeEntry, ...],
    *,
    has_counts: bool,
) -> None:
    """Shows what each change touches; raises the first error of a change that can't be made."""
    planned = planned_changes(writer, entries, has_counts=has_counts)
    rows = [asdict(change) for change in planned.changes]
    if not planned.errors:
        destination.write(output, planned.writer, {"changes": rows})
    elif output.is_json:
        output.json({"changes": rows})
    else:
        output.rows("Changes", rows)
    for error in planned.errors:
        raise error


def print_change(context: click.Context) -> None:
    """Prints the entry that makes the change of a command with its options."""
    name = str(context.command.name)
    kind = all_kinds().get(name)
    if kind is None:
        raise click.UsageError(f"{name} is no change for a file: use the command")
    parameters = dict(_parameters(context))
    words = dict(kind.of_command(parameters))
    if others := sorted(words.keys() - {word.name for word in kind.words}):
        raise click.UsageError(f"--{others[0]} is no part of a change: leave it out")
    change = {name: words or None}
    try:
        ChangeFile.of([change])
    except ChangeFileError as error:
        raise click.UsageError(str(error).removeprefix("change 1: ")) from error
    click.echo(entry_text(change), nl=False)


def _parameters(context: click.Context) -> Iterator[tuple[str, Any]]:
    """What the user has said about the change: values of options and arguments by their words."""
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        is_of_reading = isinstance(parameter, CommonOption) and name not in _OF_VALUES
        is_default = context.get_parameter_source(name) is ParameterSource.DEFAULT
        is_empty = value is None or value is False or value in ((), {})
        if not (name in _OF_WRITING or is_of_reading or is_default or is_empty):
            yield _word(parameter), _plain(value)


def _word(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return parameter.opts[0].removeprefix("--")
    shown = (parameter.metavar or "").strip("[]")
    return shown.lower() if shown.isalpha() else str(parameter.name)


def _plain(value: Any) -> Any:
    """A value as YAML has it."""
    match value:
        case dict():
            return dict(value)
        case tuple():
            return list(map(_plain, value))
        case Path():
            return str(value)
        case _:
            return value
