"""Commands that judge: whether a savepoint is whole, and how two differ.

A command ends with 1 if something is wrong with a savepoint, and with 3 if two are different, or
if some state can't be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion, options
from savepoint_cli.command_table import REPLICA
from savepoint_cli.engine import Engine, work_options
from savepoint_cli.terminal.output import OutputFormat
from savepoint_database import checks, types
from savepoint_formats.errors import DamagedError
from savepoint_formats.lazy_names import named
from savepoint_formats.printable import fields_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output
    from savepoint_database.checks.savepoint_diff import SavepointDiff
    from savepoint_database.checks.verification import Depth
    from savepoint_formats.checks.faults import Fault


DAMAGED = 1
NOT_READ = 3
DIFFERENT = 3


@options.inspection()
@click.option(
    "--quick/--deep",
    "is_quick",
    default=False,
    show_default=True,
    help="Check only files, sizes, headers and offsets, or every key and value too.",
)
@click.option(
    "--replica-of",
    metavar="SOURCE",
    shell_complete=completion.paths,
    help="Check that PATH is a complete copy of SOURCE: each byte, or with --quick each size.",
)
@work_options
def verify(
    output: Output, opening: Opening, engine: Engine, is_quick: bool, replica_of: str | None
) -> None:
    """Check that the savepoint at PATH is whole; show each fault, where it is, and what is lost.

    It checks that every file exists with its size, and that headers, sections, end marks and
    offsets are right. It checks that each key is once in its key group, that each value decodes to
    its last byte, and the checksums of RocksDB's tables. It goes on after a fault. State is "not
    read" if a class, a version or a store is unknown; each is named once. Severity "unchecked" does
    not count: only a class of the job could check that. Exit codes: 0 whole, 1 damaged, 3 not read.

    \b
    savepoint verify s3://jobs/orders/savepoint-1a2b --quick
    """
    if replica_of is not None:
        named(REPLICA)(output, opening, replica_of, is_quick=is_quick)
        return
    depth: Depth = "quick" if is_quick else "deep"
    try:
        verification = engine.open(opening).verify(depth)
    except DamagedError as error:
        verification = checks.Verification.of_unreadable(opening.path, depth, error)
    output.page(verification, ("Faults", list(map(fault_row, verification.faults))))
    if not verification.is_whole:
        is_damaged = any(fault.is_damage for fault in verification.faults)
        click.get_current_context().exit(DAMAGED if is_damaged else NOT_READ)


@options.inspection()
@click.argument("other", shell_complete=completion.paths)
@options.optional_table
@options.count_option(
    "rows", "-n", "--limit", "--rows", default=5, text="Maximum number of changes per table."
)
@click.option(
    "--all-columns", is_flag=True, help="Show updated rows whole, not only what differs in them."
)
@click.option("--changes", "is_feed", is_flag=True, help="Show all changes, and nothing else.")
@click.option("--with-times", is_flag=True, help="Compare the last access of state with TTL, too.")
@click.option("--full", is_flag=True, help="Read and count all rows, also of files that both have.")
@work_options
def diff(  # noqa: PLR0913, PLR0917  # the options of the command
    output: Output,
    opening: Opening,
    engine: Engine,
    other: str,
    table: str | None,
    rows: int,
    all_columns: bool,
    is_feed: bool,
    with_times: bool,
    full: bool,
) -> None:
    """Compare the savepoint at PATH with a later OTHER, or only one TABLE.

    State is compared key by key, so backends, formats, Flink releases and max parallelism may
    differ. Of an updated row, the text shows the key and the columns that differ. --changes shows
    all changes with all columns: change_type is insert, delete, or update_preimage followed by
    update_postimage. Exit codes: 0 equal, 3 different, 1 one can't be read.

    \b
    savepoint diff s3://jobs/orders/savepoint-1a2b s3://jobs/orders/savepoint-5e6f
    savepoint diff before after summarize.keyed_state --changes --output json
    """
    before = engine.open(opening)
    comparison = before.diff(
        opening.open_later(other, before), table, with_times=with_times, full=full
    )
    if is_feed:
        is_equal = _feed(output, comparison)
    else:
        is_equal, differences = comparison.is_equal, comparison.differences
        page = {
            "before": opening.path,
            "after": other,
            "result": "equal" if is_equal else "different",
            "is_equal": is_equal,
            "differences": differences,
            "tables": comparison.tables,
        }
        tables = [fields_of(table) | _counted(table.unchanged) for table in comparison.tables]
        output.page(page, ("Differences", differences), ("Tables", tables))
        if output.format is OutputFormat.TEXT:
            _show_samples(output, comparison, rows, all_columns)
    if not is_equal:
        click.get_current_context().exit(DIFFERENT)


def _counted(unchanged: int | None) -> dict[str, int | str]:
    return {"unchanged": "not counted" if unchanged is None else unchanged}


def _show_samples(output: Output, diff: SavepointDiff, rows: int, all_columns: bool) -> None:
    from savepoint_database.checks.table_diff import CHANGE_TYPE, POSTIMAGE, PREIMAGE  # noqa: PLC0415  # imports DuckDB

    for table in diff.tables if rows else ():
        if table.is_equal:
            continue
        sample = diff.samples(table.table, rows)
        shown, names = types.printable_rows(sample), sample.schema.names
        lone = [row for row in shown if row[CHANGE_TYPE] not in (PREIMAGE, POSTIMAGE)]
        images = [row for row in shown if row[CHANGE_TYPE] in (PREIMAGE, POSTIMAGE)]
        keys = (CHANGE_TYPE, *diff.key_columns(table.table))
        changed = names if all_columns else _changed(images, names, keys)
        count = table.inserted + table.deleted + table.updated
        title = f"Changes of {table.table}: {len(shown) - len(images) // 2} of {count} shown"
        if len(changed) == len(names):
            _show_changes(output, title, names, shown)
            continue
        if lone:
            _show_changes(output, f"{title}, inserted and deleted", names, lone)
        hint = "updated (--all-columns shows the columns that are the same)"
        _show_changes(output, f"{title}, {hint}", changed, images)


def _changed(
    images: list[dict[str, Any]], names: Sequence[str], keys: Collection[str]
) -> Sequence[str]:
    """Keys, and the columns that differ between the images of any update; all if there are none."""
    # 0.0 is another value than -0.0, and NaN is the same as NaN.
    different = {
        name
        for before, after in zip(images[::2], images[1::2], strict=True)
        for name in names
        if name not in keys and repr(before[name]) != repr(after[name])
    }
    return [name for name in names if name in different or name in keys] if different else names


def _show_changes(
    output: Output, title: str, names: Sequence[str], rows: list[dict[str, Any]]
) -> None:
    # A pipe has no titles, and must not look whole either.
    click.echo("" if output.explains else title, err=not output.explains)
    output.values(title, names, rows)


def _feed(output: Output, diff: SavepointDiff) -> bool:
    """Prints all changes as they are read; returns whether there are none."""
    is_equal = all(difference.kind == "setting" for difference in diff.differences)
    for table in diff.table_names:
        for batch in diff.changes(table):
            is_equal = False
            shown = [{"table": table, **row} for row in types.printable_rows(batch)]
            output.values("", ["table", *batch.schema.names], shown)
    return is_equal


def fault_row(fault: Fault) -> dict[str, Any]:
    """A fault in few columns, for people."""
    offset = "" if fault.offset is None else f" at byte {fault.offset}"
    places = {
        "operator ": fault.operator,
        "subtask ": "" if fault.subtask is None else str(fault.subtask),
        "state ": fault.state,
        "key group ": fault.key_group,
        "": fault.file and f"{fault.file}{offset}",
    }
    return {
        "severity": fault.severity,
        "check": fault.check,
        "where": tuple(f"{name}{place}" for name, place in places.items() if place),
        "problem": fault.problem,
        "cost": fault.cost,
    }
