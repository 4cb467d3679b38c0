"""Keys of a changelog, which does not tell their serializer."""

from __future__ import annotations

import pytest
from support.changelog_jobs import TIMERS, plain_base, put, registrations
from support.hand_made import (
    LONG,
    STRING,
    VOID,
    change,
    changelog,
    encoded,
    in_memory,
    map_of,
    operator_with,
    registration,
    rows,
)

from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import Long, Opaque, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.tables.catalog import OperatorCatalog


class TestKeys:
    """A changelog does not tell the serializer of keys."""

    VALUES = (registrations()[0], put("a", 1), put("", 2))

    def test_have_the_type_of_another_subtasks_base(self) -> None:
        operator = operator_with(changelog(in_memory(self.VALUES)), changelog(base=(plain_base(),)))
        found = rows(operator, "keyed_state")
        assert {row["key"]: row["value"] for row in found} == {"a": 1, "": 2}

    def test_have_the_type_of_timers(self) -> None:
        record = (-1, registration(5, "_timer_state/event_t", "TIMERS", TIMERS))
        found = rows(operator_with(changelog(in_memory([*self.VALUES, record]))), "keyed_state")
        assert {row["key"]: row["value"] for row in found} == {"a": 1, "": 2}

    def test_are_bytes_if_nothing_tells_their_type(self) -> None:
        operator = operator_with(changelog(in_memory(self.VALUES)))
        found = rows(operator, "keyed_state")
        keys = {encoded(Text(), "a"): 1, encoded(Text(), ""): 2}
        assert {row["key"]["bytes"]: row["value"] for row in found} == keys
        (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator).states
        assert isinstance(state.key, Opaque)
        assert state.key.reason.startswith(
            "no file of the operator names the serializer of its keys; tell their type by key_types"
        )

    def test_of_unknown_type_do_not_hide_what_a_map_or_a_window_has(self) -> None:
        key, window = encoded(Text(), "a"), encoded(Text(), "w")
        counts = (-1, registration(5, "counts", "MAP", map_of(STRING, LONG), VOID))
        put = (0, change(6, 5, key, b"\0", encoded(Text(), "u"), encoded(Long(), 3)))
        (row,) = rows(operator_with(changelog(in_memory([counts, put]))), "keyed_state")
        assert (row["key"]["bytes"], row["counts"]) == (key, [("u", 3)])
        of_windows = (-1, registration(5, "sum", "VALUE", LONG, STRING))
        put = (0, change(1, 5, key, window, encoded(Long(), 3)))
        (row,) = rows(operator_with(changelog(in_memory([of_windows, put]))), "window_state")
        assert (row["key"]["bytes"], row["namespace"], row["sum"]) == (key, "w", 3)

    def test_of_unknown_type_must_have_one_possible_end(self) -> None:
        # Its text has a zero in it, behind which lies what may be an empty text.
        data = change(2, 4, b"key", b"\0", encoded(Text(), "\0\1"))
        records = [registrations()[4], (0, data)]
        message = "a change of state 'largest' has a key of unknown size: no file of the operator"
        with pytest.raises(UndecodableError, match=message):
            rows(operator_with(changelog(in_memory(records))), "keyed_state")
