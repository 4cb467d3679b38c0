"""Snappy-framed streams, in which Flink compresses key groups and operator state.

| bytes        | field | meaning                                                           |
|--------------|-------|-------------------------------------------------------------------|
| 10 bytes     |       | identifier chunk: ``ff 06 00 00 73 4e 61 50 70 59``               |
| u8, u24 LE   |       | type and size of each further chunk                               |
| u32 LE       |       | masked CRC-32C of the uncompressed data                           |
| …            |       | type 0: a snappy block, type 1: the data itself                   |

The format has more types, which readers skip. Flink never writes them, so a chunk of another type
is damaged and must not be skipped.

Source: the framing format of snappy.
"""

from __future__ import annotations

import cramjam

from savepoint_formats.errors import FormatError

IDENTIFIER = bytes.fromhex("ff060000") + b"sNaPpY"
_HEAD = 4
_DATA = (0, 1)
"""Types of chunks that have data."""


def decompress(data: bytes | memoryview, path: str, offset: int) -> bytes:
    """The content of framed chunks, with or without an identifier; errors name the place."""
    chunks = bytes(data)
    if not chunks.startswith(IDENTIFIER):
        chunks = IDENTIFIER + chunks
    _expect_data(chunks, path, offset)
    try:
        return bytes(cramjam.snappy.decompress(chunks))
    except cramjam.DecompressionError as error:
        raise FormatError(f"damaged snappy data: {error}", path, offset) from error


def _expect_data(chunks: bytes, path: str, offset: int) -> None:
    """Raises ``FormatError`` for a chunk without data, except identifiers."""
    at = 0
    while at < len(chunks):
        if chunks.startswith(IDENTIFIER, at):
            at += len(IDENTIFIER)
            continue
        if chunks[at] not in _DATA:
            message = (
                f"damaged snappy data: a chunk of type {chunks[at]:#04x}, expected one with data"
            )
            raise FormatError(message, path, offset)
        at += _HEAD + int.from_bytes(chunks[at + 1 : at + _HEAD], "little")
