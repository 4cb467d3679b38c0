"""Bytes that the general path refuses: damage, and what no column holds or nobody decodes."""

from __future__ import annotations

import pytest
from support.value_layouts import (
    COLOR,
    EITHER,
    INT,
    LONG,
    POJO,
    POJO_WITH_TAGS,
    SQL_INT,
    SQL_LONG,
    SQL_TEXT,
    TEXT,
    framed_array,
    framed_map,
    framed_row,
    read_all,
    sql_row,
    written,
)

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import (
    FormatError,
    TruncatedError,
    UndecodableError,
    ValueOutOfRangeError,
)
from savepoint_formats.layout import (
    Framed,
    Layout,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Repeated,
    Struct,
)
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.values import ValueReader

# --- what no column can hold ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "data"),
    [
        (layouts.LocalDate(), "3b9ac9ff0c1f"),
        (layouts.TimestampData(4), "0000000000000000 00000001"),
        (layouts.DecimalData(2, 0), "0000000000000064"),
    ],
    ids=["local date", "more digits", "decimal"],
)
def test_a_value_beyond_its_arrow_type_is_refused(layout: Layout, data: str) -> None:
    with pytest.raises(ValueOutOfRangeError) as raised:
        read_all(layout, bytes.fromhex(data))
    assert raised.value.offset == 0


def test_a_null_key_fits_into_no_map_of_arrow() -> None:
    with pytest.raises(UndecodableError, match="null key"):
        read_all(MapOf(TEXT, Nullable(INT)), bytes.fromhex("000000010001"))


def test_a_subclass_that_nobody_described_is_named() -> None:
    data = bytes.fromhex("04000b47656e436f72652453756202")
    with pytest.raises(UndecodableError, match=r"GenCore\$Sub"):
        read_all(POJO, data)


def test_the_row_kind_of_an_inner_row_is_not_dropped() -> None:
    data = bytearray.fromhex(
        "000000200100000000000000100000001000000000000000000000000100000000000000"
    )
    data[20] = 3
    with pytest.raises(UndecodableError, match="-D"):
        read_all(framed_array(sql_row(f0=SQL_INT)), bytes(data))


# --- what nobody can decode -------------------------------------------------------------------

OPAQUE = layouts.Opaque("com.acme.Money", "written by a serializer of the user")
REASON = "com.acme.Money: written by a serializer of the user"


def test_an_undecodable_value_takes_all_bytes_and_says_why() -> None:
    value = read_all(OPAQUE, b"abc")
    assert value == {"bytes": b"abc", "reason": REASON}
    assert written(OPAQUE, value) == b"abc"


@pytest.mark.parametrize("has_mask", [False, True])
def test_what_follows_an_undecodable_field_is_named_in_its_reason(has_mask: bool) -> None:
    fields = (("f0", "f1", "f2", "f3"), (INT, OPAQUE, LONG, TEXT))
    layout = MaskedStruct(*fields, False) if has_mask else Struct(*fields)
    mask = b"\0" if has_mask else b""
    data = mask + bytes.fromhex("00000001616263")
    value = read_all(layout, data)
    reason = f"{REASON}; these bytes are also those of 'f2', 'f3'"
    assert value == {"f0": 1, "f1": {"bytes": b"abc", "reason": reason}, "f2": None, "f3": None}
    if not has_mask:
        assert written(layout, value) == data
    else:
        # The mask says which fields are null, and of those behind nobody knows.
        with pytest.raises(ValueError, match="fields behind a mask"):
            written(layout, value)


def test_a_frame_ends_an_undecodable_value() -> None:
    layout = Struct(("f0", "f1"), (Framed(OPAQUE), INT))
    data = bytes.fromhex("0000000361626300000007")
    reader = ValueReader(DataInputView(data))
    value = reader.read(layout)
    assert value == {"f0": {"bytes": b"abc", "reason": REASON}, "f1": 7}
    assert reader.reason == REASON
    assert written(layout, value) == data


def test_a_list_ends_with_its_first_undecodable_element() -> None:
    (value,) = read_all(Repeated(OPAQUE), b"\0\0\0\3abc")
    assert value["bytes"] == b"abc"
    assert value["reason"] == f"{REASON}; these bytes are also those of 2 more elements"


@pytest.mark.parametrize("layout", [Repeated(OPAQUE), MaskedRepeated(OPAQUE), MapOf(INT, OPAQUE)])
def test_a_count_that_nobody_knows_is_not_written(layout: Layout) -> None:
    reason = f"{REASON}; these bytes are also those of 2 more elements"
    undecoded = {"bytes": b"abc", "reason": reason}
    value = [(1, undecoded)] if isinstance(layout, MapOf) else [undecoded]
    with pytest.raises(ValueError, match="their number is unknown"):
        written(layout, value)


def test_an_object_of_java_has_its_reason() -> None:
    layout = Struct(("f0", "f1"), (layouts.JavaObject(), INT))
    data = bytes.fromhex("aced0005 74 0001 61 00000007")
    value = read_all(layout, data)
    assert (value["f0"]["bytes"], value["f1"]) == (data[:-4], 7)
    assert "Java serialized the object itself" in value["f0"]["reason"]
    assert written(layout, value) == data
    cut = read_all(layout, data[:-5])
    assert cut["f0"]["reason"].endswith("; these bytes are also those of 'f1'")
    assert written(layout, cut) == data[:-5]


# --- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "data"),
    [
        (Repeated(LONG), "7fffffff00"),
        (Repeated(TEXT), "ffffffff"),
        (Repeated(layouts.Marker(None)), "7fffffff"),
        (MaskedRepeated(TEXT), "7fffffff00"),
        (MaskedRepeated(TEXT), "ffffffff"),
        (MapOf(TEXT, TEXT), "7fffffff"),
        (layouts.Bytes(), "00000004616263"),
        (Framed(TEXT), "000000040161"),
        (layouts.BlockRepeated(INT), "ffffff7f"),
        (layouts.PackedTexts(), "7fffffff0000000100"),
        (framed_array(SQL_LONG), "00000004ffffff7f"),
        (framed_array(SQL_LONG), "00000004ffffffff"),
        (framed_map(SQL_LONG, SQL_LONG), "00000004ffffff7f"),
        (framed_row(("f0",), (SQL_TEXT,)), "000000100000000000000000ffffffff00000000"),
        (framed_row(("f0",), (SQL_TEXT,)), "00000010000000000000000000000000000000ff"),
        (framed_row(("f0",), (SQL_TEXT,)), "0000001004000000000000000000000000000080"),
    ],
)
def test_no_count_or_size_is_believed(layout: Layout, data: str) -> None:
    with pytest.raises((FormatError, TruncatedError)):
        read_all(layout, bytes.fromhex(data))


@pytest.mark.parametrize(
    ("layout", "data", "message"),
    [
        (EITHER, "02", "a tag of 2, expected one of 1, 0"),
        (POJO, "05", "a POJO with flags 5"),
        (POJO_WITH_TAGS, "0801", "registered subclass 1 of 1"),
        (POJO_WITH_TAGS, "080001", "a subclass with flags 1"),
        (COLOR, "00000003", "constant 3 of Color"),
        (COLOR, "ffffffff", "constant -1 of Color"),
        (layouts.Enum("E", ("A",), (7,)), "00000000", "constant 0 of E"),
        (layouts.LocalDate(), "000007e5021d", "no date 2021-2-29"),
        (layouts.LocalTime(), "18000000000000", "no time 24:0:0"),
        (layouts.LocalTime(), "0000003b9aca00", "1000000000 nanoseconds"),
        (layouts.LocalDateTime(), "80000000800001020300000004", "half a date and time"),
        (layouts.BigInteger(), "00000004", "size code 4"),
        (layouts.Marker(42), "2b", "a byte of 43, expected 42"),
        (layouts.Utf8(), "00000001ff", "not UTF-8"),
        (layouts.IndexedUnion(("a",), (INT,)), "00000001", "branch 1 of 1"),
        (layouts.NullCount(), "ffffffff", "a count of -1 nulls"),
    ],
)
def test_what_is_no_value_is_named(layout: Layout, data: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_all(layout, bytes.fromhex(data))


def test_a_layout_may_not_nest_without_end() -> None:
    layout: Layout = INT
    for _ in range(200):
        layout = Nullable(layout)
    with pytest.raises(UndecodableError, match="nested deeper"):
        read_all(layout, bytes(300))
    with pytest.raises(UndecodableError, match="nested deeper"):
        arrow_type(layout)
