"""Commands about backups: making them with a rule for old ones, and trying them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import state_processor
from savepoint_cli import completion, options
from savepoint_cli.checks import fault_row
from savepoint_extensions.backup.retention import Retention

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output

DAMAGED = 1
NOT_READ = 3


def _rule(text: str) -> str:
    try:
        Retention.of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return text


@options.inspection()
@click.argument("onto", shell_complete=completion.paths)
@click.option(
    "--keep",
    metavar="RULE",
    callback=options.callback(_rule),
    help="Then remove older backups, except the newest of each of so many hours (h), days (d), weeks"
    " (w), months (m) or years (y): 7d,4w.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Read the files that are there already, and repair those whose bytes are wrong. By default,"
    " files of the right size are not read.",
)
@click.option(
    "--dry-run", is_flag=True, help="Tell what would be copied and removed, and write nothing."
)
def backup(
    output: Output, opening: Opening, onto: str, keep: str | None, *, check: bool, dry_run: bool
) -> None:
    """Back up the snapshot at PATH into the directory ONTO, beside earlier backups of its job.

    Files that are in ONTO already are not copied. Each backup has all that it needs in ONTO, which can
    be moved as a whole; Flink restores it, and all commands read it. It appears when it is complete.
    Several programs may write to ONTO and prune it at once. Restore with -claimMode NO_CLAIM: Flink
    deletes the files of a snapshot that it claims, and other backups need them, too. With --check,
    exit code 1 means that a damaged file stays: the snapshot lacks its bytes, or it is an
    unreadable _metadata of an earlier backup.

    \b
    savepoint backup s3://jobs/orders/chk-17 s3://backups/orders
    savepoint backup flink://jobmanager:8081/orders s3://backups/orders --keep 7d,4w
    """
    if check and dry_run:
        raise click.UsageError("--dry-run reads no files: leave --check out")
    made = opening.open().backup(onto, keep=keep, check=check, dry_run=dry_run)
    pruned = made.pruned
    tables = [] if pruned is None else [("Backups", pruned.backups)]
    output.page(made, *tables)
    for name in made.incomplete:
        output.note(f"{name} has no _metadata: its write died, or it is a backup that has lost it")
    if {*made.damaged} - {*made.repaired}:
        click.get_current_context().exit(DAMAGED)


@options.inspection(name="restore-drill")
def drill(output: Output, opening: Opening) -> None:
    """Try out the backup at PATH as far as that goes without Flink.

    It is opened, and no file outside of it stands in for a missing one. The bytes of its files are
    compared with the checksums in their names, all state is verified, and each table is read to its
    last row. For a directory of backups, the newest one is tried. The how-to "Back up checkpoints" has a script
    that lets a Flink restore it, too. Exit codes: 0 passed, 1 damaged, 3 not read.

    \b
    savepoint restore-drill s3://backups/orders
    """
    settings = opening.settings
    answer = state_processor.restore_drill(
        opening.path,
        uids=settings["uids"],
        kryo_classes=settings["kryo_classes"],
        allow_paths=settings["allow_paths"],
        key_types=settings["key_types"],
        plan=settings["plan"],
        types=settings["types"],
    )
    output.page(answer, ("Tables", answer.tables), ("Faults", list(map(fault_row, answer.faults))))
    if not answer.is_passed:
        is_damaged = any(fault.is_damage for fault in answer.faults)
        click.get_current_context().exit(DAMAGED if is_damaged else NOT_READ)


def replica(output: Output, opening: Opening, source: str, *, is_quick: bool) -> None:
    """Shows whether a snapshot is a complete copy of another one: ``verify --replica-of``."""
    answer = opening.open().verify_replica(source, "quick" if is_quick else "deep")
    output.page(answer, ("Faults", list(map(fault_row, answer.faults))))
    if not answer.is_complete:
        is_damaged = any(fault.is_damage for fault in answer.faults)
        click.get_current_context().exit(DAMAGED if is_damaged else NOT_READ)
