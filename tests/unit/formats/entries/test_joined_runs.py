"""Entries of several states become one piece per key group, from wherever they lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_spans import key_groups_at
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.entries.stored_entries import RunEntries, joined_runs
from savepoint_formats.program.spans import Spans

Entry = tuple[int, bytes, bytes]
"""Key group, key and value."""

OLD_PREFIX = b"??"
CONTENTS = st.binary(max_size=20)
ENTRIES = st.lists(st.tuples(st.integers(0, 4), CONTENTS, CONTENTS), max_size=12)


def in_one_chunk(states: dict[int, list[Entry]]) -> list[RunEntries]:
    """All entries one behind the other, with gaps between them."""
    data, places = bytearray(), []
    for number, entries in states.items():
        spans = np.zeros((4, len(entries)), np.int64)
        for index, (_, key, value) in enumerate(entries):
            data += b"gap" + OLD_PREFIX + key
            spans[:2, index] = len(data) - len(key) - len(OLD_PREFIX), len(data)
            data += b"gap" + value
            spans[2:, index] = len(data) - len(value), len(data)
        places.append((number, np.array([one[0] for one in entries], np.uint16), spans))
    held = np.frombuffer(bytes(data), np.uint8)
    return [
        RunEntries(number, groups, held, Spans(*spans[:2]), held, Spans(*spans[2:]), 2)
        for number, groups, spans in places
    ]


@settings(max_examples=60)
@given(
    states=st.dictionaries(st.integers(0, 5), ENTRIES, max_size=3), prefix=st.sampled_from([1, 2])
)
def test_each_key_group_gets_its_entries_of_all_states(
    states: dict[int, list[Entry]], prefix: int
) -> None:
    found: dict[int, list[Entry]] = {number: [] for number in states}
    rows = joined_runs(in_one_chunk(states), prefix, 5)
    assert rows.column("key_group").to_pylist() == sorted(
        {group for entries in states.values() for group, _, _ in entries}
    )
    for row in rows.to_pylist():
        data = row["run"] + b"\xff\xff"
        chunk = Chunk(np.frombuffer(data, np.uint8))
        for number, spans in section_frames(chunk, 0, 6).by_state().items():
            assert set(key_groups_at(chunk, spans[0], prefix).tolist()) == {row["key_group"]}
            for start, end, value_start, value_end in spans.T.tolist():
                entry = row["key_group"], data[start + prefix : end], data[value_start:value_end]
                found[number].append(entry)
    by_group = {
        number: sorted(entries, key=lambda entry: entry[0]) for number, entries in states.items()
    }
    assert found == by_group


@pytest.mark.parametrize(("row", "position"), [(0, -1), (1, 1), (1, 99), (2, -1), (2, 21), (3, 99)])
def test_entries_outside_of_their_bytes_are_refused(row: int, position: int) -> None:
    (entries,) = in_one_chunk({0: [(1, b"a key", b"a value")]})
    (entries.keys.starts, entries.keys.ends, entries.values.starts, entries.values.ends)[row][0] = (
        position
    )
    with pytest.raises(ValueError, match=r"entry 0 .* outside of their bytes"):
        joined_runs([entries], 2, 5)
