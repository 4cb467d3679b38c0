"""Commands that write a savepoint from another one.

Copies need no Spark; a session starts only if state is rewritten.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion, option_groups, options
from savepoint_cli.command_table import PRINT_CHANGE
from savepoint_cli.engine import started_session
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import format_option
from savepoint_formats.key_groups import MAX_PARALLELISM
from savepoint_formats.lazy_names import named
from savepoint_formats.printable import printable
from savepoint_spark.session import task_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output
    from state_processor import SavepointWriter
    from state_processor.savepoint.changes import SnapshotFormat
    from state_processor.savepoint.write_summaries import PlannedSavepoint, WrittenSavepoint

    Change = Callable[..., SavepointWriter]


_OLD_OUT = "savepoint_cli.out"


@dataclass(frozen=True, slots=True)
class Destination:
    """The place where a command writes a savepoint; a dry run only checks."""

    out: str
    overwrite: bool
    dry_run: bool

    def is_wanted(self, *, has_change: bool) -> bool:
        """Whether there is something to write; a change without OUT is a wrong call."""
        if bool(self.out) != has_change:
            raise click.UsageError("a change needs OUT, and OUT needs a change")
        return has_change

    def write(
        self,
        output: Output,
        writer: SavepointWriter,
        changed: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    ) -> None:
        """Writes the savepoint, or prints what would be written.

        ``changed`` has rows of a dry run, by their name in JSON.
        """
        mode = "overwrite" if self.overwrite else "error"
        plan = writer.plan(self.out, mode, check=self.dry_run)
        if self.dry_run:
            _show(output, plan, changed or {})
            return
        tasks = None
        if writer.needs_session:
            spark = writer.spark or started_session()
            writer, tasks = writer.with_session(spark), partial(task_count, spark)
        with progress.writing(f"Writing {self.out}", plan.copied_size, tasks) as on_progress:
            written = writer.write(self.out, mode, on_progress)
        output.page(written, *_tables(written))


def _show(
    output: Output, plan: PlannedSavepoint, changed: Mapping[str, Sequence[dict[str, Any]]]
) -> None:
    if changed and output.is_json:
        output.page({**asdict(plan), **changed})
        return
    for name, rows in changed.items():
        output.rows(name.capitalize(), rows)
    counts = [("Counts", plan.counts)] if plan.counts else []
    output.page(plan, *_tables(plan), *counts)


def _tables(summary: PlannedSavepoint | WrittenSavepoint) -> list[tuple[str, Sequence[Any]]]:
    """Tables of the changed query, of the operators, and of masked fields."""
    query = [("Query", summary.sql_changes)] if summary.sql_changes else []
    masked = [("Fields", summary.masked)] if summary.masked else []
    return [*query, ("Operators", summary.operators), *masked]


overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Replace an existing savepoint at OUT."
)
dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Check, and report what would be written, but write nothing. Changed state is read and"
    " encoded as for a write. Not checked: whether OUT is writable and has room, and whether"
    " copied files are whole.",
)
destination = option_groups.collected(
    "destination",
    Destination,
    click.argument("out", shell_complete=completion.paths),
    overwrite_option,
    dry_run_option,
)
"""The argument OUT and the options of a command that writes a savepoint."""


def prints_change(command: Callable[..., None]) -> Callable[..., None]:
    """Adds ``--print-change`` to a command, which then only prints its change for ``apply``."""

    @click.option(
        "--print-change",
        is_flag=True,
        help="Print this change as an entry of a file for savepoint apply, and write nothing.",
    )
    @wraps(command)
    def run(*, print_change: bool, **values: Any) -> None:
        if print_change:
            named(PRINT_CHANGE)(click.get_current_context())
        else:
            command(**values)

    return run


_optional_destination = option_groups.collected(
    "destination",
    Destination,
    click.argument(
        "out",
        required=False,
        default="",
        shell_complete=completion.paths,
        callback=lambda context, _, out: out or context.meta.get(_OLD_OUT, ""),
    ),
    # Before OUT was an argument of each command; it still works.
    click.option(
        "--out",
        "old_out",
        metavar="OUT",
        hidden=True,
        expose_value=False,
        is_eager=True,
        callback=lambda context, _, out: context.meta.update({_OLD_OUT: out or ""}),
    ),
    overwrite_option,
    click.option(
        "--dry-run",
        is_flag=True,
        help="Check, and report what would be written, but write nothing.",
    ),
)


def change_destination(command: Callable[..., None]) -> Callable[..., None]:
    """The argument OUT and the options of a command that changes a savepoint."""
    return destination(prints_change(command))


def optional_destination(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that shows something, and writes a savepoint if it has a change."""
    return _optional_destination(prints_change(command))


def writes(change: Change) -> Callable[..., None]:
    """Makes a command of a function that changes a writer, with the options of ``change_destination``."""

    @wraps(change)
    def run(output: Output, opening: Opening, destination: Destination, **values: Any) -> None:
        writer = opening.open().writer()
        with errors_of_spark():
            with usage_errors():
                changed = change(writer, **values)
            destination.write(output, changed)

    return change_destination(run)


@contextmanager
def errors_of_spark() -> Iterator[None]:
    """Reports SQL that Spark can't analyse as a wrong call, and its other errors as one line."""
    try:
        yield
    except Exception as error:
        # If PySpark is not imported, the error is not Spark's.
        errors = sys.modules.get("pyspark.errors")
        if errors is None or not isinstance(error, errors.PySparkException):
            raise
        is_of_call = isinstance(error, errors.AnalysisException)
        reported = click.UsageError if is_of_call else click.ClickException
        line = str(error).strip().partition("\n")[0]
        raise reported(printable("; ".join([line, *getattr(error, "__notes__", ())]))) from error


@options.inspection()
@destination
def copy(output: Output, opening: Opening, destination: Destination) -> None:
    """Copy the savepoint or checkpoint at PATH to OUT, with every file that it refers to.

    The copy needs no other directory: you can move it, and delete files that the original shared
    with other checkpoints.

    \b
    savepoint copy s3://jobs/orders/chk-42 s3://archive/orders
    """
    destination.write(output, opening.open().writer())


@options.inspection()
@click.argument("old", shell_complete=completion.operators)
@click.argument("new")
@writes
def rename_operator(writer: SavepointWriter, old: str, new: str) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with the operator OLD renamed to NEW.

    OLD and NEW are uids, or hashes of uids.

    \b
    savepoint rename-operator s3://jobs/savepoint-1a2b summarize totals s3://jobs/renamed
    """
    return writer.rename_operator(old, new)


@options.inspection()
@click.argument("operator", nargs=-1, metavar="[OPERATOR]", shell_complete=completion.operators)
@click.option("--empty", is_flag=True, help="Remove all operators without state.")
@click.option(
    "--all-but",
    multiple=True,
    metavar="OPERATOR",
    shell_complete=completion.operators,
    help="Remove all operators but this. Repeatable.",
)
@writes
def remove_operator(
    writer: SavepointWriter, operator: tuple[str, ...], all_but: tuple[str, ...], *, empty: bool
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, without each OPERATOR and its state.

    OPERATOR is a uid, or the hash of one. An operator without state has nothing stored, or only empty
    lists and tables.

    \b
    savepoint remove-operator s3://jobs/savepoint-1a2b old-sink s3://jobs/without-it
    savepoint remove-operator s3://jobs/savepoint-1a2b s3://jobs/with-state --empty
    """
    return writer.remove_operator(*operator, empty=empty, all_but=all_but)


@options.inspection()
@options.operator
@options.state
@writes
def remove_state(writer: SavepointWriter, operator: str, state: str) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, without the STATE of the OPERATOR.

    OPERATOR is a uid, or the hash of one. Spark copies the other states as unchanged bytes.

    \b
    savepoint remove-state s3://jobs/savepoint-1a2b summarize count s3://jobs/without-it
    """
    return writer.remove_state(operator, state)


@options.inspection()
@click.option(
    "--max-parallelism",
    metavar="COUNT",
    type=click.IntRange(1, MAX_PARALLELISM),
    help="The new number of key groups; unchanged by default.",
)
@click.option(
    "--parallelism",
    metavar="COUNT",
    type=click.IntRange(1, MAX_PARALLELISM),
    help="The new number of subtasks; unchanged by default.",
)
@click.option(
    "--hash-codes",
    multiple=True,
    metavar="OPERATOR=SHAPE",
    callback=options.pairs("OPERATOR=SHAPE", str.strip),
    shell_complete=completion.followed("=", completion.operators),
    help="How a key class computes its own hashCode, such as 'orders=Objects.hash(id, name)';"
    " inferred by default. Repeatable.",
)
@writes
def rescale(
    writer: SavepointWriter,
    max_parallelism: int | None,
    parallelism: int | None,
    hash_codes: dict[str, str],
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with its state spread over other key groups and subtasks.

    Keys are hashed anew if max parallelism changes. Spark copies values as unchanged bytes.

    \b
    savepoint rescale s3://jobs/savepoint-1a2b s3://jobs/wider --max-parallelism 1024
    """
    if max_parallelism is None and parallelism is None:
        raise click.UsageError("Nothing changes: add --max-parallelism, --parallelism or both.")
    return writer.rescale(
        max_parallelism=max_parallelism, parallelism=parallelism, hash_codes=hash_codes
    )


@options.inspection()
@format_option(
    "--to",
    "to",
    type=click.Choice(["canonical"]),
    default="canonical",
    show_default=True,
    help="The format of OUT: canonical, which the heap and RocksDB backends restore.",
)
@click.option(
    "--drop-in-flight",
    is_flag=True,
    help="Drop the records in flight of an unaligned checkpoint, and say how many; the new job never"
    " sees them.",
)
@writes
def convert(
    writer: SavepointWriter, to: SnapshotFormat, *, drop_in_flight: bool
) -> SavepointWriter:
    """Copy the savepoint or checkpoint at PATH to OUT, with its keyed state in another format.

    With the copy, a job can change its state backend. Native savepoints and checkpoints of RocksDB,
    ForSt, the heap and changelogs become a canonical savepoint that needs only its directory.
    Nothing else changes. Spark copies values as unchanged bytes.

    \b
    savepoint convert s3://jobs/orders/chk-42 s3://jobs/canonical
    """
    return writer.convert(to=to, drop_in_flight=drop_in_flight)


@options.inspection()
@options.operator_option("The operator's uid, or its hash.", required=True)
@options.merge_option("How to merge a state's instances into one value: sum, min, max or concat.")
@writes
def merge_local(writer: SavepointWriter, operator: str, merge: dict[str, str]) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with an operator's local state merged into ordinary state.

    Spark merges a key's instances from all subtasks into one value; lists are appended. Flink
    restores the result.

    \b
    savepoint merge-local s3://jobs/local s3://jobs/merged --operator counts --merge count=sum
    """
    return writer.merge_local(operator, merge)
