"""A look-up of keys gives the rows that a read of all has of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.slow_cases import slow_unless

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


SAMPLES = [
    "states-2.2.1-rocksdb-native",
    "windows-2.2.1-rocksdb-native",
    "sql-1.20.5-rocksdb-native",
]


@pytest.mark.parametrize("sample", slow_unless(SAMPLES[-1].__eq__, SAMPLES))
def test_each_key_has_the_same_rows(samples: Path, sample: str) -> None:
    savepoint = Savepoint.open(str(samples / sample))
    keyed = [table.table for table in savepoint.tables() if "key" in table.columns]
    assert keyed
    for table in keyed:
        if not savepoint.table(table)[1].states[0].kind.is_keyed:
            continue
        rows = savepoint.scan(table).to_arrow().to_pylist()
        keys = list({repr(row["key"]): row["key"] for row in rows}.values())
        for wanted in ([keys[0]], keys[1:4], keys) if keys else ():
            looked_up = savepoint.scan(table, keys=wanted).to_arrow().to_pylist()
            expected = [row for row in rows if row["key"] in wanted]
            assert sorted(map(repr, looked_up)) == sorted(map(repr, expected))
