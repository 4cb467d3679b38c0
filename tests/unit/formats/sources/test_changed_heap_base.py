"""Changes of key groups in whose heap file nobody can tell where the entries of a state end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.changelog_jobs import put, registrations
from support.hand_made import (
    LONG,
    STRING,
    UNKNOWN,
    change,
    changelog,
    encoded,
    group_of,
    header,
    heap_base,
    i32,
    in_memory,
    list_of,
    map_of,
    meta_info,
    operator_of,
    operator_with,
    registration,
    rows,
)

from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import Long, Text, VoidNamespace
from savepoint_formats.metadata import SubtaskState
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation

if TYPE_CHECKING:
    from support.hand_made import Record

    from savepoint_formats.metadata import KeyGroupsHandle

KEY = "key"
GROUP = group_of(KEY)
SHOWN, HIDDEN, NEW = [one for one in "abcdefghijklmnopqrstuvwxyz" if group_of(one) == GROUP][:3]
KINDS = {
    "VALUE": (UNKNOWN, b""),
    "LIST": (list_of(UNKNOWN), i32(1)),
    "MAP": (map_of(STRING, UNKNOWN), i32(1) + encoded(Text(), "user key") + b"\0"),
    "REDUCING": (UNKNOWN, b""),
}
"""Serializers, and what lies in front of what they do not tell."""

REST = {"undescribed_subclasses": "rest"}


def identity(key: str) -> bytes:
    return encoded(VoidNamespace(), None) + encoded(Text(), key)


def base(kind: str) -> KeyGroupsHandle:
    """A file of which one state has two entries in a key group, with what may be others in them."""
    serializer, head = KINDS[kind]
    value = head + b"\xff\xfe" + identity(SHOWN) + head + b"!"
    unknown = [identity(key) + value for key in (SHOWN, HIDDEN)]
    entries = [
        (GROUP, 0, identity(KEY) + encoded(Long(), 1)),
        *((GROUP, 1, one) for one in unknown),
    ]
    states = meta_info("value", "VALUE", LONG), meta_info("memo", kind, serializer)
    return heap_base(header(*states), len(states), entries)


def read(kind: str, *records: Record, **options: Any) -> dict[str, dict[str, Any]]:
    changed = operator_with(changelog(in_memory(records), base=(base(kind),)))
    found = rows(changed, "keyed_state", **{**REST, **options})
    assert len({row["key"] for row in found}) == len(found)
    return {row.pop("key"): row for row in found}


def as_it_was(kind: str) -> dict[str, dict[str, Any]]:
    whole = operator_of(SubtaskState(0, managed_keyed_state=base(kind)))
    found = rows(whole, "keyed_state", **REST)
    assert len(found) == 2, "one entry hides the other"
    assert "1 more entries" in str(found)
    return {row.pop("key"): row for row in found}


@pytest.mark.parametrize("kind", KINDS)
def test_states_that_no_change_concerns_are_shown_as_they_were(kind: str) -> None:
    before = as_it_was(kind)
    value, *_ = registrations()
    assert read(kind, value, put(KEY, 7)) == {**before, KEY: {"value": 7, "memo": None}}
    memo = before[SHOWN]["memo"]
    changed = read(kind, value, put(SHOWN, 8), put(NEW, 9))
    assert changed == {
        SHOWN: {"value": 8, "memo": memo},
        KEY: before[KEY],
        NEW: {"value": 9, "memo": None},
    }
    cleared = (GROUP, change(Operation.CLEAR, 0, encoded(Text(), KEY), identity("")[:1]))
    assert read(kind, value, cleared) == {SHOWN: {"value": None, "memo": memo}}


@pytest.mark.parametrize("kind", KINDS)
def test_entries_that_nobody_can_tell_apart_are_an_error_unless_they_are_asked_for(
    kind: str,
) -> None:
    value, *_ = registrations()
    for options in ({}, {"columns": ("key", "value")}):
        with pytest.raises(UndecodableError, match="2 entries, but the one at index 0 hides"):
            read(kind, value, put(KEY, 7), undescribed_subclasses="refuse", **options)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_others_are_read(kind: str) -> None:
    value, *_ = registrations()
    found = read(kind, value, put(KEY, 7), columns=("key", "value"))
    assert found == {KEY: {"value": 7}, SHOWN: {"value": None}}


def test_a_change_of_such_a_state_is_refused() -> None:
    """Its key may be one that lies in the bytes of another."""
    registered = (-1, registration(1, "memo", "VALUE", UNKNOWN))
    cleared = (GROUP, change(Operation.CLEAR, 1, encoded(Text(), HIDDEN), identity("")[:1]))
    with pytest.raises(UndecodableError, match="2 entries, but the one at index 0 hides"):
        read("VALUE", registered, cleared)
