"""Memory between pages that nobody may touch: whoever reads or writes a byte too far, crashes."""

from __future__ import annotations

import ctypes
import mmap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from savepoint_formats.program import buffers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_PAGE = mmap.PAGESIZE
_NO_ACCESS = 0
_C = ctypes.CDLL(None, use_errno=True)
_C.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class GuardedMemory:
    """Pages with a guard in front of them and one behind.

    Args:
        size: How many bytes there is room for.
    """

    def __init__(self, size: int) -> None:
        self._end = _PAGE + -(-size // _PAGE) * _PAGE
        self._bytes = np.frombuffer(mmap.mmap(-1, self._end + _PAGE), np.uint8)
        address = int(self._bytes.ctypes.data)
        for guard in (address, address + self._end):
            if _C.mprotect(guard, _PAGE, _NO_ACCESS):
                raise OSError(ctypes.get_errno(), "mprotect")

    def last(self, size: int) -> NDArray[np.uint8]:
        """Bytes right in front of a guard."""
        return self._bytes[self._end - size : self._end]

    def first(self, size: int) -> NDArray[np.uint8]:
        """Bytes right behind a guard."""
        return self._bytes[_PAGE : _PAGE + size]


class _Numpy:
    """Numpy, whose empty arrays of bytes lie in front of a guard."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, size: int, kind: Any) -> NDArray[np.uint8]:
        return GuardedMemory(size).last(size).view(kind)


@contextmanager
def guarded_buffers() -> Iterator[None]:
    """Buffers that the kernel writes into lie in front of guards, except for alignment."""
    module: Any = buffers
    module.np = _Numpy()
    try:
        yield
    finally:
        module.np = np
