"""Work of verify, stats and a rescale on entries: what is copied, decoded and hashed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.counted_calls import calls_in
from support.hand_made import (
    LONG,
    STRING,
    canonical_base,
    encoded,
    group_of,
    header,
    meta_info,
    savepoint_of,
)

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.layout import Long, Text
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_chunk import StateChunk
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

STATES = meta_info("total", "VALUE", LONG), meta_info("name", "VALUE", STRING)
COUNTS = (50, 800)


def made(folder: Path, count: int, *, is_ascending: bool = True) -> Savepoint:
    """A savepoint of so many keys with a number and a name each."""
    folder.mkdir()
    # Texts of one length, whose bytes are in the order of the texts.
    keys = [f"key {number:03}" for number in range(count)]
    keys = keys if is_ascending else keys[::-1]
    values = encoded(Long(), 7), encoded(Text(), "a name")
    entries = [
        (group_of(key), state, encoded(Text(), key) + b"\0", value)
        for state, value in enumerate(values)
        for key in keys
    ]
    return Savepoint.open(savepoint_of(canonical_base(header(*STATES), entries), folder))


def copies(calls: Counter[str]) -> int:
    return calls["byte_ranges.bytes_of"]


def hashes(calls: Counter[str]) -> int:
    return calls["stored_entries.placed_hashes"]


def test_verify_copies_nothing_and_decodes_each_key_and_value_once(tmp_path: Path) -> None:
    for count in COUNTS:
        savepoint = made(tmp_path / str(count), count)
        assert savepoint.verify().is_whole
        calls = calls_in(savepoint.verify)
        assert copies(calls) == 0
        assert calls["decode.decode"] == 2 * len(STATES)
        assert hashes(calls) == 0


def test_verify_hashes_keys_that_do_not_ascend_once(tmp_path: Path) -> None:
    savepoint = made(tmp_path / "job", COUNTS[0], is_ascending=False)
    assert savepoint.verify().is_whole
    calls = calls_in(savepoint.verify)
    assert hashes(calls) == len(STATES)
    assert calls["decode.decode"] == 2 * len(STATES)


@pytest.mark.parametrize("is_ascending", [True, False])
def test_stats_copies_each_key_once_and_hashes_none(tmp_path: Path, *, is_ascending: bool) -> None:
    for count in COUNTS:
        savepoint = made(tmp_path / str(count), count, is_ascending=is_ascending)
        assert {state.keys for state in savepoint.stats().states} == {count}
        # The texts of the largest keys are decoded once more.
        calls = calls_in(partial(savepoint.stats, top=0))
        assert copies(calls) == len(STATES)
        assert calls["decode.decode"] == len(STATES)
        assert hashes(calls) == 0


def test_a_rescale_copies_entries_into_their_runs_alone() -> None:
    keys = [encoded(Text(), f"key {number}") + b"\0" for number in range(40)]
    data = b"".join(b"\1" + key + b"value" for key in keys)
    sizes = np.array([len(key) + 1 for key in keys])
    ends = np.cumsum(sizes + 5)
    ranges = EntryRanges(ends - 5 - sizes, ends - 5, ends - 5, ends)
    entries = StoredEntries.of(Chunk(np.frombuffer(data, np.uint8)), ranges, 1)
    groups = np.array([group_of(f"key {number}") for number in range(40)], np.uint16)
    chunk = StateChunk(State("total", StateKind.VALUE, Text(), Text()), entries, groups)

    def rescaled() -> int:
        new = NewKeyGroups(4, 64, None, None).of(chunk)
        return len(runs(entries, new, 0, 1))

    assert rescaled() > 10
    calls = calls_in(rescaled)
    assert copies(calls) == 0
    assert calls["decode.decode"] == 1
