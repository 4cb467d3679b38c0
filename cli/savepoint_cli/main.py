"""The command line: ``savepoint describe``, ``show``, ``query``, ``copy``..."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import audit, checks, garbage, inspect, kafka, local, modify, read, transfer
from savepoint_cli.progress import compiling
from savepoint_formats.errors import SavepointError, SavepointWarning
from savepoint_formats.printable import printable
from savepoint_formats.program.kernel.machine_code import watch_compilation

if TYPE_CHECKING:
    from collections.abc import Callable


class SavepointGroup(click.Group):
    """Turns what is wrong with a savepoint into one line and exit code 1; warnings into lines."""

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command; anything but a ``SavepointError`` is a fault of ours, and shows."""
        watch_compilation(compiling)
        with warnings.catch_warnings():
            warnings.simplefilter("always", SavepointWarning)
            warnings.showwarning = _show(warnings.showwarning)
            try:
                return super().invoke(ctx)
            except SavepointError as error:
                raise click.ClickException(str(error)) from error


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
    a URI such as s3://bucket/savepoint-1a2b. Exit codes: 0 done, 1 the savepoint is wrong, 2 the
    call is wrong, 3 two savepoints are different.
    """


for command in (
    inspect.describe,
    inspect.list_tables,
    inspect.schema,
    inspect.files,
    checks.verify,
    audit.stats,
    audit.key,
    checks.diff,
    garbage.gc,
    kafka.kafka,
    audit.snapshots,
    audit.history,
    read.show,
    read.query,
    modify.copy,
    modify.rename_operator,
    modify.remove_operator,
    modify.remove_state,
    modify.rescale,
    local.merge_local,
    transfer.export_table,
    transfer.import_table,
):
    main.add_command(command)
