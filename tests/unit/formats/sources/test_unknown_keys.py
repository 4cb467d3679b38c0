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


def test_a_map_of_keys_of_unknown_size_is_told(tmp_path: Path) -> None:
    states = meta_info("count", "VALUE", LONG), meta_info("map", "MAP", map_of(STRING, LONG))
    key = entry_identity("a", None, (Text(), VoidNamespace()))
    entry = (2, 1, key + encoded(Text(), "u"), b"\0" + encoded(Long(), 7))
    base = canonical_base(header(*states, key=UNKNOWN), [(2, 0, key, encoded(Long(), 5)), entry])
    savepoint = Savepoint.open(savepoint_of(base, tmp_path))
    with pytest.raises(UndecodableError, match="whose namespace is of an unknown size") as raised:
        rows(savepoint)
    assert raised.value.places[:2] == ("state 'map'", "key group 2")
    faults = [str(fault) for fault in savepoint.verify().faults if fault.state == "map"]
    assert any("unknown size" in fault for fault in faults)
