"""Savepoints and checkpoints of Flink 1.8 to 1.20: every table is read to its end.

They are those of Flink's own migration tests. ``StatefulJobSavepointMigrationITCase`` has sources
of four elements with a key each, timers of both domains per key, and broadcasts of four entries;
``KeyedJob`` has ten keys, and operators of four subtasks with an element each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats.state_files.state import StateKind
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.scan.scan import TableScan

pytestmark = pytest.mark.usefixtures("slow")

Counts = dict[tuple[str, str], tuple[StateKind, int]]
"""Operator and table -> kind of its states, and rows."""

JOBS = {
    "complexKeyed": 4,
    "new-stateful-broadcast-udf-migration-itcase": 16,
    "new-stateful-udf-migration-itcase": 16,
    "nonKeyed": 4,
}
"""Job -> how many snapshots of it there are, of several releases, backends and formats."""

_ELEMENTS = {
    StateKind.OPERATOR_LIST: 4,
    StateKind.UNION_LIST: 4,
    StateKind.BROADCAST: 4,
    StateKind.RAW_KEYED: 0,
}
EXPECTED = {
    "complexKeyed": _ELEMENTS | {StateKind.LIST: 10, StateKind.REDUCING: 0, StateKind.TIMERS: 0},
    "nonKeyed": _ELEMENTS,
    "new-stateful-udf-migration-itcase": _ELEMENTS | {StateKind.VALUE: 4, StateKind.TIMERS: 8},
    "new-stateful-broadcast-udf-migration-itcase": _ELEMENTS | {StateKind.TIMERS: 0},
}
"""Job -> rows of each table of a kind."""


def job_of(folder: Path) -> str:
    return folder.name.partition("-flink")[0]


def rows_of(scan: TableScan) -> int:
    rows = 0
    for split in scan.splits():
        for batch in scan.read(split):
            batch.validate(full=True)
            rows += batch.num_rows
    return rows


@pytest.fixture(scope="module")
def counts(corpus: Path) -> dict[Path, Counts]:
    """Content of each snapshot of the corpus."""
    found: dict[Path, Counts] = {}
    for metadata in sorted((corpus / "savepoints").glob("*/_metadata")):
        savepoint = Savepoint.open(str(metadata.parent))
        found[metadata.parent] = {
            (operator.name, table.name): (
                table.states[0].kind,
                rows_of(savepoint.scan(f"{operator.name}.{table.name}")),
            )
            for operator in savepoint.operators()
            for table in operator.readable_tables
        }
    return found


def test_all_are_there(counts: dict[Path, Counts]) -> None:
    jobs = [job_of(folder) for folder in counts]
    assert {job: jobs.count(job) for job in jobs} == JOBS


def test_every_table_has_the_rows_that_the_job_made(counts: dict[Path, Counts]) -> None:
    wrong = [
        (folder.name, table, kind, rows)
        for folder, tables in counts.items()
        for table, (kind, rows) in tables.items()
        if rows != EXPECTED[job_of(folder)][kind]
    ]
    assert wrong == []


@pytest.mark.parametrize("job", JOBS)
def test_all_snapshots_of_a_job_have_the_same_tables(counts: dict[Path, Counts], job: str) -> None:
    """Equal for every release, backend and format, except for empty tables."""
    found = {
        folder.name: {table: rows for table, (_, rows) in tables.items() if rows}
        for folder, tables in counts.items()
        if job_of(folder) == job
    }
    first = next(iter(found.values()))
    assert first
    assert {name for name, tables in found.items() if tables != first} == set()
