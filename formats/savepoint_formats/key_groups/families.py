"""Where key groups become several times as many, or as few: which subtasks get all of which.

A key of group g of m lies in one of the groups g, g + m, g + 2m, … of a multiple of m. So the subtasks
that own one of these get entries of g, and nobody else does. The other way round all of these become
g, whose subtask needs nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from savepoint_formats.key_groups.ranges import KeyGroupRange, subtasks_of


@dataclass(frozen=True, slots=True)
class Family:
    """Subtasks whose state comes from key groups of which no other subtask gets any.

    Attributes:
        subtasks: The subtasks of the new savepoint.
        key_groups: The key groups of the old one, ascending.
    """

    subtasks: tuple[int, ...]
    key_groups: tuple[KeyGroupRange, ...]


def families(before: int, after: int, parallelism: int) -> tuple[Family, ...]:
    """All families, each as small as can be; together they have all subtasks and key groups.

    Args:
        before: How many key groups there are.
        after: How many there are to be, a multiple or a divisor.
        parallelism: How many subtasks are to own them.

    Raises:
        ValueError: It is neither.
    """
    if before % after == 0:
        subtasks = (
            KeyGroupRange.of_subtask(number, parallelism, after) for number in range(parallelism)
        )
        return tuple(
            Family((number,), merged(key_groups, before, after))
            for number, key_groups in enumerate(subtasks)
        )
    if after % before:
        raise ValueError(f"{after} key groups, expected a multiple or a divisor of {before}")
    owners = subtasks_of(np.arange(after).astype(np.uint16), parallelism, after)
    by_group = owners.reshape(-1, before).T
    first = np.arange(parallelism)
    for together in np.unique(by_group, axis=0):
        joined = np.unique(first[together])
        first[np.isin(first, joined)] = joined[0]
    of_group = first[by_group[:, 0]]
    return tuple(
        Family(tuple(np.flatnonzero(first == name).tolist()), _ranges(of_group == name))
        for name in np.unique(first).tolist()
    )


def merged(key_groups: KeyGroupRange, before: int, after: int) -> tuple[KeyGroupRange, ...]:
    """The key groups of ``before`` that become these of ``after``, which divides it."""
    starts = range(0, before, after)
    return tuple(
        KeyGroupRange(start + key_groups.start, start + key_groups.end) for start in starts
    )


def _ranges(is_own: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[KeyGroupRange, ...]:
    """The key groups that are own ones."""
    (borders,) = np.nonzero(np.diff(is_own, prepend=False, append=False))
    return tuple(
        KeyGroupRange(start, end - 1) for start, end in list(pairwise(borders.tolist()))[::2]
    )
