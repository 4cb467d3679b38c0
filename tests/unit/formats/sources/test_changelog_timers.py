"""Timers of a changelog: added, removed, and never changed otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.hand_made import (
    LONG,
    STRING,
    Record,
    change,
    changelog,
    encoded,
    header,
    heap_base,
    i32,
    in_memory,
    meta_info,
    operator_with,
    registration,
    rows,
    timers_of,
)

from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.layout import Long, Struct, Text, TimerTimestamp
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import OperatorCatalog

if TYPE_CHECKING:
    from savepoint_formats.metadata import KeyGroupsHandle

TIMER = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long()))
QUEUE = timers_of(STRING, LONG)


def timer(time: int, key: str, namespace: int) -> bytes:
    return encoded(TIMER, {"timestamp": time, "key": key, "namespace": namespace})


def added(*timers: bytes) -> Record:
    return 0, change(5, 0, i32(len(timers)), *timers)


def removed(one: bytes) -> Record:
    return 0, change(7, 0, one)


class TestTimers:
    NAME = "_timer_state/event_t"

    def timers(self, *records: Record, base: tuple[bytes, ...] = ()) -> list[tuple[Any, ...]]:
        handles: tuple[KeyGroupsHandle, ...] = ()
        if base:
            head = header(meta_info(self.NAME, "TIMERS", QUEUE))
            handles = (heap_base(head, 1, [(0, 0, one) for one in base]),)
        record = (-1, registration(0, self.NAME, "TIMERS", QUEUE))
        handle = changelog(in_memory([record, *records]), base=handles)
        found = rows(operator_with(handle), "timers")
        assert {(row["time_domain"], row["service"]) for row in found} <= {("EVENT_TIME", "t")}
        return sorted((row["timestamp"], row["key"], row["namespace"]) for row in found)

    def test_are_added_and_removed(self) -> None:
        one, two, three = timer(-1, "a", 5), timer(7, "a", 5), timer(7, "b", 5)
        assert self.timers(added(one, two), added(three), removed(two)) == [
            (-1, "a", 5),
            (7, "b", 5),
        ]
        assert self.timers(added(one), removed(one), added(one)) == [(-1, "a", 5)]
        assert self.timers(added(one), removed(one)) == []

    def test_are_there_once(self) -> None:
        one = timer(-1, "a", 5)
        assert self.timers(added(one), added(one), base=(one,)) == [(-1, "a", 5)]

    def test_of_the_base_stay_if_they_are_not_changed(self) -> None:
        base = (timer(1, "a", 5), timer(1, "b", 5), timer(2, "a", 5))
        found = self.timers(removed(base[0]), added(timer(1, "a", 6)), base=base)
        assert found == [(1, "a", 6), (1, "b", 5), (2, "a", 5)]

    def test_are_listed_though_no_base_has_them(self) -> None:
        record = (-1, registration(0, self.NAME, "TIMERS", QUEUE))
        operator = operator_with(changelog(in_memory([record])))
        (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator).states
        assert (state.name, state.kind, state.key) == (self.NAME, StateKind.TIMERS, Text())

    @pytest.mark.parametrize("operation", [0, 1, 2, 3, 4, 6])
    def test_have_no_other_changes(self, operation: int) -> None:
        with pytest.raises(
            FormatError, match=f"a change {Operation(operation).name} of the timers"
        ):
            self.timers((0, change(operation, 0, timer(1, "a", 5))))

    def test_every_cut_is_noticed(self) -> None:
        group, data = added(timer(1, "a", 5), timer(2, "a", 5))
        for cut in range(len(data)):
            with pytest.raises(SavepointError):
                self.timers((group, data[:cut]))
        with pytest.raises(FormatError, match="1 bytes too many"):
            self.timers((group, data + b"\0"))
