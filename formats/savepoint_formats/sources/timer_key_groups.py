"""Whether raw timers lie in the key groups of their keys.

A section of raw timers does not say which key group it is of: only the offsets of its handle do. The
keys tell, where their hash code follows from their type. A type whose layout is that of another class, with
another hash code, would tell wrong; then keys of one section tell several key groups, and nothing is
said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import SavepointError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.key_groups.ranges import key_groups_of

if TYPE_CHECKING:
    import pyarrow as pa

    from savepoint_formats.layout import Layout

KEYS = 8
"""How many keys of a service are looked at."""


class TimerKeyGroups:
    """What the keys of sections tell of their key groups.

    Args:
        max_parallelism: That of the operator; None if it is not known, so that keys tell nothing.
    """

    def __init__(self, max_parallelism: int | None) -> None:
        self._max_parallelism = max_parallelism
        self._named: dict[int, set[int]] = {}
        self._is_known = True

    def add(self, key_group: int, layout: Layout, keys: pa.Array) -> None:
        """Takes the first keys of a service.

        Args:
            key_group: That of the section, as its handle says.
            layout: That of keys.
            keys: The keys, as columns have them.
        """
        first = keys[:KEYS]
        if not self._is_known or not len(first) or self._max_parallelism is None:
            return
        try:
            groups = key_groups_of(key_hashes(layout, first), self._max_parallelism)
        except SavepointError:
            self._is_known = False
        else:
            self._named.setdefault(key_group, set()).update(np.unique(groups).tolist())

    @property
    def displaced(self) -> dict[int, int]:
        """Key group of a section -> the other one that all of its keys tell; none if keys disagree."""
        if not self._is_known or any(len(named) > 1 for named in self._named.values()):
            return {}
        groups = {group: next(iter(named)) for group, named in self._named.items()}
        return {group: named for group, named in groups.items() if group != named}

    @property
    def is_proven(self) -> bool:
        """Whether sections are displaced, and it is not that hash codes are others than thought.

        They are if the sections have each other's places, or if most sections are in theirs.
        """
        displaced = self.displaced
        have_each_others = sorted(displaced) == sorted(displaced.values())
        return bool(displaced) and (have_each_others or 2 * len(displaced) <= len(self._named))
