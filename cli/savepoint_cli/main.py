"""The command line: ``savepoint describe``, ``show``, ``query``, ``copy``..."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from savepoint_cli import STOPPED, STOPPED_CODE
from savepoint_cli.command_table import LazyCommands, listed, plug_in_commands
from savepoint_formats.errors import JobError, SavepointError, UsageError
from savepoint_formats.extras import missing
from savepoint_formats.plug_ins import SWITCH, switch_off
from savepoint_formats.printable import printable, without_secrets
from savepoint_formats.savepoint_warnings import SavepointWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from savepoint_formats.plug_ins import Loaded


class WrongCallError(click.ClickException):
    """A wrong call, without the lines on how to call the command."""

    exit_code = 2


class SavepointGroup(click.Group):
    """Reports errors of savepoints and calls by one line, and warnings by one line each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuses words that are not UTF-8, because all names in savepoints are."""
        for number, word in enumerate(args, 1):
            try:
                word.encode()
            except UnicodeEncodeError as error:
                raise click.UsageError(
                    f"argument {number} is not UTF-8: {os.fsencode(word)!r}"
                ) from error
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command; an unexpected error shows its traceback."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", SavepointWarning)
            warnings.showwarning = _show(warnings.showwarning)
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()
            except BrokenPipeError:
                # The reader has enough, as in "| head"; nobody reads the rest.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                ctx.exit()
            except click.exceptions.Exit:
                raise
            except BaseException as error:
                if _is_interrupted(error):
                    _end_java()
                    click.echo(STOPPED, err=True)
                    ctx.exit(STOPPED_CODE)
                reported = _reported(error)
                if reported is None and _OWNER in ctx.meta:
                    error.add_note(ctx.meta[_OWNER])
                if reported is None or reported is error:
                    raise
                raise reported from error
            return result

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command; plug-ins are asked for it only if this package does not have it."""
        command = super().get_command(ctx, cmd_name)
        if command is not None or ctx.resilient_parsing:
            return command
        plug_ins = plug_in_commands(cmd_name)
        _show_problems(plug_ins)
        row = plug_ins.rows.get(cmd_name)
        if row is None:
            return None
        ctx.meta[_OWNER] = f"the command {cmd_name} is of the plug-in {row.plug_in}"
        return row.value.command  # type: ignore[no-any-return]  # the table has checked it

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands under headings; of long lists, a line each for the first."""
        plug_ins = plug_in_commands()
        _show_problems(plug_ins)
        headings = listed(plug_ins)
        width = max(len(name) for commands in headings.values() for name in commands)
        most = None if ctx.meta.get(_ALL) else _MOST_LINES
        for title, commands in headings.items():
            rows, more = [*commands.items()][:most], [*commands][most or len(commands) :]
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])
                if more:
                    formatter.write("".join(f"{line}\n" for line in _wrapped(more, formatter)))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes the first word without an import of any command."""
        names = [
            CompletionItem(name, help=text)
            for commands in listed(plug_in_commands()).values()
            for name, text in sorted(commands.items())
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


_MOST_LINES = 5
"""Commands of a heading that ``--help`` has a line for; it names the others."""

_ALL = "savepoint_cli.all"
"""Key in ``Context.meta`` of whether help has a line for each command."""

_OWNER = "savepoint_cli.owner"
"""Key in ``Context.meta`` of the text that names the plug-in of a command."""


def _wrapped(names: Iterable[str], formatter: click.HelpFormatter) -> list[str]:
    """Lines of names; ``write_text`` would break them at hyphens."""
    from textwrap import wrap  # noqa: PLC0415  # only for help

    indent = " " * formatter.current_indent
    return wrap(
        f"and {', '.join(names)}",
        formatter.width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def _show_problems(plug_ins: Loaded) -> None:
    for line in plug_ins.lines():
        click.echo(f"Warning: {printable(line)}", err=True)


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether an error comes from Ctrl-C, directly or as its consequence."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _reported(error: BaseException) -> click.ClickException | None:
    """The line that reports an error; None for a fault of this program."""
    if isinstance(error, click.ClickException):
        message = without_secrets(error.message)
        return error if message == error.message else WrongCallError(message)
    if isinstance(error, UsageError):
        return WrongCallError(str(error))
    if isinstance(error, SavepointError) and not isinstance(error, JobError):
        return click.ClickException(str(error))
    if isinstance(error, ModuleNotFoundError) and (known := missing(error)) is not error:
        return click.ClickException(str(known))
    if isinstance(error, MemoryError):
        return click.ClickException(_no_memory(error))
    from savepoint_spark.session import JAVA_DIED, java_has_died  # noqa: PLC0415  # few errors need it

    if java_has_died():
        return click.ClickException(JAVA_DIED)
    return click.ClickException(str(error)) if isinstance(error, JobError) else None


def _end_java() -> None:
    from savepoint_spark.session import end_java  # noqa: PLC0415  # only for Ctrl-C

    end_java()


def _no_memory(error: MemoryError) -> str:
    reason = " ".join(str(error).split())
    return (
        f"there is not enough memory{f': {reason}' if reason else ''}; a large key, value or list takes"
        " several times its size: allow this process more memory, or use a larger machine"
    )


def _show(show_others: Callable[..., None]) -> Callable[..., None]:
    """Prints warnings about savepoints by one line each, and others as before."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, SavepointWarning):
            click.echo(f"Warning: {printable(str(message))}", err=True)
        else:
            show_others(message, category, *where, **more)

    return show


def _switch_off(ctx: click.Context, _parameter: click.Parameter, is_off: bool) -> None:
    """Switches plug-ins off until the command ends."""
    if is_off:
        before = os.environ.get(SWITCH)
        switch_off()
        ctx.call_on_close(lambda: _set(SWITCH, before))


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _help_all(ctx: click.Context, _parameter: click.Parameter, is_on: bool) -> None:
    """Shows help with a line for each command, and ends."""
    if is_on and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


@click.group(cls=SavepointGroup, commands=LazyCommands())
@click.option(
    "--no-plugins",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_switch_off,
    help="Use no plug-ins, as with SAVEPOINT_PLUGINS=off.",
)
@click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    help="Show this message with a line for each command, and exit.",
)
@click.version_option(package_name="savepoint-state-processor")
def main() -> None:
    """Look into savepoints and checkpoints of Apache Flink jobs, and change them.

    PATH is the directory of a savepoint or checkpoint, or its _metadata file: a local path, a URI
    such as s3://bucket/savepoint-1a2b, or flink://host:8081/JOB for the newest one of a running
    job. PATH - reads the output of "kubectl get flinkstatesnapshot -o json".

    Exit codes: 0 done; 1 the savepoint is wrong; 2 the call is wrong; 3 a difference, nothing
    found, or not restorable; 130 stopped by Ctrl-C.
    """
