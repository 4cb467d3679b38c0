"""Keys of a serializer that is not known: values are read, and of maps is said why they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.hand_made import (
    LONG,
    STRING,
    UNKNOWN,
    canonical_base,
    encoded,
    entry_identity,
    header,
    map_of,
    meta_info,
    savepoint_of,
)

from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import Long, Text, VoidNamespace
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def rows(savepoint: Savepoint) -> list[dict[str, Any]]:
    scan = savepoint.scan("a.keyed_state")
    return [row for one in scan.splits() for batch in scan.read(one) for row in batch.to_pylist()]


def with_map(user_key: str, tmp_path: Path) -> Savepoint:
    states = meta_info("count", "VALUE", LONG), meta_info("map", "MAP", map_of(STRING, LONG))
    key = entry_identity("a", None, (Text(), VoidNamespace()))
    entry = (2, 1, key + encoded(Text(), user_key), b"\0" + encoded(Long(), 7))
    base = canonical_base(header(*states, key=UNKNOWN), [(2, 0, key, encoded(Long(), 5)), entry])
    return Savepoint.open(savepoint_of(base, tmp_path))


def test_a_map_of_unknown_keys_is_read_if_they_end_in_one_place(tmp_path: Path) -> None:
    (row,) = rows(with_map("u", tmp_path))
    assert (row["key"]["bytes"], row["count"], row["map"]) == (encoded(Text(), "a"), 5, [("u", 7)])


def test_a_map_of_keys_of_unknown_size_is_told(tmp_path: Path) -> None:
    """The zero in the user key may be the namespace."""
    savepoint = with_map("\0\1", tmp_path)
    with pytest.raises(UndecodableError, match="whose namespace is of an unknown size") as raised:
        rows(savepoint)
    assert raised.value.places[:2] == ("state 'map'", "key group 2")
    faults = [fault for fault in savepoint.verify().faults if fault.state == "map"]
    assert [fault.severity for fault in faults] == ["not read"]
    assert "unknown size" in faults[0].problem
