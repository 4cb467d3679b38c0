"""Uneven distribution over key groups or subtasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Skew:
    """Measures of an uneven distribution; both are None if there is nothing.

    Attributes:
        max_over_mean: The largest number divided by the mean; 1 is even.
        gini: The Gini coefficient: 0 if all numbers are equal, close to 1 if one has everything.
    """

    max_over_mean: float | None
    gini: float | None

    @classmethod
    def of(cls, shares: NDArray[np.int64]) -> Self:
        """The skew of these numbers; zeros count."""
        total = float(shares.sum())
        if not total:
            return cls(None, None)
        count = len(shares)
        ranks = np.arange(1, count + 1, dtype=np.float64)
        gini = 2 * float(ranks @ np.sort(shares).astype(np.float64)) / (count * total)
        return cls(float(shares.max()) * count / total, gini - (count + 1) / count)
