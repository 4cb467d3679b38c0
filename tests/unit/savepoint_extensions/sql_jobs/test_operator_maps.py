"""Serializers of data views are those that Flink's restore tests stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_extensions.sql_jobs.history.operator_maps import external, map_view
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots.nested import snapshot_bytes
from savepoint_formats.snapshots.sql.logical_type import logical_type
from savepoint_formats.tables.catalog import keyed_headers
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.snapshots import TypeSerializerSnapshot


def views(corpus: Path) -> Iterator[TypeSerializerSnapshot]:
    """Serializers of the states with distinct values."""
    for metadata in sorted((corpus / "sql").rglob("_metadata")):
        for operator in Savepoint.open(metadata.parent).operators():
            for subtask in operator.record.subtasks:
                for header in keyed_headers(operator.directory, subtask):
                    for state in header.states:
                        if state.name.startswith("distinctAcc_"):
                            yield state.serializers[0][1]


def sql_type(serializer: TypeSerializerSnapshot) -> LogicalType:
    return logical_type(serializer["data_type"].value.fields["logicalType"])


def test_views_are_those_that_flink_stored(corpus: Path) -> None:
    compared = 0
    for stored in views(corpus):
        if stored.class_name.endswith("MapSerializerSnapshot"):
            key, value = map(sql_type, stored.nested)
            made = map_view(key, value)
        else:
            made = external(sql_type(stored))
        assert snapshot_bytes(made) == snapshot_bytes(stored)
        compared += 1
    assert compared > 10


def test_rows_in_a_view_are_refused() -> None:
    row = LogicalType("ROW", names=("a",), children=(LogicalType("BIGINT"),))
    with pytest.raises(ValueError, match="the SQL type ROW in a data view"):
        external(row)
