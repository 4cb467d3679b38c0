"""Warnings of savepoints of stopped jobs, whose old sources stored older positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.metadata import NEWEST_FILE, STALE_WHEN_STOPPED, stale_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot import Snapshot

RIGHT_WAY = "take a savepoint while the job runs and cancel it then, or cancel it with a retained checkpoint"


def warnings_of(snapshot: Snapshot) -> Iterator[str]:
    """A text for each source of a stopped job whose positions may be too old."""
    names = {operator.record.operator_id: operator.name for operator in snapshot.operators()}
    for operator, state in stale_positions(snapshot.metadata):
        effect = (
            "the positions of the checkpoint before, or none: records in between are read twice"
        )
        if state == NEWEST_FILE:
            effect = "no time of the newest file: a restored job reads no new file"
        yield (
            f"operator {names[operator]}: this savepoint was taken by stopping the job, and a"
            f" {STALE_WHEN_STOPPED[state]} then stores {effect}; {RIGHT_WAY}"
        )
