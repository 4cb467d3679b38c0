"""Values of binary rows that vary in size: in their slots of eight bytes, or behind all slots."""

from __future__ import annotations

import struct

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import TruncatedError

SLOT = 8
"""The bytes of a slot."""

_INLINE = 0x80
_MAX_INLINE_SIZE = 7
_TWO_INTS = struct.Struct("<II")


def inline_or_piece(section: DataInputView, position: int) -> DataInputView:
    """The bytes of a value of up to seven bytes in its slot, or of a longer one behind all slots."""
    last = section.buffer[position + SLOT - 1]
    if not last & _INLINE:
        return slot_piece(section, position)
    size = last & ~_INLINE
    if size > _MAX_INLINE_SIZE:
        raise section.error(f"an inline value of {size} bytes, expected 7 at most")
    return piece(section, position, size)


def write_inline_or_piece(data: bytes, section: bytearray, position: int) -> None:
    """Writes bytes into their slot if there are up to seven, or else behind all slots."""
    if len(data) > _MAX_INLINE_SIZE:
        write_piece(data, section, position)
        return
    section[position : position + len(data)] = data
    section[position + SLOT - 1] = _INLINE | len(data)


def slot_piece(section: DataInputView, position: int) -> DataInputView:
    """The bytes whose size and offset are in a slot."""
    size, offset = _TWO_INTS.unpack_from(section.buffer, position)
    return piece(section, offset, size)


def write_piece(data: bytes, section: bytearray, position: int) -> None:
    """Writes bytes behind all slots, and their size and offset into a slot."""
    _TWO_INTS.pack_into(section, position, len(data), len(section))
    section += data.ljust(padded(len(data)), b"\0")


def piece(section: DataInputView, offset: int, size: int) -> DataInputView:
    """So many bytes of a section from an offset on."""
    if not 0 <= offset <= offset + size <= section.end:
        raise section.error(
            f"a value of {size} bytes at {offset}, in {section.end} bytes", TruncatedError
        )
    return DataInputView(
        section.buffer[offset : offset + size], section.path, section.base + offset
    )


def padded(size: int) -> int:
    """A size, rounded up to whole slots."""
    return (size + SLOT - 1) // SLOT * SLOT
