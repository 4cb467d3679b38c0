"""Streams of Snappy's frames: nothing that a damaged frame has is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats.bytes.snappy import IDENTIFIER, decompress
from savepoint_formats.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path


def stream_of(samples: Path) -> bytes:
    """A whole stream that Flink has written."""
    for file in sorted((samples / "states-1.20.5-hashmap-compressed").iterdir()):
        data = file.read_bytes() if file.is_file() else b""
        start = data.find(IDENTIFIER)
        if start < 0 or file.name == "_metadata":
            continue
        end = start + len(IDENTIFIER)
        while end < len(data) and data[end] in (0, 1):
            end += 4 + int.from_bytes(data[end + 1 : end + 4], "little")
        return data[start:end]
    raise AssertionError("no stream")


def test_every_changed_byte_is_told(samples: Path) -> None:
    data = stream_of(samples)
    whole = decompress(data, "a file", 7)
    assert whole
    assert decompress(data.removeprefix(IDENTIFIER), "a file", 7) == whole
    for at in range(len(data)):
        for bits in (0x01, 0x10, 0x80, 0xFF):
            changed = data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]
            with pytest.raises(FormatError, match="a file at byte 7: damaged snappy data"):
                decompress(changed, "a file", 7)


def test_a_chunk_without_data_is_not_skipped() -> None:
    for kind in (0x02, 0x80, 0xFE, 0xFF):
        with pytest.raises(FormatError, match=f"a chunk of type {kind:#04x}"):
            decompress(IDENTIFIER + bytes([kind, 3, 0, 0]) + b"abc", "a file", 0)
