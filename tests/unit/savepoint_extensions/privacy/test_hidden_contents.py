from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from cramjam import snappy
from rocksdict import DBCompressionType, Rdict
from support.rocksdb_databases import Files, make, table_options

from savepoint_extensions.privacy.hidden_contents import (
    CHUNK_SIZE,
    block_contents,
    framed_contents,
    table_versions,
)
from savepoint_formats.bytes.snappy import IDENTIFIER
from savepoint_formats.errors import FormatError
from savepoint_formats.locations.state_file import StateFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("both_ways")

COMPRESSIONS = {
    "none": DBCompressionType.none(),
    "snappy": DBCompressionType.snappy(),
    "lz4": DBCompressionType.lz4(),
    "zstd": DBCompressionType.zstd(),
}


def put_many(number: int) -> Callable[[Rdict], None]:
    def write(state: Rdict) -> None:
        for key in range(60):
            state[b"\0customer-%03d" % key] = b"version %d of %d " % (number, key) + bytes(90)

    return write


def delete_some(state: Rdict) -> None:
    for key in range(0, 60, 3):
        del state[b"\0customer-%03d" % key]


def opened(files: Files) -> list[StateFile]:
    return [files.directory.file(file.stream) for file in files.handle.shared]


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_each_version_and_each_deletion_has_its_whole_key(name: str, tmp_path: Path) -> None:
    options = table_options(compression_type=COMPRESSIONS[name], table={"block_size": 1000})
    files = make(tmp_path, put_many(1), put_many(2), delete_some, options=options)
    counts, contents = [], b""
    for file in opened(files):
        versions = list(table_versions(file))
        counts.append(sum(count for count, _ in versions))
        contents += b"".join(data for _, data in versions)
    assert counts == [60, 60, 20]
    for key in range(60):
        deletions = key % 3 == 0
        assert contents.count(b"customer-%03d" % key) == 2 + deletions
        for number in (1, 2):
            assert contents.count(b"version %d of %d " % (number, key)) == 1


def test_a_damaged_block_is_an_error(tmp_path: Path) -> None:
    file = opened(make(tmp_path, put_many(1)))[0]
    data = bytearray(file.read())
    data[100] ^= 1
    with pytest.raises(FormatError):
        list(table_versions(StateFile("000001.sst", bytes(data))))


def framed(*parts: bytes) -> bytes:
    return b"".join(bytes(snappy.compress(part)) for part in parts)


def test_streams_of_frames_are_found_wherever_they_begin() -> None:
    text = bytes(random.Random(1).randbytes(100_000)) + b"ada@example.com"
    data = b"head" + framed(text) + framed(b"second") + b"tail"
    assert list(framed_contents(StateFile("file", data))) == [text, b"second"]


@pytest.mark.parametrize("number", [0, 1, 7])
def test_the_number_of_the_next_key_group_hides_no_stream(number: int) -> None:
    # As a frame, it has a size of less than the bytes behind it.
    behind = number.to_bytes(4) + framed(b"second") + bytes(number + 1 << 16)
    data = framed(b"first") + behind
    assert list(framed_contents(StateFile("file", data))) == [b"first", b"second"]


def test_bytes_that_only_begin_like_a_stream_are_none() -> None:
    data = b"head" + IDENTIFIER + b"\0\x05\0\0wrong" + IDENTIFIER
    assert list(framed_contents(StateFile("file", data))) == []


def divided(data: bytes) -> bytes:
    """Bytes as an ``Externalizable`` of Java writes them, in blocks of 1,024 and a shorter one."""
    whole, rest = divmod(len(data), 1024)
    blocks = [b"\x7a\0\0\4\0" + data[n * 1024 : n * 1024 + 1024] for n in range(whole)]
    last = data[whole * 1024 :]
    head = b"\x77" + bytes([rest]) if rest < 256 else b"\x7a" + rest.to_bytes(4, "big")
    return b"".join([*blocks, head + last])


@pytest.mark.parametrize("size", [1024 + 9, 4096 + 700, 2048 + 255])
def test_what_java_divides_into_blocks_is_joined(size: int) -> None:
    data = random.Random(2).randbytes(size)
    stored = b"\xac\xed\0\5head" + divided(data) + b"\x78tail" + divided(data[::-1]) + b"\x78"
    assert b"".join(block_contents(StateFile("file", stored))) == data + data[::-1]


def test_blocks_are_read_in_large_ranges() -> None:
    ranges = list[tuple[int, int]]()

    class Counted(StateFile):
        def read(self, start: int = 0, end: int | None = None) -> bytes:
            ranges.append((start, end or 0))
            return super().read(start, end)

    record = b"\xac\xed\0\5" + divided(bytes(range(256)) * 40) + b"\x78"
    count = 2 * CHUNK_SIZE // len(record)
    contents = block_contents(Counted("file", record * count))
    assert sum(map(len, contents)) == count * 256 * 40
    assert len(ranges) < 10


@pytest.mark.parametrize("cut", range(6))
def test_a_block_that_is_cut_ends_the_run(cut: int) -> None:
    stored = divided(bytes(2000))
    assert sum(map(len, block_contents(StateFile("file", stored[: 1029 + cut])))) <= 1024 + cut
