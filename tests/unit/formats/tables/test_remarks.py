"""Remarks on states, beside their types."""

from __future__ import annotations

from savepoint_formats.layout import (
    BinaryRow,
    Bytes,
    Framed,
    Layout,
    LogicalType,
    Long,
    Repeated,
    Text,
)
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.tables.remarks import SLICE_END, column_remarks, has_slices, state_remarks
from savepoint_formats.tables.tables import tables_of

ROW = Framed(BinaryRow(("f0",), (LogicalType("BIGINT"),)))
RAW_ROW = Framed(BinaryRow(("f0",), (LogicalType("ARRAY", children=(LogicalType("RAW"),)),)))


def value(stored: Layout, key: Layout = ROW, namespace: Layout | None = None) -> State:
    return State("total", StateKind.VALUE, stored, key, namespace)


def operator_list(name: str, stored: Layout) -> State:
    return State(name, StateKind.OPERATOR_LIST, stored)


def test_numbers_that_are_ends_of_slices_are_told() -> None:
    state = value(ROW, namespace=Long())
    assert has_slices(state)
    assert f"namespace: {SLICE_END}" in state_remarks(state)
    (table,) = tables_of([state])
    notes = {column.name: list(column_remarks(table, column)) for column in table.columns}
    assert notes == {"key": [], "namespace": [SLICE_END], "total": []}


def test_other_numbers_are_no_ends_of_slices() -> None:
    assert not has_slices(value(ROW))
    assert not has_slices(value(ROW, Text(), Long()))
    assert not has_slices(value(ROW, namespace=Text()))


def test_byte_arrays_have_a_reason() -> None:
    (known,) = state_remarks(operator_list("SourceReaderState", Bytes()))
    assert "a split as the connector's own serializer writes it" in known
    for stored in (Bytes(), Repeated(Bytes())):
        (other,) = state_remarks(operator_list("mine", stored))
        assert other.startswith("a byte array")
    (table,) = tables_of([value(Bytes())])
    assert [len(list(column_remarks(table, column))) for column in table.columns] == [0, 1]


def test_raw_fields_have_a_reason() -> None:
    assert list(state_remarks(value(RAW_ROW))) == ["a RAW value of SQL"]
