"""Instances of keys of local state become one entry, and one value, as their layouts mean them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import MergeError
from savepoint_formats.layout import Layout, Long, MapOf, Nullable, Repeated, Text, Ttl
from savepoint_formats.pass_through.merged_instances import MergedInstances, appended
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import ranges_in
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.scan.merged_columns import merge_rule
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.values.state_entries import Delimited, NullableRest

TEXTS, NUMBERS = st.text(max_size=4), st.integers(-(1 << 40), 1 << 40)
KEYS = st.sampled_from([b"a", b"ab", b"b", b"\x80"])


def encoded(layout: Layout, keys: list[bytes], values: list[Any]) -> StoredEntries:
    encoder = Encoder(layout)
    column = pa.array(values, encoder.type)
    return StoredEntries(pa.array(keys, pa.large_binary()), encoder.encode(column))


def decoded(layout: Layout, entries: StoredEntries) -> dict[bytes, Any]:
    data, ranges = ranges_in(entries.values)
    found = decode(program(layout), Chunk(data.copy()), ranges.starts, ranges.ends).to_pylist()
    keys = entries.keys.to_pylist()
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, found, strict=True))


def by_key(entries: list[tuple[bytes, Any]]) -> dict[bytes, list[Any]]:
    found: dict[bytes, list[Any]] = {}
    for key, value in entries:
        found.setdefault(key, []).append(value)
    return found


@given(st.lists(st.tuples(KEYS, st.lists(TEXTS, min_size=1, max_size=3))))
def test_lists_of_one_key_are_appended_in_the_order_of_their_instances(
    entries: list[tuple[bytes, list[str]]],
) -> None:
    layout = Delimited(Text())
    stored = encoded(layout, [key for key, _ in entries], [value for _, value in entries])
    expected = {key: list(chain(*values)) for key, values in by_key(entries).items()}
    assert decoded(layout, appended(stored, StateKind.LIST)) == expected


@given(st.lists(st.tuples(KEYS, st.none() | st.lists(NUMBERS, min_size=1, max_size=3))))
def test_values_of_maps_are_appended_and_a_null_adds_nothing(
    entries: list[tuple[bytes, list[int] | None]],
) -> None:
    layout = NullableRest(Repeated(Long()))
    stored = encoded(layout, [key for key, _ in entries], [value for _, value in entries])
    expected = {
        key: list(chain(*(one for one in values if one is not None))) or None
        for key, values in by_key(entries).items()
    }
    assert decoded(layout, appended(stored, StateKind.MAP)) == expected


def test_a_timer_that_several_instances_have_is_one_timer() -> None:
    nothing = pa.array([b""] * 3, pa.large_binary())
    stored = StoredEntries(pa.array([b"x", b"y", b"x"], pa.large_binary()), nothing)
    assert appended(stored, StateKind.TIMERS).keys.to_pylist() == [b"x", b"y"]


def test_state_of_one_value_has_no_instances() -> None:
    stored = encoded(Long(), [b"x", b"x"], [1, 2])
    with pytest.raises(ValueError, match="value state has one value"):
        appended(stored, StateKind.VALUE)


@given(st.dictionaries(KEYS, st.lists(NUMBERS, min_size=1, max_size=3)))
def test_instances_of_a_reducing_state_become_its_value(entries: dict[bytes, list[int]]) -> None:
    stored = encoded(Delimited(Long()), list(entries), list(entries.values()))
    state = State("total", StateKind.LIST, Repeated(Long()), local_kind=StateKind.REDUCING)
    found = MergedInstances(state, merge_rule("sum", pa.int64())).entries(stored)
    assert decoded(Long(), found) == {key: sum(values) for key, values in entries.items()}


@given(st.dictionaries(KEYS, st.none() | st.lists(NUMBERS, min_size=1, max_size=3)))
def test_instances_of_the_values_of_a_map_become_values(
    entries: dict[bytes, list[int] | None],
) -> None:
    stored = encoded(NullableRest(Repeated(Long())), list(entries), list(entries.values()))
    layout = MapOf(Text(), Nullable(Repeated(Long())))
    state = State("best", StateKind.MAP, layout, local_kind=StateKind.MAP)
    found = MergedInstances(state, merge_rule("max", pa.int64())).entries(stored)
    expected = {key: values and max(values) for key, values in entries.items()}
    assert decoded(NullableRest(Long()), found) == expected


@given(
    st.dictionaries(KEYS, st.lists(st.lists(TEXTS, min_size=1, max_size=2), min_size=1, max_size=3))
)
def test_instances_of_a_list_become_one_list(entries: dict[bytes, list[list[str]]]) -> None:
    layout = Repeated(Repeated(Text()))
    stored = encoded(Delimited(Repeated(Text())), list(entries), list(entries.values()))
    state = State("memos", StateKind.LIST, layout, local_kind=StateKind.LIST)
    found = MergedInstances(state).entries(stored)
    expected = {key: list(chain(*values)) for key, values in entries.items()}
    assert decoded(Delimited(Text()), found) == expected


def test_what_has_a_time_to_live_keeps_the_latest_time() -> None:
    timed = Ttl(Long())
    times = [{"timestamp": time, "value": value} for time, value in ((5, 1), (9, 2), (7, 4))]
    stored = encoded(Delimited(timed), [b"x", b"y"], [times, times[:1]])
    state = State("total", StateKind.LIST, Repeated(timed), local_kind=StateKind.VALUE)
    found = MergedInstances(state, merge_rule("sum", pa.int64())).entries(stored)
    values = {key: (one["timestamp"], one["value"]) for key, one in decoded(timed, found).items()}
    assert {key: (time.timestamp() * 1000, value) for key, (time, value) in values.items()} == {
        b"x": (9, 7),
        b"y": (5, 1),
    }


def test_several_instances_that_nothing_merges_are_refused_and_single_ones_are_not() -> None:
    state = State("total", StateKind.LIST, Repeated(Long()), local_kind=StateKind.VALUE)
    single = encoded(Delimited(Long()), [b"x"], [[7]])
    assert decoded(Long(), MergedInstances(state).entries(single)) == {b"x": 7}
    with pytest.raises(MergeError, match=r"2 instances.*state 'total'|state 'total'.*2 instances"):
        MergedInstances(state).entries(encoded(Delimited(Long()), [b"x"], [[7, 8]]))
