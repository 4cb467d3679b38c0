"""The command line: ``savepoint describe``, ``show``, ``query``, ``copy``..."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import (
    audit,
    change,
    checks,
    demo,
    doctor,
    garbage,
    inspect,
    kafka,
    local,
    modify,
    query,
    read,
    transfer,
)
from savepoint_cli.terminal.progress import compiling
from savepoint_formats.errors import (
    AmbiguousOperatorError,
    ClassNotNamedError,
    ColumnNotFoundError,
    ConditionError,
    FieldNotFoundError,
    KeyTypeError,
    OperatorNotFoundError,
    QueryError,
    SavepointError,
    SavepointWarning,
    StateNotFoundError,
    TableNotFoundError,
)
from savepoint_formats.printable import printable
from savepoint_formats.program.kernel.machine_code import watch_compilation

if TYPE_CHECKING:
    from collections.abc import Callable


# What was asked for in words, and the savepoint has not.
_OF_CALLS = (
    AmbiguousOperatorError,
    ClassNotNamedError,
    ColumnNotFoundError,
    ConditionError,
    FieldNotFoundError,
    KeyTypeError,
    OperatorNotFoundError,
    QueryError,
    StateNotFoundError,
    TableNotFoundError,
)


class WrongCallError(click.ClickException):
    """What was asked for in words is not there, or makes no sense."""

    exit_code = 2


class SavepointGroup(click.Group):
    """Turns what is wrong with a savepoint, or a call, into a line; warnings into lines."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Takes the words of a call, which are UTF-8: no name of a savepoint, file or type is else."""
        for number, word in enumerate(args, 1):
            try:
                word.encode()
            except UnicodeEncodeError as error:
                raise click.UsageError(
                    f"argument {number} is no UTF-8: {os.fsencode(word)!r}"
                ) from error
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command; anything but a ``SavepointError`` is a fault of ours, and shows."""
        watch_compilation(compiling)
        with warnings.catch_warnings():
            warnings.simplefilter("always", SavepointWarning)
            warnings.showwarning = _show(warnings.showwarning)
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()
            except SavepointError as error:
                is_of_call = isinstance(error, _OF_CALLS)
                kind = WrongCallError if is_of_call else click.ClickException
                raise kind(str(error)) from error
            except BrokenPipeError:
                # Whoever reads has enough, as in "| head"; what is left is for nobody.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                ctx.exit()
            return result

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands by what they are for."""
        width = max(map(len, self.commands))
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                rows = [
                    (str(command.name).ljust(width), words) for command, words in section.items()
                ]
                formatter.write_dl(rows)


def _show(show_others: Callable[..., None]) -> Callable[..., None]:
    """Shows what should be known of a savepoint as one line; all other warnings as they are."""

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

    PATH is the directory of a savepoint or checkpoint, or its _metadata file: a local path, or
    a URI such as s3://bucket/savepoint-1a2b.

    Exit codes: 0 done; 1 the savepoint is wrong, or what is asked can't be done with it; 2 the call
    is wrong: an option, a query, the name of an operator, a table or a column; 3 two savepoints are
    different, or one is not restorable as it is.
    """


_SECTIONS: dict[str, dict[click.Command, str]] = {
    "Look into a savepoint": {
        inspect.describe: "its format, operators and states",
        inspect.list_tables: "its tables, and what SQL calls them",
        inspect.schema: "the columns of tables, with their types",
        read.show: "rows of a table",
        query.query: "SQL over its tables, or a prompt for it",
        read.browse: "all of it on a full screen",
        audit.key: "all that a key has",
        inspect.files: "its files, and who refers to them",
        demo.demo: "a small savepoint, and a walk through these commands",
    },
    "Judge it": {
        checks.verify: "whether it is whole",
        doctor.doctor: "whether a release of Flink restores it",
        audit.stats: "what weighs: states, keys, skew, timers",
        checks.diff: "what differs from another one",
        kafka.kafka: "offsets and transactions of Kafka; other offsets",
    },
    "Many savepoints": {
        audit.snapshots: "all below a directory",
        audit.history: "what a key had in each of them",
        garbage.gc: "files that none of them needs",
    },
    "Write another one": {
        modify.copy: "the same, with every file that it needs",
        modify.rename_operator: "an operator under another uid",
        modify.remove_operator: "one operator less",
        modify.remove_state: "one state less",
        modify.rescale: "other parallelism, other key groups",
        modify.convert: "canonical, for another state backend",
        modify.classes: "classes of Kryo that migrate wants described",
        modify.migrate: "for Flink 2.x",
        change.rename_state: "a state under another name",
        change.rename_class: "a class of Java under another name",
        change.rename_field: "a field under another name",
        change.add_field: "one field more",
        change.drop_field: "one field less",
        change.widen_field: "a field of a wider type",
        change.update_state: "other values of a state, by SQL",
        change.delete_keys: "fewer keys, by SQL",
        local.merge_local: "ordinary keyed state of local one",
    },
    "Carry rows": {
        transfer.export_table: "a table to Parquet, Avro, CSV or JSON lines",
        transfer.import_table: "such a file as the state of an operator",
    },
}
"""Title -> the commands that ``--help`` lists below it, each with what it shows, or writes."""

for section in _SECTIONS.values():
    for command, words in section.items():
        command.short_help = words
        main.add_command(command)
