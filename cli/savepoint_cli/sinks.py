"""The command about sinks: pending commits and writers' states, and savepoints without them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from savepoint_cli import options
from savepoint_cli.modify import optional_destination

if TYPE_CHECKING:
    from savepoint_cli.modify import Destination
    from savepoint_cli.options import Opening
    from savepoint_cli.terminal.output import Output


@dataclass(frozen=True, slots=True)
class SinkChanges:
    """Changes that a command makes, as arguments of ``Savepoint.change_sinks``."""

    drop: str | None
    keep: str | None
    checkpoint: int | None
    transactional_prefix: str | None


_changes = options.collected(
    "changes",
    SinkChanges,
    click.option("--drop", metavar="CONDITION", help="Drop these entries, or all. Needs --out."),
    click.option("--keep", metavar="CONDITION", help="Drop all other entries. Needs --out."),
    click.option(
        "--renumber",
        "checkpoint",
        metavar="ID",
        type=click.IntRange(min=0),
        help="Give the newest pending commit this checkpoint id. Needs --out.",
    ),
    click.option(
        "--transactional-prefix",
        metavar="PREFIX",
        help="Give Kafka writers this prefix of transactional ids. Needs --out.",
    ),
)


@options.inspection()
@_changes
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Save dropped entries in FILE, a JSON line each.",
)
@optional_destination
def sinks(
    output: Output,
    opening: Opening,
    changes: SinkChanges,
    save: Path | None,
    destination: Destination,
) -> None:
    """Show the state of the sinks in the savepoint at PATH: pending commits, writers' states.

    A restored job repeats pending commits. One that can't succeed any more keeps the job from
    starting. --drop writes a savepoint without it; the data of that commit is lost unless you
    commit it by hand. CONDITION is SQL about the columns shown, such as "checkpoint < 17".

    \b
    savepoint sinks s3://jobs/orders/savepoint-1a2b
    savepoint sinks s3://jobs/orders/savepoint-1a2b --drop "kind = 'commit'" --out s3://jobs/mended
    """
    arguments = asdict(changes)
    has_change = any(change is not None for change in arguments.values())
    is_wanted = destination.is_wanted(has_change=has_change)
    if save is not None and changes.drop is changes.keep is None:
        raise click.UsageError("--save needs --drop or --keep")
    savepoint = opening.open()
    state = savepoint.sinks()
    if not is_wanted:
        output.page(state, ("Entries", state.entries))
        return
    with options.usage_errors():
        dropped = state.dropped(changes.drop, changes.keep)
        writer = savepoint.change_sinks(**arguments)
    for entry in dropped:
        click.echo(
            f"drop {entry.kind} {entry.number} of {entry.operator}: {entry.content}", err=True
        )
    if save is not None and not destination.dry_run:
        save.write_text("".join(f"{json.dumps(asdict(entry))}\n" for entry in dropped), "utf-8")
        click.echo(f"saved {len(dropped)} entries in {save}", err=True)
    destination.write(output, writer)
