"""What a function over batches is given: rows of whole keys as columns, and the state of these keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from numpy.typing import NDArray

    KeyBatchFunction = Callable[["KeyBatch"], tuple[pa.Table | None, pa.Table]]


@dataclass(frozen=True, slots=True)
class KeyBatch:
    """All rows of some keys, and what these keys have in the states of the function.

    Attributes:
        rows: The rows: those of a key one behind the other, in the order of their timestamps.
        state: A row per key, in the order in which the keys have rows: column ``key``, and one per
            state, with the types that ``keyed_state`` has without Spark; null where a key has nothing.
        starts: Where the rows of each key begin.

    Example:
        >>> def totals(batch):
        ...     cents = np.add.reduceat(batch.rows["cents"].to_numpy(), batch.starts)
        ...     total = pc.add(pc.fill_null(batch.state["total"], 0), cents)
        ...     return None, pa.table({"key": batch.state["key"], "total": total})
    """

    rows: pa.Table
    state: pa.Table
    starts: NDArray[np.int64]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Of each row the number of its key, which is that of the row of ``state``."""
        counts = np.diff(np.append(self.starts, self.rows.num_rows))
        return np.repeat(np.arange(len(self.starts)), counts)
