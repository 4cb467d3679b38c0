"""Rows with names: the same bytes, other columns."""

from __future__ import annotations

import pickle

import pytest

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import (
    BinaryRow,
    Framed,
    Long,
    MaskedStruct,
    Repeated,
    Struct,
    Text,
)
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, constructed
from savepoint_formats.snapshots.shown import named_row
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type

FIELDS = [constructed.long(), constructed.string()]
NAMES = ("id", "name")


def test_the_layout_of_a_row_has_the_names() -> None:
    found = named_row(constructed.row_of(FIELDS), NAMES).layout()
    assert found == MaskedStruct(NAMES, (Long(), Text()), has_kind=True)


def test_a_tuple_can_have_names_as_well() -> None:
    found = named_row(constructed.tuple_of(FIELDS), NAMES).layout()
    assert found == Struct(NAMES, (Long(), Text()))


def test_a_row_of_sql_has_them_inside_its_frame() -> None:
    kind = parse_logical_type("BIGINT")
    found = named_row(row_data([kind]), ["id"]).layout()
    assert found == Framed(BinaryRow(("id",), (kind,)))


def test_names_are_kept_inside_other_types() -> None:
    row = named_row(constructed.row_of(FIELDS), NAMES)
    found = constructed.list_of(row).layout()
    assert found == Repeated(row.layout())


def test_it_is_equal_to_the_row_that_is_read_back() -> None:
    row = named_row(constructed.row_of(FIELDS), NAMES)
    view = DataOutputView()
    row.write(view)
    plain = TypeSerializerSnapshot.read(SnapshotView(view.to_bytes()))
    assert row == plain
    assert plain == row
    assert hash(row) == hash(plain)
    assert row != constructed.long()


def test_it_goes_to_an_executor_with_its_names() -> None:
    row = named_row(constructed.row_of(FIELDS), NAMES)
    assert pickle.loads(pickle.dumps(row)).layout() == row.layout()


@pytest.mark.parametrize("names", [["id"], ["id", "id"], ["id", "name", "more"]])
def test_each_field_needs_a_name_of_its_own(names: list[str]) -> None:
    with pytest.raises(ValueError, match="of 2 fields, expected one for each"):
        named_row(constructed.row_of(FIELDS), names)


def test_what_has_no_fields_has_no_names() -> None:
    with pytest.raises(TypeError, match="a Repeated, which has no fields"):
        named_row(constructed.list_of(constructed.long()), ["element"]).layout()
