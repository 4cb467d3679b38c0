"""A program is a table that can be read, and every layout has one."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from support.decoding import general_paths

from savepoint_formats import layout as layouts
from savepoint_formats.layout import (
    BinaryRow,
    Framed,
    Layout,
    LogicalType,
    MapOf,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
)
from savepoint_formats.program.assembly import program, written_program
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage
from savepoint_formats.values import state_entries as entries
from savepoint_formats.values.arrow_types import arrow_type

KRYO = layouts.Kryo("a.B")

NULLABLE_AND_LIST = """\
   0 NULL            column 1   -> 3
   1 LONG            column 1
   2 GOTO                       -> 4
   3 ZERO            column 1   8
   4 LIST            column 2   -> 7
   5 TEXT            column 3
   6 NEXT            column 2   -> 5
   7 END
   0 struct    $: struct<id: int64, tags: list<item: string>>
   1 numbers   $.id: int64
   2 list      $.tags: list<item: string>
   3 bytes     $.tags[]: string"""


def test_it_can_be_printed() -> None:
    layout = Struct(("id", "tags"), (Nullable(layouts.Long()), Repeated(layouts.Text())))
    assert str(program(layout)) == NULLABLE_AND_LIST


def test_slots_are_numbered_behind_the_columns() -> None:
    printed = str(program(Framed(BinaryRow(("a",), (LogicalType("BIGINT"),)))))
    assert [line[5:].strip() for line in printed.splitlines()[:4]] == [
        "FRAME           slot 3",
        "SECTION         slot 4",
        "ROW                        1",
        "ROW_KIND        column 2",
    ]


def test_it_is_small_and_can_be_pickled() -> None:
    names = tuple(f"f{number}" for number in range(50))
    wide = Framed(BinaryRow(names, (LogicalType("VARCHAR"),) * 50))
    data = pickle.dumps(program(wide))
    again = pickle.loads(data)
    assert len(data) < 10_000
    assert str(again) == str(program(wide))
    assert again.type == arrow_type(wide)


def test_its_table_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        program(layouts.Long()).ops[0, 0] = Op.END


@pytest.mark.parametrize(
    ("layout", "paths"),
    [
        (Struct(("a", "b"), (layouts.Long(), KRYO)), ["$.b"]),
        (Struct(("a", "b"), (layouts.Long(), Repeated(KRYO))), ["$.b"]),
        (Struct(("a", "b"), (KRYO, layouts.Long())), ["$"]),
        (Struct(("a", "b"), (Framed(KRYO), layouts.Long())), ["$.a"]),
        (Nullable(KRYO), ["$"]),
        (Tagged((0, 1), ("a", "b"), (KRYO, layouts.Variant())), ["$.a", "$.b"]),
        (MapOf(layouts.Text(), KRYO), ["$"]),
        (Repeated(Struct((), ())), ["$"]),
        (layouts.BlockRepeated(KRYO), ["$"]),
        (layouts.MaskedRepeated(layouts.Marker(None)), []),
        (layouts.Enum("E", ()), ["$"]),
    ],
    ids=repr,
)
def test_it_says_what_takes_the_general_path(layout: Layout, paths: list[str]) -> None:
    assert general_paths(layout) == paths


@pytest.mark.parametrize(
    ("layout", "needs_end"),
    [
        (layouts.Text(), False),
        (KRYO, True),
        (Framed(KRYO), False),
        (entries.Delimited(layouts.Long()), True),
        (entries.NullableRest(layouts.Long()), True),
        (Framed(BinaryRow((), ())), False),
        (BinaryRow((), ()), True),
    ],
    ids=repr,
)
def test_it_says_whether_ends_must_be_known(layout: Layout, needs_end: bool) -> None:
    assert program(layout).needs_end is needs_end


def test_fields_that_only_subclasses_have_are_written_too() -> None:
    own = (Nullable(layouts.Long()),)
    subclass = Pojo("S", ("a", "z"), (*own, Nullable(layouts.Text())))
    layout = Pojo("P", ("a",), own, registered=(("S", subclass),))
    assert program(layout).columns[3].storage == Storage.BYTES
    columns = written_program(layout).columns
    assert [(one.path, one.storage) for one in columns[1:]] == [
        ("$.$class", Storage.NAMES),
        ("$.a", Storage.NUMBERS),
        ("$.z", Storage.BYTES),
    ]
    assert columns[3].type == pa.utf8()
