"""Snappy-framed streams, in which Flink compresses key groups and operator state.

| bytes        | field | meaning                                                           |
|--------------|-------|-------------------------------------------------------------------|
| 10 bytes     |       | identifier chunk: ``ff 06 00 00 73 4e 61 50 70 59``               |
| u8, u24 LE   |       | type and size of each further chunk                               |
| u32 LE       |       | masked CRC-32C of the uncompressed data                           |
| …            |       | type 0: a snappy block, type 1: the data itself                   |

Source: the framing format of snappy.
"""

from __future__ import annotations

import cramjam

from savepoint_formats.errors import FormatError

IDENTIFIER = bytes.fromhex("ff060000") + b"sNaPpY"


def decompress(data: bytes | memoryview, path: str, offset: int) -> bytes:
    """The content of framed chunks with or without an identifier, at this place of a file."""
    chunks = bytes(data)
    if not chunks.startswith(IDENTIFIER):
        chunks = IDENTIFIER + chunks
    try:
        return bytes(cramjam.snappy.decompress(chunks))
    except cramjam.DecompressionError as error:
        raise FormatError(f"damaged snappy data: {error}", path, offset) from error
