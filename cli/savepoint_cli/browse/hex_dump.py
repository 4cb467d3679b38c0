"""Bytes as people read them who look for what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH = 16


def hex_lines(data: bytes, most: int = 4096) -> Iterator[str]:
    """A line per 16 bytes: where they are, what they are, and as letters where they are any.

    Args:
        data: The bytes.
        most: How many are shown; the last line tells how many more there are.

    Example:
        >>> next(hex_lines(b"total"))
        '00000000  74 6f 74 61 6c                                    |total|'
    """
    shown = data[:most]
    for start in range(0, len(shown), _WIDTH):
        row = shown[start : start + _WIDTH]
        halves = f"{row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}"
        letters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{start:08x}  {halves}  |{letters}|"
    if len(data) > most:
        yield f"… {len(data) - most:,} bytes more"
