"""Which rows of two tables are the same, by hashes of what tells them apart and of all else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.checks.row_hashes import Hashes


@dataclass(frozen=True, slots=True, eq=False)
class HashedRows:
    """Rows of a table.

    Attributes:
        keys: The hash of what tells each row apart.
        values: The hash of all else that it has.
    """

    keys: Hashes
    values: Hashes

    def __len__(self) -> int:
        return len(self.keys)

    def in_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows by their keys, and how many of the same key come before each."""
        order = np.lexsort((self.values[:, 0], self.keys[:, 1], self.keys[:, 0]))
        keys = self.keys[order]
        is_first = np.ones(len(keys), np.bool_)
        is_first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        positions = np.arange(len(keys))
        return order, positions - np.maximum.accumulate(np.where(is_first, positions, 0))


@dataclass(frozen=True, slots=True, eq=False)
class RowChanges:
    """What becomes of the rows of one table in another.

    Attributes:
        deleted: Rows of the first whose keys the second has not.
        inserted: Rows of the second whose keys the first has not.
        before: Rows of the first with other values in the second.
        after: The rows of the second that these are.
        unchanged: How many rows are the same.
    """

    deleted: NDArray[np.int64]
    inserted: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    unchanged: int

    @classmethod
    def of(cls, before: HashedRows, after: HashedRows) -> Self:
        """Compares rows; of several with the same key, each has at most one that it becomes."""
        (order_a, rank_a), (order_b, rank_b) = before.in_order(), after.in_order()
        keys = np.concatenate([before.keys[order_a], after.keys[order_b]])
        ranks = np.concatenate([rank_a, rank_b])
        merged = np.lexsort((ranks, keys[:, 1], keys[:, 0]))
        same = (keys[merged[1:]] == keys[merged[:-1]]).all(axis=1)
        same &= ranks[merged[1:]] == ranks[merged[:-1]]
        (firsts,) = np.nonzero(same)
        # The order is stable, so that rows of the first table come first.
        left, right = merged[firsts], merged[firsts + 1] - len(before)
        is_paired_a, is_paired_b = np.zeros(len(before), np.bool_), np.zeros(len(after), np.bool_)
        is_paired_a[left], is_paired_b[right] = True, True
        pairs_a, pairs_b = order_a[left], order_b[right]
        is_updated = (before.values[pairs_a] != after.values[pairs_b]).any(axis=1)
        return cls(
            deleted=np.sort(order_a[~is_paired_a]),
            inserted=np.sort(order_b[~is_paired_b]),
            before=pairs_a[is_updated],
            after=pairs_b[is_updated],
            unchanged=int(len(left) - is_updated.sum()),
        )
