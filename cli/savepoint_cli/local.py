"""Local keyed state on the command line: the option that merges it, and the command that writes it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion
from savepoint_cli.inspect import inspection, open_savepoint
from savepoint_cli.modify import destination, write_savepoint
from savepoint_cli.terminal.help import command
from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_cli.terminal.output import Output


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


@command()
@inspection
@click.option(
    "--operator",
    metavar="OPERATOR",
    required=True,
    shell_complete=completion.operators,
    help="The operator, by its uid or the hash of it.",
)
@merge_option("How a state's instances become one value: sum, min, max or concat.")
@destination
def merge_local(
    output: Output,
    path: str,
    out: str,
    operator: str,
    merge: dict[str, str],
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, with the local state of an operator as ordinary one.

    The instances that a key has in all subtasks become one value, by Spark; those of lists are
    appended. A real Flink restores what is written.

    \b
    savepoint merge-local s3://jobs/local s3://jobs/merged --operator counts --merge count=sum
    """
    writer = open_savepoint(path, **uids).writer()
    with usage_errors():
        writer = writer.merge_local(operator, merge)
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)
