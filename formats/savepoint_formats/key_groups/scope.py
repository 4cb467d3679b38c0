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

All of them are assigned in order and evenly, by the formula by which Flink gives key groups to
subtasks: of ``n`` the one with number ``i`` goes to the new subtask ``i * parallelism // n``. So
shares differ by one at most; 36 over 5 are 8, 7, 7, 7 and 7. The new subtask 1 of the picture has
two instances of the key groups 6 to 11, which are merged.
"""

from __future__ import annotations

from enum import StrEnum


class KeyScope(StrEnum):
    """Where the state of a key lies."""

    KEYED = "keyed"
    LOCAL = "local"

    @property
    def is_local(self) -> bool:
        """Whether each subtask may have state of the same key."""
        return self is KeyScope.LOCAL
