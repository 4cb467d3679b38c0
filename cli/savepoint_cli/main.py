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


for command in (
    inspect.describe,
    inspect.list_tables,
    inspect.schema,
    inspect.files,
    checks.verify,
    doctor.doctor,
    audit.stats,
    audit.key,
    checks.diff,
    garbage.gc,
    kafka.kafka,
    audit.snapshots,
    audit.history,
    read.show,
    query.query,
    read.browse,
    demo.demo,
    modify.copy,
    modify.rename_operator,
    modify.remove_operator,
    modify.remove_state,
    modify.rescale,
    modify.convert,
    modify.classes,
    modify.migrate,
    change.rename_state,
    change.rename_class,
    change.rename_field,
    change.add_field,
    change.drop_field,
    change.widen_field,
    change.update_state,
    change.delete_keys,
    local.merge_local,
    transfer.export_table,
    transfer.import_table,
):
    main.add_command(command)
