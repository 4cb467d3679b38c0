"""Keys are compared word by word as they are byte by byte."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_ways import both_ways_of

from savepoint_formats.state_files.rocksdb import merge_kernel, sst_kernel
from savepoint_formats.state_files.rocksdb.sst_kernel import WORD_SIZE, Entries

# Few different bytes, so that keys have much in common.
KEYS = st.lists(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), max_size=26).map(bytes)


def entries_of(one: bytes, other: bytes) -> Entries:
    data = np.frombuffer(one + other + b"\x55", np.uint8)
    ends = np.array([len(one), len(one) + len(other)])
    spans = np.stack([np.array([0, len(one)]), ends, ends, ends])
    return Entries(data, spans, np.zeros(2, np.uint64))


def sign(number: int) -> int:
    return int(number > 0) - int(number < 0)


@given(KEYS, KEYS, KEYS, KEYS)
def test_the_order_of_keys_is_that_of_their_bytes(
    prefix: bytes, one: bytes, other: bytes, suffix: bytes
) -> None:
    for left, right in [
        (prefix + one, prefix + other),
        (prefix + one + suffix, prefix + other + suffix),
    ]:
        entries = entries_of(left, right)
        expected = (left > right) - (left < right)
        for compare_keys in both_ways_of(merge_kernel.compare_keys):
            assert sign(compare_keys(entries.addresses, 0, 1)) == expected
            assert sign(compare_keys(entries.addresses, 1, 0)) == -expected
        for has_same_key in both_ways_of(merge_kernel.has_same_key):
            assert has_same_key(entries.addresses, 0, 1) == (left == right)


@given(st.binary(max_size=40), st.integers(0, 10), st.integers(0, 10))
def test_copied_bytes_are_those_of_the_source_and_no_others_change(
    data: bytes, at: int, behind: int
) -> None:
    source = np.frombuffer(b"?" + data + b"?" * WORD_SIZE, np.uint8)
    start = source.ctypes.data + 1
    for copy in both_ways_of(sst_kernel.copy):
        target = np.full(at + len(data) + behind, 0x2E, np.uint8)
        copy(start, target.ctypes.data + at, len(data))
        assert target.tobytes() == b"." * at + data + b"." * behind
    for copy_words in both_ways_of(sst_kernel.copy_words):
        target = np.full(at + len(data) + WORD_SIZE + behind, 0x2E, np.uint8)
        copy_words(start, target.ctypes.data + at, len(data))
        copied = target.tobytes()
        assert copied.startswith(b"." * at + data)
        assert copied.endswith(b"." * (behind + 1))
