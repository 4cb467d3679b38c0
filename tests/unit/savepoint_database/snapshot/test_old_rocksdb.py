"""Checkpoints of RocksDB by Flink 1.8 and 1.13, whose tables are of format 0, are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("release", ["1.8.3", "1.13.6"])
def test_checkpoints_of_old_releases_are_whole_and_have_all_rows(cases: Path, release: str) -> None:
    path = cases / "01-rocksdb-of-old-flink" / f"flink-{release}" / "chk-2"
    savepoint = Savepoint.open(str(path), uids=["fn"])
    found = savepoint.sql("SELECT * FROM fn.keyed_state").to_pylist()
    assert len(found) == 50
    for row in found:
        numbers = [n for n in range(1000) if f"key-{n % 50}" == row["key"]]
        assert row["total"] == sum(numbers)
        assert row["names"] == [f"n{n}" for n in numbers]
        assert dict(row["rates"]) == {f"m{n % 3}": n / 2 for n in numbers}
    timers = savepoint.sql("SELECT timestamp, key FROM fn.timers").to_pylist()
    assert {(one["timestamp"] - 4102444800000, one["key"]) for one in timers} == {
        (n, f"key-{n % 50}") for n in range(1000)
    }
    assert savepoint.verify().is_whole
