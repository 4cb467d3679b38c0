"""Keys of a changelog, which does not tell their serializer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.changelog_jobs import TIMERS, plain_base, put, registrations
from support.hand_made import (
    LONG,
    STRING,
    VOID,
    change,
    changelog,
    encoded,
    group_of,
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

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorState


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

    # A user key and a value with what may be the end of a key in it: only its type tells.
    DOUBTFUL = b"".join(
        (encoded(Text(), "a"), b"\0", encoded(Text(), "\0\1"), encoded(Text(), "v"))
    )
    CLEAR = b"".join((encoded(Text(), "a"), b"\0", encoded(Text(), "u"), encoded(Text(), "w")))

    def of_maps(self) -> OperatorState:
        group, records = group_of("a"), registrations()
        entries = [(group, change(5, 2, data)) for data in (self.CLEAR, self.DOUBTFUL)]
        others = [(group_of(key), change(5, 2, self.entry(key))) for key in "bcde"]
        return operator_with(changelog(in_memory([*records, put("a", 7), *entries, *others])))

    def entry(self, key: str) -> bytes:
        return self.CLEAR.replace(encoded(Text(), "a"), encoded(Text(), key), 1)

    def test_with_several_possible_ends_are_shown_with_the_change_behind_them(self) -> None:
        """With all that the state has in the key group, as one of its maps would lack an entry."""
        found = {row["key"]["bytes"]: row for row in rows(self.of_maps(), "keyed_state")}
        known: dict[bytes, dict[str, Any]] = {}
        doubtful: dict[bytes, dict[str, Any]] = {}
        for key, row in found.items():
            is_change = "a change ADD_ELEMENT of state 'map'" in row["key"]["reason"]
            (doubtful if is_change else known)[key] = row
        in_doubt = [key for key in "bcde" if group_of(key) == group_of("a")]
        wholes = {self.CLEAR, self.DOUBTFUL, *map(self.entry, in_doubt)}
        assert doubtful.keys() == wholes
        assert all(set(row.values()) == {None} for row in map(without_key, doubtful.values()))
        assert known[encoded(Text(), "a")]["value"] == 7
        maps = {key: row["map"] for key, row in known.items() if row["map"] is not None}
        others = [key for key in "bcde" if key not in in_doubt]
        assert maps == {encoded(Text(), key): [("u", "w")] for key in others}
        assert others

    def test_with_several_possible_ends_are_no_rows_of_a_flat_view(self) -> None:
        """They have no entries of maps to show, and would be left out."""
        with pytest.raises(UndecodableError, match="has a key of unknown size"):
            rows(self.of_maps(), "keyed_state", flat="map")

    def test_of_windows_must_have_one_possible_end(self) -> None:
        of_windows = (-1, registration(5, "sum", "VALUE", STRING, STRING))
        data = change(1, 5, b"key", encoded(Text(), "a"), encoded(Text(), "\0\1"), b"\0")
        message = "a change of state 'sum' has a key of unknown size: no file of the operator"
        with pytest.raises(UndecodableError, match=message):
            rows(operator_with(changelog(in_memory([of_windows, (0, data)]))), "window_state")


def without_key(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "key"}
