"""Whether a key's state lies in one subtask or in each, and how local key groups are redistributed.

Ordinary keyed state has each key group once, in the subtask that owns it. Local keyed state is that
of rows that were keyed where they were, without a shuffle: each subtask has a key group of every
number, its own instance of it. So a checkpoint has as many local key groups as subtasks times key
groups, and they are counted over the subtasks: those of subtask 0, then those of subtask 1...

For 3 subtasks of 12 key groups that become 2::

    counted    0         12         24        36
    before     |  task 0  |  task 1  |  task 2  |
                0 ..... 11 0 . 5 6 . 11 0 .... 11      key groups of each
    after      |     task 0    |     task 1     |

The new subtask 1 then has two instances of the key groups 6 to 11, which are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from savepoint_formats.key_groups.ranges import KeyGroupRange


class KeyScope(StrEnum):
    """Where the state of a key lies."""

    KEYED = "keyed"
    LOCAL = "local"

    @property
    def is_local(self) -> bool:
        """Whether each subtask may have state of the same key."""
        return self is KeyScope.LOCAL


@dataclass(frozen=True, slots=True)
class LocalKeyGroups:
    """Local key groups of one subtask: what a new subtask gets of its handle.

    Attributes:
        subtask: The old subtask.
        key_groups: Some of its key groups, or all.
    """

    subtask: int
    key_groups: KeyGroupRange

    def __len__(self) -> int:
        return len(self.key_groups)


def redistributed(
    subtasks: int, parallelism: int, max_parallelism: int
) -> tuple[tuple[LocalKeyGroups, ...], ...]:
    """Which local key groups each new subtask gets.

    All ``n = subtasks * max_parallelism`` of them are assigned in order and evenly, by the formula
    by which Flink gives key groups to subtasks: number ``i`` goes to the new subtask
    ``i * parallelism // n``. So shares differ by one at most; 36 over 5 are 8, 7, 7, 7 and 7. The
    handle of an old subtask is split where only a part of it goes to a new one.

    Args:
        subtasks: How many there were.
        parallelism: How many there are to be.
        max_parallelism: How many key groups each has.

    Returns:
        Of each new subtask its local key groups, by ascending old subtask.

    Raises:
        ValueError: A number is less than 1, or max parallelism is none that Flink allows.

    Example:
        >>> redistributed(3, 2, 12)[0]
        (LocalKeyGroups(0, KeyGroupRange(0, 11)), LocalKeyGroups(1, KeyGroupRange(0, 5)))
    """
    if subtasks < 1 or parallelism < 1 or max_parallelism < 1:
        raise ValueError(
            f"{subtasks} subtasks of {max_parallelism} key groups that become {parallelism},"
            " expected at least one of each"
        )
    count = subtasks * max_parallelism
    # Rounded up: the first number that the formula gives to a subtask.
    borders = [-(-count * new // parallelism) for new in range(parallelism + 1)]
    return tuple(_parts(start, end, max_parallelism) for start, end in pairwise(borders))


def _parts(start: int, end: int, max_parallelism: int) -> tuple[LocalKeyGroups, ...]:
    """The local key groups from one number up to another, which is not among them."""
    parts = []
    while start < end:
        subtask, first = divmod(start, max_parallelism)
        size = min(end - start, max_parallelism - first)
        parts.append(LocalKeyGroups(subtask, KeyGroupRange(first, first + size - 1)))
        start += size
    return tuple(parts)
