"""``count(*)`` uses no values, so times with nanoseconds don't stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    canonical_base,
    encoded,
    entry_identity,
    header,
    meta_info,
    operator_of,
)

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import InexactTimeError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.layout import Long, VoidNamespace
from savepoint_formats.metadata import CheckpointMetadata, SubtaskState
from savepoint_formats.snapshots.nested import snapshot_bytes
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from pathlib import Path

INSTANT = Types.INSTANT()
KEYS = [{"seconds": second, "nanos": 123_456_789} for second in range(-3, 7)]


@pytest.fixture
def savepoint(tmp_path: Path) -> Savepoint:
    layouts = (INSTANT.layout, VoidNamespace())
    entries = [
        (
            key_group(java_hash(INSTANT.layout, key), MAX_PARALLELISM),
            0,
            entry_identity(key, None, layouts),
            encoded(Long(), number),
        )
        for number, key in enumerate(KEYS)
    ]
    head = header(meta_info("n", "VALUE", LONG), key=snapshot_bytes(INSTANT.snapshot))
    subtask = SubtaskState(0, managed_keyed_state=canonical_base(head, entries))
    view = DataOutputView()
    CheckpointMetadata.new((operator_of(subtask),)).write(view)
    (tmp_path / "_metadata").write_bytes(view.to_bytes())
    return Savepoint.open(str(tmp_path), uids=["a"])


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("SELECT count(*) AS c FROM a.keyed_state", 10),
        ("SELECT count(*) AS c FROM a.keyed_state WHERE n > 3", 6),
        ("SELECT count(*) AS c FROM a.keyed_state AS l, a.keyed_state AS r", 100),
        ("SELECT sum(42) AS c FROM a.keyed_state", 420),
    ],
)
def test_rows_are_counted(savepoint: Savepoint, query: str, count: int) -> None:
    assert savepoint.sql(query).to_pylist() == [{"c": count}]
    code, output = run("query", savepoint.path, query, "--uid", "a", "--output", "json")
    assert (code, output.splitlines()[0]) == (0, f'{{"c": {count}}}')


@pytest.mark.parametrize(
    "query",
    [
        "SELECT key FROM a.keyed_state",
        "SELECT count(*) AS c, max(key) AS k FROM a.keyed_state",
        "SELECT count(*) AS c FROM a.keyed_state WHERE key > '1970-01-01'",
        "SELECT count(*) AS c, 42 AS n FROM a.keyed_state GROUP BY key",
        "SELECT count(DISTINCT key) AS c FROM a.keyed_state",
        "SELECT (SELECT count(*) FROM a.keyed_state) AS c, key FROM a.keyed_state",
    ],
)
def test_values_of_times_are_not_cut(savepoint: Savepoint, query: str) -> None:
    with pytest.raises(
        InexactTimeError, match="does not fit a timestamp of microseconds"
    ) as caught:
        savepoint.sql(query)
    assert "Spark" not in str(caught.value)
