"""Commands that write a savepoint from another one.

What is copied needs no Spark; a session is started where state is spread or filtered anew.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from savepoint_cli import completion
from savepoint_cli.engine import started_session
from savepoint_cli.options import inspection, merge_option, open_savepoint, usage_errors
from savepoint_cli.terminal import progress
from savepoint_cli.terminal.help import command
from savepoint_database.types.class_library import ClassLibrary
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.ranges import MAX_PARALLELISM
from savepoint_spark.savepoint.changes import FlinkRelease
from savepoint_spark.session.session import task_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_cli.terminal.output import Output
    from savepoint_spark.savepoint.changes import SnapshotFormat
    from state_processor import SavepointWriter


def destination(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options of a command that writes."""
    for decorate in (
        click.option(
            "--dry-run",
            is_flag=True,
            help="Check and say what would be written; write nothing. State that changes is read,"
            " and encoded, as for a write. What that can't know: whether OUT can be written to and"
            " has room, and whether files that are only copied are whole.",
        ),
        click.option("--overwrite", is_flag=True, help="Replace a savepoint that lies at OUT."),
        click.argument("out", shell_complete=completion.paths),
    ):
        command = decorate(command)
    return command


def write_savepoint(
    output: Output, writer: SavepointWriter, out: str, *, overwrite: bool, dry_run: bool
) -> None:
    """Writes a savepoint, or says what would be written."""
    mode = "overwrite" if overwrite else "error"
    plan = writer.plan(out, mode, check=dry_run)
    if dry_run:
        output.page(plan, ("Operators", plan.operators))
        return
    tasks = None
    if writer.needs_session:
        spark = writer.spark or started_session()
        writer, tasks = writer.with_session(spark), partial(task_count, spark)
    with progress.writing(f"Writing {out}", plan.copied_size, tasks) as on_progress:
        written = writer.write(out, mode, on_progress)
    output.page(written, ("Operators", written.operators))


@command()
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
    write_savepoint(output, savepoint.writer(), out, overwrite=overwrite, dry_run=dry_run)


@command()
@inspection
@click.argument("old", shell_complete=completion.operators)
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
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)


@command()
@inspection
@click.argument("operator", shell_complete=completion.operators)
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
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)


@command()
@inspection
@click.argument("operator", shell_complete=completion.operators)
@click.argument("state", shell_complete=completion.states)
@destination
def remove_state(
    output: Output,
    path: str,
    operator: str,
    state: str,
    out: str,
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, without the STATE of the OPERATOR.

    OPERATOR is a uid, or the hash of one. The other states pass through as the bytes that they
    are, by Spark.

    \b
    savepoint remove-state s3://jobs/savepoint-1a2b summarize count s3://jobs/without-it
    """
    writer = open_savepoint(path, **uids).writer().remove_state(operator, state)
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)


@command()
@inspection
@click.option(
    "--max-parallelism",
    metavar="COUNT",
    type=click.IntRange(1, MAX_PARALLELISM),
    help="The new number of key groups; as before by default.",
)
@click.option(
    "--parallelism",
    metavar="COUNT",
    type=click.IntRange(1, MAX_PARALLELISM),
    help="The new number of subtasks; as before by default.",
)
@click.option(
    "--hash-codes",
    multiple=True,
    metavar="OPERATOR=SHAPE",
    shell_complete=completion.followed("=", completion.operators),
    help="How keys are hashed whose class has a hashCode of its own, such as"
    " 'orders=Objects.hash(id, name)'; inferred by default. Repeatable.",
)
@destination
def rescale(
    output: Output,
    path: str,
    out: str,
    max_parallelism: int | None,
    parallelism: int | None,
    hash_codes: tuple[str, ...],
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, with its state spread over other key groups and subtasks.

    Keys are hashed anew if max parallelism changes; values pass through as the bytes that they
    are, by Spark.

    \b
    savepoint rescale s3://jobs/savepoint-1a2b s3://jobs/wider --max-parallelism 1024
    """
    if max_parallelism is None and parallelism is None:
        raise click.UsageError("Nothing changes: add --max-parallelism, --parallelism or both.")
    writer = open_savepoint(path, **uids).writer()
    try:
        writer = writer.rescale(
            max_parallelism=max_parallelism,
            parallelism=parallelism,
            hash_codes=dict(map(_hash_code, hash_codes)),
        )
    except SavepointError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)


@command()
@inspection
@click.option(
    "--format",
    "--to",
    "to",
    metavar="FORMAT",
    type=click.Choice(["canonical"]),
    default="canonical",
    show_default=True,
    help="The format of OUT: canonical, which the backends of the heap and of RocksDB restore.",
)
@destination
def convert(
    output: Output,
    path: str,
    out: str,
    to: SnapshotFormat,
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint or checkpoint at PATH to OUT, with its keyed state in another format.

    So a job changes its state backend: native savepoints and checkpoints of RocksDB, ForSt, the
    heap and changelogs become a canonical savepoint that needs nothing but its directory. Nothing
    else changes. Values pass through as the bytes that they are, by Spark.

    \b
    savepoint convert s3://jobs/orders/chk-42 s3://jobs/canonical
    """
    writer = open_savepoint(path, **uids).convert(to=to)
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)


@command()
@inspection
@click.option(
    "--jar",
    "jars",
    multiple=True,
    type=click.Path(),
    help="A jar, or a directory of class files, which tells the fields of classes. Repeatable.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Path(),
    help="A directory with .java files, which tell the same; it needs the extra java. Repeatable.",
)
def classes(
    output: Output, path: str, jars: tuple[str, ...], sources: tuple[str, ...], **uids: Any
) -> None:
    """Print the classes of values that have to be described, as YAML to fill in.

    Kryo wrote their objects, or they extend a POJO, and no serializer describes them. All objects of
    Kryo and all POJOs in the savepoint at PATH are read. Behind one of an unknown class nothing can
    be: give the file with its fields as --classes, and the next classes are added to it. Of Flink 1
    the POJOs are listed too around collections whose types migrate can't tell. Class files or
    sources of the job fill in the fields. They are read and parsed, nothing is loaded or run.

    \b
    savepoint classes s3://jobs/flink-1.20
    savepoint classes s3://jobs/flink-1.20 --jar app.jar
    savepoint classes s3://jobs/flink-1.20 --source src/main/java
    """
    from savepoint_database.types.class_descriptions import class_descriptions_text  # noqa: PLC0415  # YAML is slow

    savepoint, reason = open_savepoint(path, **uids), None
    with progress.counting(f"Looking for classes in {path}", "values") as on_progress:
        if jars or sources:
            savepoint = savepoint.with_classes_of(jars, sources=sources, on_progress=on_progress)
            reason = ClassLibrary.of(jars, sources).reason
        unknown = savepoint.classes_to_describe(on_progress)
    output.text({}, class_descriptions_text(savepoint.kryo.classes, unknown, reason))


@command()
@inspection
@click.option(
    "--target",
    type=click.Choice(get_args(FlinkRelease)),
    default="2.2",
    show_default=True,
    help="The release of Flink that is to restore it; what is written is the same for all of 2.x.",
)
@click.option(
    "--skip-state",
    multiple=True,
    metavar="OPERATOR/STATE",
    shell_complete=completion.operator_states,
    help="A state that is left out. Repeatable.",
)
@click.option(
    "--rename-class",
    "renamed",
    multiple=True,
    metavar="OLD=NEW",
    help="A class that has another name in the job of Flink 2.x. Repeatable.",
)
@destination
def migrate(
    output: Output,
    path: str,
    out: str,
    target: FlinkRelease,
    skip_state: tuple[str, ...],
    renamed: tuple[str, ...],
    overwrite: bool,
    dry_run: bool,
    **uids: Any,
) -> None:
    """Copy the savepoint of Flink 1.x at PATH to OUT, as Flink 2.x restores it.

    Objects of Kryo are written as Kryo 5 has them, and the List, Map and Set fields of POJOs with
    the serializers that Flink 2.x has for them, by Spark. All else is copied. What can't be taken
    along, or is not known, is refused, all of it at once, but for what --skip-state leaves out.

    \b
    savepoint migrate s3://jobs/flink-1.20 s3://jobs/flink-2.2 --target 2.2
    """
    writer = open_savepoint(path, **uids).writer()
    for skipped in skip_state:
        operator, is_given, state = skipped.rpartition("/")
        if not is_given:
            raise click.UsageError(f"--skip-state {skipped}: expected OPERATOR/STATE")
        writer = writer.remove_state(operator, state)
    try:
        writer = writer.migrate(target, rename_classes=dict(map(_renamed, renamed)))
    except SavepointError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    write_savepoint(output, writer, out, overwrite=overwrite, dry_run=dry_run)


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


def _renamed(option: str) -> tuple[str, str]:
    old, _, new = option.partition("=")
    if not old or not new:
        raise click.UsageError(f"--rename-class {option}: expected OLD=NEW")
    return old, new


def _hash_code(option: str) -> tuple[str, str]:
    uid, is_given, shape = option.rpartition("=")
    if not is_given:
        raise click.UsageError(f"--hash-codes {option}: expected OPERATOR=SHAPE")
    return uid, shape.strip()
