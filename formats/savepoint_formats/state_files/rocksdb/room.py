"""Memory in which entries of several states come to lie side by side.

Keys of several states can be compared only if they are in one chunk. Where each state is unpacked
into memory of its own, all of it is copied once more to make such a chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Room:
    """Memory that is handed out from its beginning.

    Args:
        size: How many bytes there are.
    """

    def __init__(self, size: int) -> None:
        self._memory = np.empty(size, np.uint8)
        self._used = 0

    @property
    def used(self) -> NDArray[np.uint8]:
        """All that was handed out."""
        return self._memory[: self._used]

    @property
    def rest(self) -> int:
        """How many bytes were not handed out."""
        return len(self._memory) - self._used

    @property
    def address(self) -> int:
        """Where the first byte is, for the kernel."""
        return int(self._memory.ctypes.data)

    @property
    def start(self) -> int:
        """Where what was not handed out begins."""
        return self._used

    @property
    def end(self) -> int:
        """Where it ends."""
        return len(self._memory)

    def filled(self, end: int) -> NDArray[np.uint8]:
        """Hands out all up to a position; all that was handed out."""
        self._used = end
        return self.used

    def take(self, size: int) -> NDArray[np.uint8]:
        """So many bytes; other memory if that is more than what is left."""
        if size > len(self._memory) - self._used:
            return np.empty(size, np.uint8)
        start = self._used
        self._used += size
        return self._memory[start : self._used]

    def position(self, data: NDArray[np.uint8]) -> int | None:
        """Where in ``used`` bytes lie; None if they are elsewhere."""
        position = data.ctypes.data - self._memory.ctypes.data
        return position if 0 <= position <= self._used - len(data) else None
