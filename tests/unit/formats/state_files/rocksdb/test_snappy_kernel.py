"""Snappy is decompressed as a library does it, and damage is seen."""

from __future__ import annotations

import cramjam
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from savepoint_formats.program.kernel.machine_code import entry
from savepoint_formats.state_files.rocksdb import snappy_kernel
from savepoint_formats.state_files.rocksdb.snappy_kernel import SLACK

_SENTINEL = 0xA5

# Pieces that come again at all distances, and literals of all sizes.
PIECES = st.one_of(
    st.tuples(st.binary(min_size=1, max_size=9), st.integers(1, 40)).map(lambda of: of[0] * of[1]),
    st.tuples(st.integers(0, 1 << 16), st.integers(0, 300)).map(
        lambda of: np.random.default_rng(of[0]).bytes(of[1])
    ),
)
CONTENTS = st.lists(PIECES, max_size=8).flatmap(
    lambda pieces: st.lists(st.sampled_from([*pieces, b"-"]), max_size=12).map(b"".join)
)


@entry
def decompress(position: int, end: int, target: int, target_end: int) -> bool:
    """The function itself is compiled into others alone."""
    return snappy_kernel.decompress(position, end, target, target_end)


@pytest.fixture(scope="module", params=["interpreted", "machine code"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def decompressed(elements: bytes, size: int, way: str) -> bytes | None:
    """Elements decompressed to this many bytes."""
    data = np.frombuffer(elements + bytes([_SENTINEL]) * SLACK, np.uint8)
    target = np.full(size + 2 * SLACK, _SENTINEL, np.uint8)
    run = decompress.function if way == "interpreted" else decompress
    source, to = data.ctypes.data, target.ctypes.data
    is_whole = run(source, source + len(elements), to, to + size)
    assert (target[size + SLACK :] == _SENTINEL).all()
    return target[:size].tobytes() if is_whole else None


def elements_of(content: bytes) -> bytes:
    """Without the size in front."""
    compressed = bytes(cramjam.snappy.compress_raw(content))
    start = next(place for place, byte in enumerate(compressed) if byte < 0x80) + 1
    return compressed[start:]


@given(content=CONTENTS)
@example(content=np.random.default_rng(0).bytes(70_000))
@example(content=b"a" * 70_000)
def test_what_was_compressed_comes_back(content: bytes, way: str) -> None:
    assert decompressed(elements_of(content), len(content), way) == content


@given(content=CONTENTS, place=st.integers(0, 1 << 20), byte=st.integers(0, 255))
def test_damage_is_seen_as_a_library_sees_it(
    content: bytes, place: int, byte: int, way: str
) -> None:
    elements = bytearray(elements_of(content))
    if not elements:
        return
    elements[place % len(elements)] = byte
    size = b"".join(
        bytes([len(content) >> shift & 0x7F | (0x80 if len(content) >> shift + 7 else 0)])
        for shift in range(0, max(len(content).bit_length(), 1), 7)
    )
    try:
        expected = bytes(cramjam.snappy.decompress_raw(size + bytes(elements)))
    except cramjam.DecompressionError:
        expected = None
    assert decompressed(bytes(elements), len(content), way) == expected


@pytest.mark.parametrize("cut", [-1, 1])
def test_another_size_is_seen(cut: int, way: str) -> None:
    content = b"abcd" * 10 + b"efgh"
    assert decompressed(elements_of(content), len(content) + cut, way) is None
