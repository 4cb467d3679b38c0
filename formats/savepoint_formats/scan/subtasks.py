"""Checks the key groups of an operator's subtasks.

Flink gives every subtask its key groups by one formula, and a handle says which it has. A handle
with others is damaged: key groups would vanish, or be read twice.

Flink: ``KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError
from savepoint_formats.key_groups.ranges import KeyGroupRange

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorState


def check_subtasks(operator: OperatorState, path: str) -> None:
    """Raises ``FormatError`` for an impossible subtask, or one with other key groups than its own.

    ``path`` is the name of ``_metadata`` in errors.
    """
    seen: set[int] = set()
    for subtask in operator.subtasks:
        index = subtask.index
        if index in seen or not 0 <= index < operator.parallelism:
            again = " once more" if index in seen else ""
            message = f"subtask {index}{again}, of parallelism {operator.parallelism}"
            raise FormatError(message, path, -1)
        seen.add(index)
    everything = KeyGroupRange(0, operator.max_parallelism - 1)
    for subtask in operator.subtasks:
        own = KeyGroupRange.of_subtask(
            subtask.index, operator.parallelism, operator.max_parallelism
        )
        for handle in (subtask.managed_keyed_state, subtask.raw_keyed_state):
            # Each subtask has all key groups of local state.
            if handle is not None and handle.key_groups not in (own, everything):
                message = f"key groups {handle.key_groups}, expected {own}"
                raise FormatError(message, path, -1).within(f"subtask {subtask.index}")
