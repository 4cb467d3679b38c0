"""Some planted faults are told as they must be; ``python -m faults.planted`` plants all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from faults.planted.alarms import alarms
from faults.planted.tables import TABLES, TOLD
from support.sample_rows import SAMPLES
from support.slow_cases import slow_unless

if TYPE_CHECKING:
    from faults.planted.plant import Plant

ROWS = [row for rows in TABLES.values() for row in rows]
FAST = [row for rows in TABLES.values() for row in rows[::10]]
LEAST = 40


@pytest.mark.parametrize("row", slow_unless(FAST.__contains__, ROWS), ids=lambda row: row.name)
def test_a_planted_fault_is_told(row: Plant) -> None:
    assert row.missed(TOLD[row.command]) == []


@pytest.mark.parametrize("command", TABLES)
def test_rows_are_many_and_have_names_of_their_own(command: str) -> None:
    rows = TABLES[command]
    assert len({row.name for row in rows}) == len(rows) >= LEAST
    assert {row.command for row in rows} == {command}


def test_a_sample_raises_no_alarm() -> None:
    assert list(alarms(SAMPLES / "windows-2.2.1-rocksdb-native")) == []
