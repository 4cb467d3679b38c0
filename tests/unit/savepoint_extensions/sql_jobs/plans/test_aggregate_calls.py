"""Accumulators of aggregate calls: the types that a plan tells are those in savepoints of Flink."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_extensions.sql_jobs.plans.aggregate_calls import AggregateCall
from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
from savepoint_formats.layout import BinaryRow, LogicalType, parts
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.tables.catalog import keyed_headers
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.layout import Layout

DECIMAL = LogicalType("DECIMAL", precision=10, scale=2)


def rows_in(layout: Layout) -> Iterator[BinaryRow]:
    if isinstance(layout, BinaryRow):
        yield layout
    for part in parts(layout):
        yield from rows_in(part)


def test_the_types_of_accumulators_are_those_that_flink_stored(corpus: Path) -> None:
    compared = 0
    for plan in sorted((corpus / "sql-plans").rglob("*.json")):
        case = plan.relative_to(corpus / "sql-plans").with_suffix("")
        for operator in Savepoint.open(corpus / "sql" / case, plan=plan).operators():
            rows = operator.names
            for state in operator.catalog.states:
                if state.name not in ("accState", "window-aggs") or not isinstance(rows, NodeRows):
                    continue
                (stored,) = rows_in(state.stored)
                columns = rows.calls.accumulators(len(stored.types)) or ()
                for column, logical_type in zip(columns, stored.types, strict=bool(columns)):
                    if column.type is None:
                        continue
                    compared += 1
                    known = column.type.root, column.type.precision, column.type.scale
                    found = logical_type.root, logical_type.precision, logical_type.scale
                    assert known == found, (case, column.name)
                    assert column.type.length == logical_type.length, (case, column.name)
                    assert column.type.is_nullable == logical_type.is_nullable
    assert compared > 60


@pytest.mark.parametrize(
    ("function", "argument", "types"),
    [
        ("AVG", LogicalType("INTEGER", is_nullable=False), ("BIGINT", "BIGINT")),
        ("AVG", LogicalType("FLOAT"), ("DOUBLE", "BIGINT")),
        ("SINGLE_VALUE", LogicalType("DATE"), ("DATE", "INTEGER")),
        ("LISTAGG", LogicalType("VARCHAR", length=3), ("VARCHAR", "VARCHAR")),
        ("MAX", LogicalType("VARCHAR", length=3), ("VARCHAR",)),
    ],
)
def test_fields_of_an_accumulator(
    function: str, argument: LogicalType, types: tuple[str, ...]
) -> None:
    call = AggregateCall("x", function, ("a",), False, False, argument, (argument,))
    assert tuple(column.root for column in call.columns) == types


def test_sums_of_decimals_have_as_many_digits_as_there_are() -> None:
    call = AggregateCall("x", "AVG", ("a",), False, False, DECIMAL, (DECIMAL,))
    assert call.columns[0].type == LogicalType("DECIMAL", precision=38, scale=2)


def test_what_takes_rows_back_has_other_accumulators() -> None:
    call = AggregateCall("x", "SUM", ("a",), False, True, DECIMAL, (DECIMAL,))
    assert [column.name for column in call.columns] == ["x_sum", "x_count"]
    (unknown,) = AggregateCall("x", "MAX", ("a",), False, True, DECIMAL, (DECIMAL,)).columns
    assert unknown.type is None


def test_the_place_of_a_view_is_what_flink_stores(corpus: Path) -> None:
    """The view of distinct values has a null of its own type in the row of accumulators."""
    case = "stream-exec-mini-batch-assigner_1/mini-batch-assigner-proc-time"
    savepoint = Savepoint.open(corpus / "sql" / case, plan=corpus / "sql-plans" / f"{case}.json")
    operator = next(
        it for it in savepoint.operators() if it.name.endswith("global-group-aggregate")
    )
    assert isinstance(operator.names, NodeRows)
    columns = operator.names.calls.accumulators() or ()
    types = [column.type for column in columns if column.type is not None]
    subtasks = operator.record.subtasks
    headers = [it for task in subtasks for it in keyed_headers(operator.directory, task)]
    infos = headers[0].states
    stored = next(info for info in infos if info.name == "accState").serializer("VALUE_SERIALIZER")
    assert stored is not None
    made = row_data(types)
    assert [it.data for it in made["types"]] == [it.data for it in stored["types"]]
    assert made.nested == stored.nested
