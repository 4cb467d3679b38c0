"""A range of a file in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataInputView

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.errors import FormatError


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Contiguous bytes of a file; errors name ``path``. ``base`` is the offset of the first byte."""

    data: npt.NDArray[np.uint8]
    path: str = "<bytes>"
    base: int = 0

    def __post_init__(self) -> None:
        if self.data.dtype != np.uint8 or not self.data.flags.c_contiguous:
            raise TypeError(f"data of {self.data.dtype}, expected contiguous bytes")

    def __len__(self) -> int:
        return len(self.data)

    @property
    def address(self) -> int:
        """The address of the bytes, for the kernel."""
        return int(self.data.ctypes.data)

    def size_from(self, position: int) -> int:
        """The number of bytes from a position on. Raises ``ValueError`` outside of the chunk."""
        if not 0 <= position <= len(self):
            raise ValueError(f"position {position}, outside of the chunk of {len(self)} bytes")
        return len(self) - position

    def view(self, start: int, end: int) -> DataInputView:
        """The bytes between two positions."""
        return DataInputView(self.data.data[start:end], self.path, self.base + start)

    def error(self, message: str, position: int, kind: type[FormatError]) -> FormatError:
        """An error that names a position by its file and offset."""
        return kind(message, self.path, self.base + position)
