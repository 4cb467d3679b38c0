"""Ordinary and local keyed state, and how local key groups are spread over other subtasks.

Ordinary keyed state has each key group once, in the subtask that owns it. Local keyed state belongs
to rows that were keyed without a shuffle: each subtask has its own instance of every key group. They
are counted over the subtasks: all of subtask 0, then all of subtask 1...

For 3 subtasks of 12 key groups that become 2::

    counted    0         12         24        36
    before     |  task 0  |  task 1  |  task 2  |
                0 ..... 11 0 . 5 6 . 11 0 .... 11      key groups of each
    after      |     task 0    |     task 1     |

All ``n`` are assigned in order and evenly, by Flink's formula for key groups: number ``i`` goes to the
new subtask ``i * parallelism // n``. 36 over 5 become 8, 7, 7, 7 and 7. In the picture, the new subtask
1 has two instances of the key groups 6 to 11, which are merged.
"""

from __future__ import annotations

from enum import StrEnum


class KeyScope(StrEnum):
    """Whether a key has state in one subtask or in any."""

    KEYED = "keyed"
    LOCAL = "local"

    @property
    def is_local(self) -> bool:
        """Whether each subtask may have state of the same key."""
        return self is KeyScope.LOCAL
