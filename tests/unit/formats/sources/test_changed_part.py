"""Stored entries of a changelog: what its property test does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.hand_made import (
    LONG,
    STRING,
    VOID,
    canonical_base,
    change,
    changelog,
    encoded,
    group_of,
    header,
    i32,
    in_memory,
    list_of,
    map_of,
    meta_info,
    operator_with,
    registration,
    timers_of,
    with_ttl,
)
from support.passed_state import entries_in, infos_of, passed_on, rows_by_table, sections_of
from support.sample_rows import Sample

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Long, Nullable, Struct, Text, TimerTimestamp
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.state_files.header import BackendStateType

if TYPE_CHECKING:
    from support.hand_made import Record

    from savepoint_formats.metadata import OperatorState

NOWHERE = SnapshotDirectory.of("/")
KEY = encoded(Text(), "k") + b"\0"
GROUP = group_of("k")
QUEUE = "_timer_state/event_t"
TIMERS = timers_of(STRING, LONG)
TIMER = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long()))


def timer(time: int) -> bytes:
    return encoded(TIMER, {"timestamp": time, "key": "k", "namespace": 7})


def added(*timers: bytes) -> Record:
    return GROUP, change(5, 0, i32(len(timers)), *timers)


def removed(one: bytes) -> Record:
    return GROUP, change(7, 0, one)


def stored(operator: OperatorState) -> list[tuple[bytes, bytes]]:
    """Key, without its key group, and value of each entry passed on."""
    sections = sections_of(NOWHERE, operator, operator.max_parallelism)
    assert set(sections) <= {GROUP}
    runs = b"".join(sections.get(GROUP, []))
    return sorted((key[1:], value) for _, key, value in entries_in(runs))


def of_timers(*records: Record) -> OperatorState:
    """Timers at 1, 2 and 3, and changes of them."""
    head = header(meta_info(QUEUE, "TIMERS", TIMERS))
    base = canonical_base(head, [(GROUP, 0, timer(time), b"") for time in (1, 2, 3)])
    registered = (-1, registration(0, QUEUE, "TIMERS", TIMERS))
    return operator_with(changelog(in_memory([registered, *records]), base=(base,)))


def test_timers_are_added_and_removed() -> None:
    operator = of_timers(
        added(timer(4), timer(2)), removed(timer(1)), added(timer(5)), removed(timer(5))
    )
    assert stored(operator) == [(timer(time), b"") for time in (2, 3, 4)]
    after = passed_on(NOWHERE, operator, 300)
    assert rows_by_table(NOWHERE, after) == rows_by_table(NOWHERE, operator)


def test_a_timer_that_is_removed_and_added_again_is_there_once() -> None:
    operator = of_timers(removed(timer(2)), added(timer(2)), added(timer(2)))
    assert stored(operator) == [(timer(time), b"") for time in (1, 2, 3)]


def test_an_operation_that_timers_have_not_is_an_error() -> None:
    with pytest.raises(FormatError, match="a change SET of the timers"):
        stored(of_timers((GROUP, change(1, 0, timer(1)))))


def test_nothing_is_left_of_what_is_cleared() -> None:
    head = header(meta_info("value", "VALUE", LONG, VOID))
    base = canonical_base(head, [(GROUP, 0, KEY, encoded(Long(), 5))])
    records = [(-1, registration(0, "value", "VALUE", LONG)), (GROUP, change(0, 0, KEY))]
    assert stored(operator_with(changelog(in_memory(records), base=(base,)))) == []


def test_times_of_last_access_are_kept_byte_by_byte() -> None:
    kinds = {"VALUE": with_ttl(LONG), "LIST": list_of(with_ttl(LONG))}
    kinds["MAP"] = map_of(STRING, with_ttl(LONG))
    head = header(*(meta_info(kind, kind, one, VOID) for kind, one in kinds.items()))
    old, new = (
        encoded(Long(), 1000) + encoded(Long(), 1),
        encoded(Long(), 2000) + encoded(Long(), 2),
    )
    a, b = encoded(Text(), "a"), encoded(Text(), "b")
    base = canonical_base(
        head,
        [(GROUP, 0, KEY, old), (GROUP, 1, KEY, old), (GROUP, 2, KEY + a, b"\0" + old)],
    )
    records = [
        *((-1, registration(n, kind, kind, kinds[kind])) for n, kind in enumerate(kinds)),
        (GROUP, change(1, 0, KEY, new)),
        (GROUP, change(5, 1, KEY, new)),
        (GROUP, change(6, 2, KEY, b, new)),
        (GROUP, change(3, 2, KEY, i32(1), encoded(Text(), "c"), encoded(Nullable(Long()), None))),
    ]
    assert stored(operator_with(changelog(in_memory(records), base=(base,)))) == sorted(
        [
            (KEY, new),
            (KEY, old + b"," + new),
            (KEY + a, b"\0" + old),
            (KEY + b, b"\0" + new),
            (KEY + encoded(Text(), "c"), b"\1"),
        ]
    )


def test_a_state_that_changed_its_type_is_an_error() -> None:
    head = header(meta_info("value", "VALUE", LONG, VOID))
    base = canonical_base(head, [(GROUP, 0, KEY, encoded(Long(), 5))])
    records = [
        (-1, registration(0, "value", "VALUE", STRING)),
        (GROUP, change(1, 0, KEY, encoded(Text(), "text"))),
    ]
    with pytest.raises(UndecodableError, match="was of type int64 when it was materialized"):
        stored(operator_with(changelog(in_memory(records), base=(base,))))


def test_a_damaged_change_is_an_error() -> None:
    head = header(meta_info("value", "VALUE", LONG, VOID))
    base = canonical_base(head, [])
    whole = change(1, 0, KEY, encoded(Long(), 5))
    for end in range(3, len(whole)):
        records = [(-1, registration(0, "value", "VALUE", LONG)), (GROUP, whole[:end])]
        with pytest.raises(FormatError, match="state 'value'"):
            stored(operator_with(changelog(in_memory(records), base=(base,))))


def test_raw_timers_have_headers_as_managed_ones_have() -> None:
    kept = Sample("states-2.2.1-rocksdb-heaptimers").open()
    managed = Sample("states-2.2.1-rocksdb-native").open()
    found, expected = (
        [info for info in infos.values() if info.type is BackendStateType.PRIORITY_QUEUE]
        for infos in (
            infos_of(one.directory, one.operator("stateful").record) for one in (kept, managed)
        )
    )
    assert found
    assert sorted(found, key=str) == sorted(expected, key=str)
