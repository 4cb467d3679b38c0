"""The elements of lists and maps, and their rows.

A null may have elements behind it, and a sliced array still has all elements: both are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Collections:
    """A column of lists or maps."""

    column: pa.ListArray | pa.MapArray

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of elements of each row; 0 for a null."""
        lengths = np.diff(self._starts)
        if self.column.null_count:
            lengths[self.column.is_null().to_numpy(zero_copy_only=False)] = 0
        return lengths

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each element."""
        return np.repeat(np.arange(len(self.column), dtype=np.int64), self.lengths)

    @property
    def offsets(self) -> pa.Array:
        """Arrow's offsets into ``elements``; null where the row is."""
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int32)
        is_null = np.append(self.column.is_null().to_numpy(zero_copy_only=False), False)
        return pa.array(starts, mask=is_null)

    @property
    def elements(self) -> pa.Array:
        """The elements of lists; of maps, structs of a key and a value."""
        if pa.types.is_list(self.column.type):
            return self._taken(self.column.values)
        return pa.StructArray.from_arrays([self.keys, self.items], names=["key", "value"])

    def with_elements(self, elements: pa.Array, kind: pa.DataType | None = None) -> pa.ListArray:
        """Lists of other elements, one for each of ``elements``."""
        return pa.ListArray.from_arrays(self.offsets, elements, type=kind)

    def with_items(self, change: Callable[[pa.Array], pa.Array]) -> pa.MapArray | pa.ListArray:
        """Maps with other values; lists of entries are maps whose keys can be null."""
        if pa.types.is_map(self.column.type):
            return pa.MapArray.from_arrays(self.offsets, self.keys, change(self.items))
        keys, items = self.elements.flatten()
        key, value = self.column.type.value_type
        changed = change(items)
        fields = [key, value.with_type(changed.type)]
        return self.with_elements(pa.StructArray.from_arrays([keys, changed], fields=fields))

    @property
    def keys(self) -> pa.Array:
        return self._taken(self.column.keys)

    @property
    def items(self) -> pa.Array:
        """The values of maps."""
        return self._taken(self.column.items)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Offsets of the rows in the elements of the unsliced array."""
        if not len(self.column):
            return np.zeros(1, np.int64)
        offsets = np.frombuffer(self.column.buffers()[1], np.int32)
        first = self.column.offset
        return offsets[first : first + len(self.column) + 1].astype(np.int64)

    def _taken(self, elements: pa.Array) -> pa.Array:
        starts, count = self._starts, int(self.lengths.sum())
        if count == starts[-1] - starts[0]:
            return elements.slice(int(starts[0]), count)
        firsts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        within_row = np.arange(count) - np.repeat(firsts, self.lengths)
        return elements.take(pa.array(np.repeat(starts[:-1], self.lengths) + within_row))
