"""The command line: ``savepoint describe``, ``show``, ``query``, ``copy``..."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import (
    STOPPED,
    STOPPED_CODE,
    agents,
    audit,
    change,
    checks,
    demo,
    inspect,
    modify,
    query,
    serve,
    transfer,
)
from savepoint_formats.errors import JobError, SavepointError, SavepointWarning, UsageError
from savepoint_formats.extras import missing
from savepoint_formats.printable import printable, without_secrets
from savepoint_spark.session.java_process import JAVA_DIED, end_java, java_has_died

if TYPE_CHECKING:
    from collections.abc import Callable


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
                    end_java()
                    click.echo(STOPPED, err=True)
                    ctx.exit(STOPPED_CODE)
                reported = _reported(error)
                if reported is None or reported is error:
                    raise
                raise reported from error
            return result

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands under headings."""
        width = max(map(len, self.commands))
        for title, commands in _COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(str(each.name).ljust(width), text) for each, text in commands.items()]
                )


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
    if java_has_died():
        return click.ClickException(JAVA_DIED)
    return click.ClickException(str(error)) if isinstance(error, JobError) else None


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


@click.group(cls=SavepointGroup)
@click.version_option(package_name="savepoint-state-processor")
def main() -> None:
    """Look into the savepoints and checkpoints of Apache Flink jobs, and change them.

    PATH is the directory of a savepoint or checkpoint, or its _metadata file: a local path, or a
    URI such as s3://bucket/savepoint-1a2b. flink://host:8081/JOB stands for the newest snapshot of
    a running job. PATH - reads the output of "kubectl get flinkstatesnapshot -o json" from stdin.

    Exit codes: 0 done; 1 the savepoint is wrong, or can't do what you ask; 2 the call is wrong: an
    option, a query, the name of an operator, a table or a column; 3 two savepoints differ, nothing
    was found, or a savepoint is not restorable as it is; 130 stopped by Ctrl-C.
    """


def _of_extension(place: str) -> click.Command:
    """The command ``module:name`` of an extension; no import, because the core knows no extension."""
    module, _, name = place.partition(":")
    command = getattr(import_module(module), name)
    assert isinstance(command, click.Command)
    return command


_COMMANDS: dict[str, dict[click.Command, str]] = {
    "Look into a savepoint": {
        inspect.describe: "Show its format, operators and states",
        inspect.list_tables: "List its tables, and what SQL calls them",
        inspect.schema: "Show the columns of tables, with their types",
        inspect.show: "Show rows of a table",
        query.query: "Run SQL over its tables, or open a prompt for it",
        inspect.browse: "Browse all of it on a full screen",
        audit.key: "Show everything that a key has",
        inspect.state_types: "Print the types of a PyFlink job's states",
        inspect.files: "List its files, and which state refers to them",
        serve.serve: "Show it in a web browser",
        agents.mcp: "Answer agents about it, by MCP",
        demo.demo: "Copy a small savepoint, and walk through these commands",
    },
    "Judge it": {
        checks.verify: "Check that it is whole",
        _of_extension(
            "savepoint_extensions.upgrade.doctor_commands:doctor"
        ): "Tell whether a release of Flink restores it",
        audit.stats: "Show sizes: states, keys, skew, timers",
        checks.diff: "Compare it with another one",
        checks.sql_diff: "Tell which state survives a change of its SQL query",
        _of_extension(
            "savepoint_extensions.connectors.connector_commands:kafka"
        ): "Show or change the offsets of Kafka sources",
        _of_extension(
            "savepoint_extensions.connectors.connector_commands:sinks"
        ): "Show or drop pending commits of sinks",
        _of_extension(
            "savepoint_extensions.connectors.connector_commands:sources"
        ): "Show or change the positions of sources",
    },
    "Many savepoints": {
        audit.snapshots: "List all below a directory",
        audit.live_jobs: "List those of a running cluster's jobs",
        audit.history: "Show what a key had in each of them",
        _of_extension(
            "savepoint_extensions.privacy.privacy_commands:find_values"
        ): "Find a value: in keys, values, operator state, bytes",
        audit.gc: "List or remove files that none of them needs",
    },
    "Write another one": {
        modify.copy: "Copy a savepoint, with every file that it needs",
        modify.rename_operator: "Rename an operator: give its state another uid",
        modify.remove_operator: "Remove an operator and its state",
        modify.remove_state: "Remove a state",
        modify.rescale: "Rescale to other key groups and another parallelism",
        change.sql_migrate: "Rewrite the state of a SQL job for a changed query",
        modify.convert: "Convert it to canonical, for another state backend",
        modify.classes: "Print the classes that you must describe for migrate",
        modify.migrate: "Rewrite state of Flink 1.x so that Flink 2.x restores it",
        change.rename_state: "Rename a state",
        change.rename_class: "Rename a Java class in serializers and values",
        change.rename_field: "Rename a field of a state's values",
        change.add_field: "Add a field to a state's values",
        change.drop_field: "Remove a field from a state's values",
        change.widen_field: "Widen the type of a field of a state's values",
        change.update_state: "Update the values of a state, by SQL",
        change.delete_keys: "Delete keys, by SQL or from the answer of find",
        _of_extension(
            "savepoint_extensions.privacy.privacy_commands:mask"
        ): "Mask values and keys by rules, or draft the rules",
        _of_extension(
            "savepoint_extensions.privacy.privacy_commands:sample"
        ): "Copy a sample of its keys, masked if wanted",
        modify.merge_local: "Merge local keyed state into ordinary state",
    },
    "Carry rows": {
        transfer.export_table: "Export a table to a file, DuckDB, Delta or Iceberg",
        transfer.import_table: "Import a file as the state of an operator",
    },
}
"""Heading in ``--help`` -> commands and their short help."""

for commands in _COMMANDS.values():
    for command, text in commands.items():
        command.short_help = text
        main.add_command(command)
