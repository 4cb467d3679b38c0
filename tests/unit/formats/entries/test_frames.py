"""Sections are taken apart into the entries that Flink wrote, in one piece or in many."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each import each

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.frames import (
    Frames,
    FramesFinder,
    Placed,
    section_frames,
)
from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.program.kernel import NO_STATE

pytestmark = pytest.mark.usefixtures("both_ways")

Entry = tuple[int, bytes, bytes]


# Key group 2 of a savepoint of Flink 1.20: two keys in three states, two of them timers.
GOLDEN = bytes.fromhex(
    "0000 00000011 02 0000000000000001 0000000000000001 00000008 0000000000000001"
    "     00000011 82 0000000000000000 0000000000000000 00000008 0000000000000000"
    "0001 00000019 02 80000191267a21d1 0000000000000000 0000000000000000 00000000"
    "     00000019 82 80000191267a21d1 0000000000000001 0000000000000001 00000000"
    "0002 00000019 02 800000000000000a 0000000000000000 0000000000000000 00000000"
    "     00000019 82 800000000000000a 0000000000000001 0000000000000001 00000000"
    "ffff"
)


def chunk_of(data: bytes) -> Chunk:
    return Chunk(np.frombuffer(data, np.uint8), "f", 1_000)


def section_of(entries: list[Entry]) -> bytes:
    """The section of these entries; each is a run of its own where the state changes."""
    data = b""
    for index, (state, key, value) in enumerate(entries):
        is_first = index == 0 or entries[index - 1][0] != state
        is_last = index + 1 == len(entries) or entries[index + 1][0] != state
        flagged = bytes([key[0] & 0x7F | (0x80 if is_last else 0)]) + key[1:]
        data += state.to_bytes(2, "big") if is_first else b""
        for part in (flagged, value):
            data += len(part).to_bytes(4, "big") + part
    return data + b"\xff\xff"


def entries_of(found: Frames, data: bytes) -> list[Entry]:
    """Entries state by state, the states by their ids."""
    return [
        (state, bytes([data[a] & 0x7F]) + data[a + 1 : b], data[c:d])
        for state, places in found.by_state.items()
        for a, b, c, d in zip(*places.arrays(), strict=True)
    ]


def by_state(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry[0])


def placed(pieces: list[bytes], key_group: int = 0) -> list[Placed]:
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    starts = [0, *ends[:-1]]
    return [Placed(start, end, key_group) for start, end in zip(starts, ends, strict=True)]


ENTRY = st.tuples(
    st.integers(0, 3),
    st.one_of(st.binary(min_size=1, max_size=5), st.sampled_from([b"\0\1", b"\1\2", b"\2"])).map(
        lambda key: bytes([key[0] & 0x7F]) + key[1:]
    ),
    st.binary(max_size=5),
)
ENTRIES = st.one_of(
    st.lists(ENTRY, min_size=1, max_size=12),
    # Many of the same sizes.
    st.lists(st.tuples(ENTRY, st.sampled_from([1, 2, 20, 40])), min_size=1, max_size=4).map(
        lambda runs: [entry for entry, count in runs for _ in range(count)]
    ),
)


def test_reads_what_flink_wrote() -> None:
    found = section_frames(chunk_of(GOLDEN), 0, states=3)
    assert [*found.by_state] == [0, 1, 2]
    for state, (key_size, value_size) in enumerate([(17, 8), (25, 0), (25, 0)]):
        key_starts, key_ends, value_starts, value_ends = found.by_state[state].arrays()
        assert (key_ends - key_starts).tolist() == [key_size] * 2
        assert (value_ends - value_starts).tolist() == [value_size] * 2
    assert entries_of(found, GOLDEN)[0] == (0, b"\2" + GOLDEN[7:23], GOLDEN[27:35])


@given(ENTRIES)
def test_entries_are_those_of_the_section(entries: list[Entry]) -> None:
    data = section_of(entries)
    assert entries_of(section_frames(chunk_of(data), 0, states=4), data) == by_state(entries)


@given(st.lists(st.lists(ENTRIES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_entries_of_sections_stand_behind_each_other(chunks: list[list[list[Entry]]]) -> None:
    # The second chunk has as much room as the first one needed.
    finder = FramesFinder(states=4)
    for sections in chunks:
        pieces = [section_of(entries) for entries in sections]
        data = b"".join(pieces)
        found = finder.frames(chunk_of(data), placed(pieces))
        found.check(len(data))
        assert found.section == len(pieces) - 1
        assert (found.position, found.state) == (len(data), NO_STATE)
        assert entries_of(found, data) == by_state([entry for each in sections for entry in each])


@given(st.lists(ENTRIES, min_size=2, max_size=4), st.data())
def test_a_section_that_ends_elsewhere_is_the_last_one(
    sections: list[list[Entry]], drawn: st.DataObject
) -> None:
    pieces = [section_of(entries) for entries in sections]
    number = drawn.draw(st.integers(0, len(pieces) - 1))
    pieces[number] += b"\0" if drawn.draw(st.booleans()) else b""
    is_cut = not pieces[number].endswith(b"\0")
    pieces[number] = pieces[number][:-1] if is_cut else pieces[number]
    found = FramesFinder(states=4).frames(chunk_of(b"".join(pieces)), placed(pieces))
    assert found.section == number
    with pytest.raises(FormatError, match="no end mark" if is_cut else "1 bytes behind"):
        found.check(placed(pieces)[number].end)


@given(st.lists(ENTRIES, min_size=1, max_size=4), st.integers(0, 2), st.integers(0, 3))
def test_the_first_entry_of_another_key_group_is_named(
    sections: list[list[Entry]], prefix_size: int, key_group: int
) -> None:
    pieces = [section_of(entries) for entries in sections]
    data = b"".join(pieces)
    finder = FramesFinder(states=4, prefix_size=prefix_size)
    sections_placed = placed(pieces, key_group if prefix_size else 0)
    found = finder.frames(chunk_of(data), sections_placed)
    own = key_group.to_bytes(prefix_size, "big") if prefix_size else b""
    others = [
        (start, state, end - start)
        for state, places in found.by_state.items()
        for start, end in zip(places.key_starts, places.key_ends, strict=True)
        if (bytes([data[start] & 0x7F]) + data[start + 1 : end])[:prefix_size] != own
    ]
    if not others:
        found.check(len(data))
        return
    start, state, size = min(others)
    assert found.section == next(n for n, place in enumerate(sections_placed) if start < place.end)
    name = data[start] & 0x7F if prefix_size == 1 else (data[start] & 0x7F) << 8 | data[start + 1]
    message = f"of key group {name}$" if size >= prefix_size else f"of {size} bytes, without"
    with pytest.raises(FormatError, match=message) as raised:
        found.check(len(data))
    assert (raised.value.offset, raised.value.state) == (1_000 + start, state)


@pytest.mark.parametrize(("start", "end"), [(0, 5), (-1, 2), (3, 2)])
def test_a_section_outside_of_the_chunk_is_a_wrong_call(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="position"):
        FramesFinder(states=1).frames(chunk_of(bytes(4)), [Placed(start, end)])


@given(ENTRIES, st.integers(1, 9) | st.integers(200, 600))
def test_a_section_can_be_read_block_by_block(entries: list[Entry], block_size: int) -> None:
    data = section_of(entries)
    finder, found = FramesFinder(states=4), list[Entry]()
    start, state, end = 0, NO_STATE, min(block_size, len(data))
    while True:
        # What lies behind the end is not looked at.
        piece = finder.frames(chunk_of(data), [Placed(start, end)], state)
        piece.check(None)
        assert all(np.all(places.value_ends <= end) for places in piece.by_state.values())
        found += entries_of(piece, data)
        start, state = piece.position, piece.state
        if piece.is_end:
            break
        end = max(end, piece.wanted)
        assert end <= len(data)
    assert by_state(found) == by_state(entries)
    assert start == len(data)


def test_many_states_share_the_room_for_entries() -> None:
    states = 1000
    entries = [
        (state, bytes([1, number]), bytes(100)) for state in range(states) for number in range(9)
    ]
    data = section_of(entries)
    finder = FramesFinder(states)
    tracemalloc.start()
    for _ in range(2):
        whole = finder.frames(chunk_of(data), [Placed(0, len(data))])
        assert sum(map(len, whole.by_state.values())) == len(entries)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(data)


@each("cut", range(len(GOLDEN)))
def test_every_cut_is_noticed(cut: int) -> None:
    with pytest.raises(TruncatedError):
        section_frames(chunk_of(GOLDEN[:cut]), 0, states=3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("0003 00000001 81 00000000 ffff", "f at byte 1000: state 3 of 3"),
        ("0000 00000000 00000000 ffff", "f at byte 1002: a key or value of 0 bytes"),
        ("0000 ffffffff 00000000 ffff", "f at byte 1002: a key or value of -1 bytes"),
        ("0000 00000001 81 80000000 ffff", "f at byte 1007: a key or value of -2147483648 bytes"),
        ("0000 00000001 81 00000000 ffff 00", "f at byte 1013: 1 bytes behind the end mark"),
        ("0000 00000001 81 7fffffff ffff", "f at byte 1002: the key group has no end mark"),
    ],
)
def test_damage_is_an_error(data: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        section_frames(chunk_of(bytes.fromhex(data)), 0, states=3)


@given(st.binary(max_size=40))
def test_noise_is_an_error_or_entries(noise: bytes) -> None:
    try:
        found = section_frames(chunk_of(noise), 0, states=300)
    except FormatError:
        return
    assert all(len(key) > 0 for _, key, _ in entries_of(found, noise))
