"""Accumulators, data views and slices of Flink SQL as readers see them, in savepoints of Flink."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.flink_vectors import CORPUS
from support.sample_rows import Sample

from savepoint_database.rows.rows import first_rows
from state_processor import Savepoint

WINDOWS = Sample("sql-2.2.1-hashmap-canonical")
TABLE = "8_window-aggregate.window_state"
SLICES = 'SELECT namespace FROM "8_window-aggregate".window_state'


def of_the_corpus(name: str) -> Savepoint:
    """A savepoint of one of Flink's own tests of SQL."""
    found = next((CORPUS / "sql").glob(f"*/{name}/**/_metadata"), None)
    if found is None:
        pytest.skip(f"the corpus has no savepoint {name}")
    return Savepoint.open(str(Path(found).parent))


def accumulators(savepoint: Savepoint, state: str) -> list[dict[str, Any]]:
    (table,) = [table.table for table in savepoint.tables() if state in table.states]
    batches = savepoint.scan(table, columns=[state]).batches()
    return [row[state] for batch in batches for row in batch.to_pylist()]


def test_a_linked_list_in_an_accumulator_is_decoded() -> None:
    (found,) = accumulators(of_the_corpus("over-aggregate-lag"), "accState")
    assert found["f0"] == {"offset": 1, "defaultValue": None, "buffer": [[(42.0, 42.0)]]}


def test_the_placeholder_of_a_data_view_says_where_its_entries_are() -> None:
    savepoint = of_the_corpus("group-aggregate-udf-with-merge-mini-batch")
    found = accumulators(savepoint, "accState")
    assert found
    for one in found:
        assert {part["bytes"] for part in one["f1"].values()} == {b"\0"}
        assert all("in a state of their own" in part["reason"] for part in one["f1"].values())
    (notes,) = [state.notes for state in savepoint.describe().states() if state.state == "accState"]
    assert [note.partition(":")[0].rpartition(".")[2] for note in notes] == ["ListView", "MapView"]


def test_ends_of_slices_are_numbers_or_timestamps() -> None:
    savepoint = WINDOWS.open()
    numbers = [row["namespace"] for row in savepoint.sql(SLICES).to_pylist()]
    dated = savepoint.sql(SLICES, times="dates")
    assert dated.schema.field("namespace").type == pa.timestamp("us", "UTC")
    assert numbers
    assert [row["namespace"] for row in dated.to_pylist()] == [
        datetime.fromtimestamp(number / 1000, UTC) for number in numbers
    ]
    rows = first_rows(savepoint.scan(TABLE), 1, times="dates")
    assert rows[0]["namespace"].startswith("20")


def test_the_schema_says_what_the_numbers_of_namespaces_are() -> None:
    for table in (TABLE, "8_window-aggregate.timers"):
        (namespace,) = [
            column for column in WINDOWS.open().schema(table) if column.column == "namespace"
        ]
        assert namespace.type == "BIGINT"
        assert namespace.notes[0].startswith("the end of a window or slice of Flink SQL")
