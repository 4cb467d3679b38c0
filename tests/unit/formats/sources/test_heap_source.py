"""Heap files with state that cannot be decoded: what else is in them is read all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    STRING,
    TIME_WINDOW,
    UNKNOWN,
    VOID,
    encoded,
    group_of,
    header,
    heap_base,
    meta_info,
    operator_of,
    rows,
    timers_of,
)
from support.passed_state import entries_in

from savepoint_formats.errors import FormatError, StateNotFoundError, UndecodableError
from savepoint_formats.layout import Long, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import OperatorState, SubtaskState
from savepoint_formats.pass_through.stored_states import PassThrough, stored_runs
from savepoint_formats.scan.scan import TableScan
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import StoredHandle
from savepoint_formats.tables.catalog import OperatorCatalog
from savepoint_formats.tables.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterable

KEYS = ("a", "b", "c", "d", "e", "f")
SAME_GROUP = tuple(key for key in map(str, range(100)) if group_of(key) == group_of("0"))[:3]

Entry = tuple[int, int, bytes]


def entry(key: str, state: int, value: bytes) -> Entry:
    return group_of(key), state, b"\0" + encoded(Text(), key) + value


def number(value: int) -> bytes:
    return encoded(Long(), value)


def operator(entries: Iterable[Entry], *states: bytes) -> OperatorState:
    base = heap_base(header(*states), len(states), entries)
    return operator_of(SubtaskState(0, managed_keyed_state=base))


def states(*types: bytes) -> tuple[bytes, ...]:
    """States x, y, z... of these types."""
    return tuple(meta_info(name, "VALUE", one) for name, one in zip("xyz", types, strict=False))


def by_key(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row.pop("key"): row for row in found}


REASON = "com.acme.UnknownSnapshot: its class is not known"


def undecoded(data: bytes) -> dict[str, Any]:
    return {"bytes": data, "reason": REASON}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_all_states_are_shown_wherever_the_unknown_one_lies(place: int) -> None:
    types = [LONG, LONG, LONG]
    types[place] = UNKNOWN
    entries = [
        entry(key, state, b"bytes of " + key.encode() if state == place else number(state))
        for key in KEYS
        for state in range(3)
    ]
    found = by_key(rows(operator(entries, *states(*types)), "keyed_state"))
    for key in KEYS:
        expected: dict[str, Any] = {name: state for state, name in enumerate("xyz")}
        assert found[key] == expected | {"xyz"[place]: undecoded(b"bytes of " + key.encode())}


def test_two_unknown_states_beside_each_other() -> None:
    entries = [
        one
        for key in KEYS
        for one in (
            entry(key, 0, b"first"),
            entry(key, 1, b"second of " + key.encode()),
            entry(key, 2, number(7)),
        )
    ]
    found = by_key(rows(operator(entries, *states(UNKNOWN, UNKNOWN, LONG)), "keyed_state"))
    expected = {
        key: {"x": undecoded(b"first"), "y": undecoded(b"second of " + key.encode()), "z": 7}
        for key in KEYS
    }
    assert found == expected


def test_entries_are_told_apart_by_their_keys() -> None:
    values = {key: f"value of {key}".encode() for key in SAME_GROUP}
    entries = [entry(key, 0, value) for key, value in values.items()]
    found = by_key(rows(operator(entries, *states(UNKNOWN)), "keyed_state"))
    assert {key: row["x"]["bytes"] for key, row in found.items()} == values


def test_entries_that_cannot_be_told_apart_are_an_error_that_counts_them() -> None:
    first, second, _ = SAME_GROUP
    # The first value looks as if it held an entry of a third key.
    fake = b"\0" + encoded(Text(), SAME_GROUP[2])
    entries = [entry(first, 0, b"one" + fake), entry(second, 0, b"two")]
    entries += [entry(key, 1, number(5)) for key in SAME_GROUP]
    whole = operator(entries, *states(UNKNOWN, LONG))
    for options in ({}, {"columns": ("key", "y")}, {"undescribed_subclasses": "bytes"}):
        with pytest.raises(UndecodableError, match=r"2 entries.*: 1 behind it cannot") as error:
            rows(whole, "keyed_state", **options)
        assert "undescribed_subclasses='rest'" in str(error.value)
    found = by_key(rows(whole, "keyed_state", undescribed_subclasses="rest"))
    assert {row["y"] for row in found.values()} == {5}
    assert found[second]["x"] is None
    assert found[first]["x"]["bytes"] == b"one" + fake + entries[1][2]
    assert found[first]["x"]["reason"] == (
        f"{REASON}; these bytes are also those of 1 more entries of the key group"
    )


def test_entries_that_cannot_be_told_apart_are_no_obstacle_to_passing_on_others() -> None:
    first, second, third = SAME_GROUP
    fake = b"\0" + encoded(Text(), third)
    entries = [entry(first, 0, b"one" + fake), entry(second, 0, b"two")]
    entries += [entry(key, 1, number(5)) for key in SAME_GROUP]
    record = operator(entries, *states(UNKNOWN, LONG))
    handle = record.subtasks[0].managed_keyed_state
    assert handle is not None

    def passed_on(name: str) -> list[bytes]:
        settings = SourceSettings(MAX_PARALLELISM)
        target, nowhere = PassThrough({name: 0}, MAX_PARALLELISM), SnapshotDirectory.of("/")
        found = stored_runs(
            nowhere, StoredHandle(handle), Text(), settings, handle.key_groups, target
        )
        runs = (run for batch in found for run in batch["run"].to_pylist())
        return [value for run in runs for _, _, value in entries_in(run)]

    assert passed_on("y") == [number(5)] * 3
    with pytest.raises(UndecodableError, match="2 entries, but the one at index 0 hides") as one:
        passed_on("x")
    assert "take a canonical savepoint" in str(one.value)


def test_the_column_says_why_it_is_bytes() -> None:
    one = operator([entry("a", 0, b"x")], *states(UNKNOWN, LONG))
    directory = SnapshotDirectory.of("/")
    (table,) = tables_of(OperatorCatalog.of(directory, one).states)
    schema = TableScan(directory, one, table).schema
    reason = schema.field("x").metadata[b"reason"].decode()
    assert "com.acme.Unknown" in reason
    assert "heap files" in reason
    assert schema.field("y").metadata is None


def test_what_fits_in_two_ways_is_an_error_and_never_a_guess() -> None:
    first, second, _ = SAME_GROUP
    # The number ends with what would be the head of its own state, were there one entry behind it.
    entries = [
        entry(first, 0, b"value"),
        entry(first, 1, number(0x1_0000_0001)),
        entry(second, 1, number(5)),
    ]
    with pytest.raises(UndecodableError, match="what lies behind them is not certain") as error:
        rows(operator(entries, *states(UNKNOWN, LONG)), "keyed_state")
    assert f"key group {group_of(first)}" in str(error.value)
    entries[1] = entry(first, 1, number(0x2_0000_0001))
    found = by_key(rows(operator(entries, *states(UNKNOWN, LONG)), "keyed_state"))
    assert found[first] == {"x": undecoded(b"value"), "y": 0x2_0000_0001}


def test_what_looks_like_the_head_of_a_state_is_none_without_a_key_behind_it() -> None:
    entries = [entry("a", 0, b"one\0\1\0\0\0\1 more"), entry("a", 1, b"two")]
    found = by_key(rows(operator(entries, *states(UNKNOWN, UNKNOWN)), "keyed_state"))
    expected = {"x": undecoded(b"one\0\1\0\0\0\1 more"), "y": undecoded(b"two")}
    assert found == {"a": expected}


def test_tables_in_front_of_a_state_of_unknown_end_are_read() -> None:
    timers = meta_info("_timer_state/event_t", "TIMERS", timers_of(STRING, VOID))
    window = meta_info("w", "VALUE", LONG, TIME_WINDOW)
    both = window, meta_info("x", "VALUE", UNKNOWN), timers
    group, key = group_of("a"), encoded(Text(), "a")
    # Behind "value" a timer may lie, which ends with the empty queue of the key group.
    value = b"value\0\2\0\0\0\1abcd"
    entries = [(group, 0, bytes(16) + key + number(7)), (group, 1, b"\0" + key + value)]
    one = operator(entries, *both)
    assert [row["w"] for row in rows(one, "window_state")] == [7]
    for table in ("keyed_state", "timers"):
        with pytest.raises(UndecodableError, match="what lies behind them is not certain"):
            rows(one, table)


def test_timers_beside_an_unknown_state_are_read() -> None:
    timer = (4 ^ (1 << 63)).to_bytes(8) + encoded(Text(), "a") + b"\0"
    both = (
        meta_info("x", "VALUE", UNKNOWN),
        meta_info("_timer_state/event_t", "TIMERS", timers_of(STRING, VOID)),
    )
    found = rows(operator([entry("a", 0, b"v"), (group_of("a"), 1, timer)], *both), "timers")
    assert [(row["key"], row["timestamp"]) for row in found] == [("a", 4)]


def test_timers_of_an_unknown_serializer_are_their_bytes() -> None:
    both = (
        meta_info("_timer_state/event_t", "TIMERS", UNKNOWN),
        meta_info("x", "VALUE", LONG),
    )
    one = operator([(group_of("a"), 0, b"timers"), entry("a", 1, number(3))], *both)
    assert rows(one, "timers") == [{"value": undecoded(b"timers")}]
    assert rows(one, "keyed_state") == [{"key": "a", "x": 3}]


def test_damage_behind_an_unknown_state_is_an_error() -> None:
    broken = [entry("a", 0, b"value"), (group_of("a"), 1, b"\7 no entry")]
    with pytest.raises(FormatError):
        rows(operator(broken, *states(UNKNOWN, LONG)), "keyed_state")


def test_keys_that_cannot_be_read_leave_nothing_to_go_by() -> None:
    base = heap_base(header(*states(LONG), key=UNKNOWN), 1, [(0, 0, b"\0key" + number(1))])
    one = operator_of(SubtaskState(0, managed_keyed_state=base))
    with pytest.raises(UndecodableError, match=r"com\.acme\.Unknown"):
        rows(one, "keyed_state")


def test_timers_have_no_flat_view() -> None:
    timers = meta_info("_timer_state/event_t", "TIMERS", timers_of(STRING, VOID))
    timer = (4 ^ (1 << 63)).to_bytes(8) + encoded(Text(), "a") + b"\0"
    with pytest.raises(StateNotFoundError, match="timers is no keyed state"):
        rows(operator([(group_of("a"), 0, timer)], timers), "timers", flat="x")
