"""Commands that write a savepoint from another one: they copy bytes, so none starts Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.inspect import inspection, open_savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_cli.output import Output
    from state_processor import SavepointWriter


def destination(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options of a command that writes."""
    for decorate in (
        click.option(
            "--dry-run", is_flag=True, help="Only say what would be written; write nothing."
        ),
        click.option("--overwrite", is_flag=True, help="Replace a savepoint that lies at OUT."),
        click.argument("out"),
    ):
        command = decorate(command)
    return command


def _write(
    output: Output, writer: SavepointWriter, out: str, *, overwrite: bool, dry_run: bool
) -> None:
    """Writes a savepoint, or says what would be written."""
    mode = "overwrite" if overwrite else "error"
    plan = writer.plan(out, mode)
    if dry_run:
        output.page(plan, ("Operators", plan.operators))
        return
    with output.progress(f"Writing {out}", plan.copied_size) as on_progress:
        written = writer.write(out, mode, on_progress)
    output.page(written, ("Operators", written.operators))


@click.command()
@inspection
@destination
def copy(output: Output, path: str, out: str, overwrite: bool, dry_run: bool, **uids: Any) -> None:
    """Copy the savepoint or checkpoint at PATH to OUT, with every file that it refers to.

    The copy needs no other directory: it can be moved, and what the original shared with other
    checkpoints may go.

    \b
    savepoint copy s3://jobs/orders/chk-42 s3://archive/orders
    """
    savepoint = open_savepoint(path, **uids)
    _write(output, savepoint.writer(), out, overwrite=overwrite, dry_run=dry_run)


@click.command()
@inspection
@click.argument("old")
@click.argument("new")
@destination
def rename_operator(
    output: Output,
    path: str,
    old: str,
    new: str,
    out: str,
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint at PATH to OUT; the state of operator OLD becomes that of NEW.

    OLD and NEW are uids, or hashes of uids.

    \b
    savepoint rename-operator s3://jobs/savepoint-1a2b summarize totals s3://jobs/renamed
    """
    writer = open_savepoint(path, **uids).rename_operator(old, new)
    _write(output, writer, out, overwrite=overwrite, dry_run=dry_run)


@click.command()
@inspection
@click.argument("operator")
@destination
def remove_operator(
    output: Output,
    path: str,
    operator: str,
    out: str,
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, without the OPERATOR and its state.

    OPERATOR is a uid, or the hash of one.

    \b
    savepoint remove-operator s3://jobs/savepoint-1a2b old-sink s3://jobs/without-it
    """
    writer = open_savepoint(path, **uids).remove_operator(operator)
    _write(output, writer, out, overwrite=overwrite, dry_run=dry_run)
