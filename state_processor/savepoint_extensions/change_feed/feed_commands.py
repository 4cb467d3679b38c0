"""The command that shows each change of state: between two snapshots, or as a job makes checkpoints."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion, options
from savepoint_cli.opening import usage_errors
from savepoint_database import types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import timedelta

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from savepoint_extensions.change_feed.change_feed import StateBatch
    from savepoint_extensions.change_feed.followed import CheckpointChanges, Since

CHECKPOINT = "checkpoint"
_RARE = ("subtask", "key", "namespace", "map_key")
# Not those of the feed, whose module imports Arrow.
_NAMES = ("operator", "state", *_RARE, "before", "after", "kind")

Rows = list[dict[str, Any]]


def _since(text: str) -> Since:
    if text in ("oldest", "newest"):
        return text  # type: ignore[return-value]  # one of both
    if not text.isdecimal():
        raise click.BadParameter(f"{text!r}, expected the id of a checkpoint, oldest or newest")
    return int(text)


@options.inspection()
@click.argument("other", required=False, shell_complete=completion.paths)
@options.operator_option("Only this operator.")
@click.option(
    "--state",
    metavar="STATE",
    help="Only states of this name; an operator's timers are called timers.",
)
@click.option("--with-times", is_flag=True, help="Compare the last access of state with TTL, too.")
@click.option(
    "--replace-types",
    "new_types",
    flag_value="replace",
    default="refuse",
    help="If a state has another type, show all its old values as removed and all new ones as added.",
)
@click.option("--follow", is_flag=True, help="Wait for new checkpoints in the directory PATH.")
@click.option(
    "--since",
    metavar="ID",
    callback=options.callback(_since),
    help="Begin after this checkpoint in the directory PATH: its id, oldest, or newest. By default the"
    " oldest, with --follow the newest.",
)
@click.option(
    "--skip-gone",
    is_flag=True,
    help="Go on if the job has deleted a checkpoint before its changes were read.",
)
@click.option(
    "--every",
    metavar="DURATION",
    default="10s",
    show_default=True,
    callback=options.callback(options.interval),
    help="Time between looks for a new checkpoint.",
)
def changes(  # the options of the command
    output: Output,
    opening: Opening,
    other: str | None,
    follow: bool,
    since: Since | None,
    skip_gone: bool,
    every: timedelta,
    **wanted: Any,
) -> None:
    """Show each change of state from the savepoint at PATH to a later OTHER.

    A row is a value of a key, an entry of a map, a timer or an element: added, removed or changed, with its
    value before and after. Without OTHER, PATH is the directory of a job with chk-1, chk-2…; the
    changes from each checkpoint to the next are shown, and with --follow those of new ones. Let the
    job retain several checkpoints. Exit codes: 0 done, 1 one can't be read, or is gone.

    \b
    savepoint changes s3://jobs/orders/savepoint-1a2b s3://jobs/orders/savepoint-5e6f --state total
    savepoint changes s3://jobs/checkpoints/1a2b --follow --since 17 --output json
    """
    if other is not None:
        if follow or since is not None:
            raise click.UsageError("--follow and --since need a directory, and no OTHER")
        before = opening.open()
        feed = before.changes(opening.open_later(other, before), **wanted)
        _show(output, (("", names, rows) for names, rows in _rows(feed.by_state())))
        return
    with usage_errors():
        steps = state_processor.follow_changes(
            opening.path,
            since=since if since is not None else ("newest" if follow else "oldest"),
            skip_gone=skip_gone,
            every=every.total_seconds() if follow else None,
            **wanted,
            **opening.settings,
        )
    _show(output, _of_steps(output, steps))


def _of_steps(
    output: Output, steps: Iterable[CheckpointChanges]
) -> Iterator[tuple[str, list[str], Rows]]:
    for step in steps:
        title = f"Changes from checkpoint {step.since} to {step.checkpoint}"
        if step.problem:
            output.note(f"{title}: {step.problem}")
        for names, rows in _rows(step.by_state()):
            placed = [{CHECKPOINT: step.checkpoint, **row} for row in rows]
            yield title, [CHECKPOINT, *names], placed
        step.close()


def _rows(batches: Iterable[StateBatch]) -> Iterator[tuple[list[str], Rows]]:
    for state, batch in batches:
        place = {**dict.fromkeys(_NAMES), "operator": state.operator, "state": state.state}
        yield [*_NAMES], [{**place, **row} for row in types.printable_rows(batch)]


def _show(output: Output, parts: Iterable[tuple[str, list[str], Rows]]) -> None:
    """Prints a table per batch for people, or all rows as one table for programs, as they are read."""
    if output.is_for_people:
        for title, names, rows in parts:
            unused = [name for name in _RARE if all(row[name] is None for row in rows)]
            output.values(title, [name for name in names if name not in unused], rows)
        return
    for _, names, first in (iterator := iter(parts)):
        others = (row for _, _, rows in iterator for row in rows)
        output.values("", names, chain(first, others))
