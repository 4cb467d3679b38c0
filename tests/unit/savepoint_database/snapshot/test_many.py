"""Far more operators and states than any job has: memory and time grow with the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.promises import watched
from support.hand_made import (
    LONG,
    canonical_base,
    encoded,
    entry_identity,
    group_of,
    header,
    meta_info,
    savepoint_of,
)

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Long, Text, VoidNamespace
from savepoint_formats.metadata import CheckpointMetadata, OperatorState
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30


def test_200_000_operators(tmp_path: Path, slow: None) -> None:
    operators = [
        OperatorState(OperatorId(number.to_bytes(16, "big")), 1, 128, ())
        for number in range(200_000)
    ]
    view = DataOutputView()
    CheckpointMetadata.new(tuple(operators)).write(view)
    (tmp_path / "_metadata").write_bytes(view.to_bytes())
    with watched(GIB):
        savepoint = Savepoint.open(str(tmp_path))
        assert len(savepoint.operators()) == 200_000
        assert savepoint.verify("quick").is_whole


def test_10_000_states_of_an_operator(tmp_path: Path, slow: None) -> None:
    count, key = 10_000, "a"
    head = header(*(meta_info(f"s{number}", "VALUE", LONG) for number in range(count)))
    identity = entry_identity(key, None, (Text(), VoidNamespace()))
    entries = (
        (group_of(key), number, identity, encoded(Long(), number)) for number in range(count)
    )
    path = savepoint_of(canonical_base(head, entries), tmp_path)
    with watched(GIB):
        savepoint = Savepoint.open(path)
        (table,) = savepoint.operators()[0].tables
        assert len(table.states) == count
        scan = savepoint.scan("a.keyed_state", columns=["key", "s0", "s9999"])
        (batch,) = [batch for split in scan.splits() for batch in scan.read(split)]
        assert batch.to_pylist() == [{"key": key, "s0": 0, "s9999": 9999}]
