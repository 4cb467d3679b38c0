"""Rows that differ between two tables, by hashes of their keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.checks.row_hashes import are_same

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.checks.row_hashes import Hashes

    _Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class HashedRows:
    """Hashes of the key of each row, and of its other columns."""

    keys: Hashes
    values: Hashes

    def __len__(self) -> int:
        return len(self.keys)

    def in_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows sorted by key, and for each the number of rows before it with its key."""
        order = np.lexsort((self.values[:, 0], self.keys[:, 1], self.keys[:, 0]))
        keys = self.keys[order]
        is_first = np.ones(len(keys), np.bool_)
        is_first[1:] = ~are_same(keys[1:], keys[:-1])
        positions = np.arange(len(keys))
        return order, positions - np.maximum.accumulate(np.where(is_first, positions, 0))


@dataclass(frozen=True, slots=True, eq=False)
class RowChanges:
    """Indexes of rows that differ between two tables, and the number of equal rows.

    ``before`` and ``after`` are rows with the same key and different values.
    """

    deleted: NDArray[np.int64]
    inserted: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    unchanged: int

    @classmethod
    def of(cls, before: HashedRows, after: HashedRows) -> Self:
        """Compares rows; of several rows with one key, each is paired at most once."""
        pairs = _pairs_of_distinct(before.keys, after.keys)
        pairs_a, pairs_b = _pairs(before, after) if pairs is None else pairs
        is_paired_a, is_paired_b = np.zeros(len(before), np.bool_), np.zeros(len(after), np.bool_)
        is_paired_a[pairs_a], is_paired_b[pairs_b] = True, True
        is_updated = ~are_same(before.values[pairs_a], after.values[pairs_b])
        return cls(
            deleted=np.flatnonzero(~is_paired_a),
            inserted=np.flatnonzero(~is_paired_b),
            before=pairs_a[is_updated],
            after=pairs_b[is_updated],
            unchanged=int(len(pairs_a) - is_updated.sum()),
        )


def _pairs_of_distinct(before: Hashes, after: Hashes) -> _Pairs | None:
    """Pairs of rows with the same key; None if a table has a key twice."""
    if np.array_equal(before, after):
        # Savepoints of one job mostly have their keys in the same order.
        in_order = np.sort(before[:, 0])
        rows = np.arange(len(before))
        return None if (in_order[1:] == in_order[:-1]).any() else (rows, rows)
    orders = [np.argsort(keys[:, 0]) for keys in (before, after)]
    firsts = [keys[order, 0] for keys, order in zip((before, after), orders, strict=True)]
    if any((place[1:] == place[:-1]).any() for place in firsts):
        return None
    places = np.searchsorted(firsts[1], firsts[0])
    (left,) = np.nonzero(np.append(firsts[1], 0)[places] == firsts[0])
    left = left[places[left] < len(after)]
    pairs_a, pairs_b = orders[0][left], orders[1][places[left]]
    is_same = before[pairs_a, 1] == after[pairs_b, 1]
    return pairs_a[is_same], pairs_b[is_same]


def _pairs(before: HashedRows, after: HashedRows) -> _Pairs:
    """Pairs of rows whose key may come several times: the first is paired with the first."""
    (order_a, rank_a), (order_b, rank_b) = before.in_order(), after.in_order()
    keys = np.concatenate([before.keys[order_a], after.keys[order_b]])
    ranks = np.concatenate([rank_a, rank_b])
    merged = np.lexsort((ranks, keys[:, 1], keys[:, 0]))
    same = are_same(keys[merged[1:]], keys[merged[:-1]])
    same &= ranks[merged[1:]] == ranks[merged[:-1]]
    (firsts,) = np.nonzero(same)
    # The order is stable, so that rows of the first table come first.
    return order_a[merged[firsts]], order_b[merged[firsts + 1] - len(before)]
