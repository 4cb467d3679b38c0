"""The general path against bytes that the serializers of Flink 1.20 and 2.2 wrote."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.columns import (
    UndecodedBytes,
    ValueReader,
    arrow_type,
    read_value,
    write_value,
)
from savepoint_formats.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    TruncatedError,
    UndecodableError,
    ValueOutOfRangeError,
)
from savepoint_formats.layout import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    Int,
    Layout,
    LogicalType,
    Long,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Text,
    Ttl,
)

TEXT, INT, LONG = Text(), Int(), Long()
WINDOW = Struct(("start", "end"), (LONG, LONG))
EVENT = Struct(("id", "timestamp"), (INT, LONG))
COLOR = layouts.Enum("Color", ("RED", "GREEN", "BLUE"))
EITHER = Tagged((1, 0), ("left", "right"), (TEXT, INT))
POJO_FIELDS = (Nullable(INT), Nullable(TEXT), Nullable(COLOR))
SUBCLASS = Pojo("GenCore$Sub", ("a", "b", "c", "z"), (*POJO_FIELDS, Nullable(LONG)))
POJO = Pojo("GenCore$P", ("a", "b", "c"), POJO_FIELDS)
POJO_WITH_SUBCLASS = Pojo(
    "GenCore$P", ("a", "b", "c"), POJO_FIELDS, unregistered=(("GenCore$Sub", SUBCLASS),)
)
POJO_WITH_TAGS = Pojo(
    "GenCore$P", ("a", "b", "c"), POJO_FIELDS, registered=(("GenCore$Sub", SUBCLASS),)
)

SQL_TEXT = LogicalType("VARCHAR")
SQL_INT = LogicalType("INTEGER")
SQL_LONG = LogicalType("BIGINT")
LATER_TIMES = (
    SQL_INT,
    LogicalType("DECIMAL", precision=38, scale=10),
    LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=9),
)


def framed_row(names: tuple[str, ...], types: tuple[LogicalType, ...]) -> Framed:
    return Framed(BinaryRow(names, types))


def framed_array(element: LogicalType) -> Framed:
    return Framed(BinaryArray(element))


def framed_map(key: LogicalType, value: LogicalType) -> Framed:
    return Framed(BinaryMap(key, value))


def row_of(**fields: Layout) -> MaskedStruct:
    return MaskedStruct(tuple(fields), tuple(fields.values()), has_kind=True)


def sql_row(**types: LogicalType) -> LogicalType:
    return LogicalType("ROW", names=tuple(types), children=tuple(types.values()))


def nanos(seconds: int, nano: int) -> int:
    return seconds * 1_000_000_000 + nano


# name, layout, bytes, value; read and written alike
GOLDEN: list[tuple[str, Layout, str, Any]] = [
    ("text", TEXT, "0261", "a"),
    ("empty text", TEXT, "01", ""),
    ("null text", TEXT, "00", None),
    (
        "text of every length of unit",
        TEXT,
        "0ce901ff0f8010ff7f808001ffff03bdb00380bc03007f8001",
        "\u00e9\u07ff\u0800\u3fff\u4000\uffff\U0001f600\u0000\u007f\u0080",
    ),
    ("mutable text", layouts.MutableText(), "0261808001", "a\u4000"),
    ("UTF-8", layouts.Utf8(), "0000000668c3a96c6c6f", "héllo"),
    ("boolean", layouts.Boolean(), "01", True),
    ("byte", layouts.Byte(), "fe", -2),
    ("short", layouts.Short(), "fffe", -2),
    ("long", LONG, "fffffffffffffffe", -2),
    ("char", layouts.Char(), "00e9", "é"),
    ("float", layouts.Float(), "3fc00000", 1.5),
    ("negative zero", layouts.Double(), "8000000000000000", -0.0),
    ("big 0", layouts.BigInteger(), "00000001", "0"),
    ("big 10", layouts.BigInteger(), "00000003", "10"),
    ("big -128", layouts.BigInteger(), "0000000580", "-128"),
    ("big 128", layouts.BigInteger(), "000000060080", "128"),
    ("no big integer", layouts.BigInteger(), "00000000", None),
    ("decimal with a zero", layouts.BigDecimal(), "0000000300000001", "1.0"),
    ("negative decimal", layouts.BigDecimal(), "00000006fb1e00000002", "-12.50"),
    ("no decimal", layouts.BigDecimal(), "00000000", None),
    ("date", layouts.JavaDate(), "0000000000000005", datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)),
    ("no date", layouts.JavaDate(), "8000000000000000", None),
    ("sql timestamp", layouts.SqlTimestamp(), "ffffffffffffffff3b8b87c1", -999_999),
    ("no sql timestamp", layouts.SqlTimestamp(), "800000000000000000000000", None),
    ("instant", layouts.Instant(), "ffffffffffffffff00000005", nanos(-1, 5)),
    ("no instant", layouts.Instant(), "800000000000000080000000", None),
    ("local date", layouts.LocalDate(), "000007e4021d", date(2020, 2, 29)),
    ("no local date", layouts.LocalDate(), "800000008000", None),
    ("local time", layouts.LocalTime(), "173b3a3b9ac9ff", nanos(86_398, 999_999_999)),
    ("no local time", layouts.LocalTime(), "80800080000000", None),
    (
        "local date and time",
        layouts.LocalDateTime(),
        "000007e4021d01020300000004",
        nanos(1_582_938_123, 4),
    ),
    ("no local date and time", layouts.LocalDateTime(), "80000000800080800080000000", None),
    (
        "short timestamp",
        layouts.TimestampData(3),
        "0000000000000005",
        datetime(1970, 1, 1, 0, 0, 0, 5000),
    ),
    ("long timestamp", layouts.TimestampData(9), "000000000000000500000007", 5_000_007),
    ("short decimal", layouts.DecimalData(10, 2), "000000000000007d", Decimal("1.25")),
    ("long decimal", layouts.DecimalData(38, 2), "0000000183", Decimal("-1.25")),
    ("enum", COLOR, "00000001", "GREEN"),
    ("enum with numbers", layouts.Enum("E", ("A", "B"), (7, 3)), "00000003", "B"),
    ("null marker", layouts.Marker(), "00", None),
    ("nothing at all", layouts.Marker(None), "", None),
    ("void namespace", layouts.VoidNamespace(), "00", None),
    ("list", Repeated(TEXT), "0000000302610001", ["a", None, ""]),
    ("array", Repeated(Nullable(TEXT, is_null=False)), "0000000201026100", ["a", None]),
    ("set", Repeated(Nullable(TEXT)), "0000000300026100026201", ["a", "b", None]),
    ("linked list", MaskedRepeated(TEXT), "00000002400261", ["a", None]),
    ("packed texts", layouts.PackedTexts(), "0000000200000003016100", ["a", ""]),
    ("count of nulls", layouts.NullCount(), "00000002", 2),
    (
        "map",
        MapOf(TEXT, Nullable(INT)),
        "000000020261000000000102620000000002",
        [("a", 1), ("b", 2)],
    ),
    ("map with a null", MapOf(TEXT, Nullable(INT)), "00000001026101", [("a", None)]),
    (
        "map that admits null keys",
        MapOf(Nullable(TEXT), Nullable(INT)),
        "00000001010000000001",
        [{"key": None, "value": 1}],
    ),
    (
        "tuple",
        Struct(("f0", "f1", "f2"), (TEXT, INT, LONG)),
        "026b000000010000000000000002",
        {"f0": "k", "f1": 1, "f2": 2},
    ),
    ("left", EITHER, "010261", {"left": "a", "right": None}),
    ("right", EITHER, "0000000003", {"left": None, "right": 3}),
    ("padded null", Nullable(LONG, padding=8), "010000000000000000", None),
    ("padded value", Nullable(LONG, padding=8), "000000000000000005", 5),
    (
        "row to delete",
        row_of(f0=TEXT, f1=INT),
        "d00278",
        {"f0": "x", "f1": None, "$row_kind": "-D"},
    ),
    (
        "row of 17 fields",
        MaskedStruct(tuple(f"f{at}" for at in range(17)), (INT,) * 17, has_kind=True),
        "649240" + "".join(f"{at:08x}" for at in range(17) if at % 3),
        {f"f{at}": at if at % 3 else None for at in range(17)} | {"$row_kind": "+U"},
    ),
    (
        "row of Flink 1.10",
        MaskedStruct(("f0", "f1"), (TEXT, TEXT), has_kind=False),
        "400261",
        {"f0": "a", "f1": None},
    ),
    ("pojo", POJO, "020000000001010000000000", {"a": 1, "b": None, "c": "RED"}),
    ("null pojo", POJO, "01", None),
    (
        "pojo among subclasses",
        POJO_WITH_SUBCLASS,
        "020000000001010000000000",
        {"$class": "GenCore$P", "a": 1, "b": None, "c": "RED", "z": None},
    ),
    (
        "subclass",
        POJO_WITH_SUBCLASS,
        "04000b47656e436f72652453756202000000000200027301000000000000000009",
        {"$class": "GenCore$Sub", "a": 2, "b": "s", "c": None, "z": 9},
    ),
    (
        "registered subclass",
        POJO_WITH_TAGS,
        "080002000000000200027301000000000000000009",
        {"$class": "GenCore$Sub", "a": 2, "b": "s", "c": None, "z": 9},
    ),
    (
        "time to live",
        Ttl(TEXT),
        "000000000000000900",
        {"timestamp": datetime(1970, 1, 1, 0, 0, 0, 9000, UTC), "value": None},
    ),
    (
        "timer",
        Struct(("timestamp", "key", "namespace"), (layouts.TimerTimestamp(), TEXT, WINDOW)),
        "7ffffffffffffffb026b00000000000000010000000000000002",
        {"timestamp": -5, "key": "k", "namespace": {"start": 1, "end": 2}},
    ),
    (
        "structures in structures",
        Repeated(
            Struct(
                ("event", "page"),
                (Tagged((0, 1), ("none", "some"), (layouts.Marker(None), EVENT)), TEXT),
            )
        ),
        "000000020100000001000000000000000202700000",
        [
            {"event": {"none": None, "some": {"id": 1, "timestamp": 2}}, "page": "p"},
            {"event": {"none": None, "some": None}, "page": None},
        ],
    ),
    ("frame", Framed(TEXT), "000000050572617721", "raw!"),
    (
        "binary row of a long",
        framed_row(("f0",), (SQL_LONG,)),
        "0000001000000000000000002a00000000000000",
        {"f0": 42, "$row_kind": "+I"},
    ),
    (
        "binary row of a short text",
        framed_row(("f0",), (SQL_TEXT,)),
        "0000001000000000000000006b65790000000083",
        {"f0": "key", "$row_kind": "+I"},
    ),
    (
        "binary row with nulls of the variable part",
        framed_row(("f0", "f1", "f2"), LATER_TIMES),
        "000000200006000000000000050000000000000000000000000000000000000000000000",
        {"f0": 5, "f1": None, "f2": None, "$row_kind": "+I"},
    ),
    (
        "binary array",
        framed_array(SQL_INT),
        "00000018030000000000000001000000020000000300000000000000",
        [1, 2, 3],
    ),
    (
        "binary array of texts",
        framed_array(SQL_TEXT),
        "00000018020000000200000078000000000000810000000000000000",
        ["x", None],
    ),
    (
        "binary map",
        framed_map(SQL_TEXT, SQL_LONG),
        "00000024100000000100000000000000710000000000008101000000000000000500000000000000",
        [("q", 5)],
    ),
    (
        "binary array of rows",
        framed_array(sql_row(f0=SQL_INT)),
        "000000200100000000000000100000001000000000000000000000000100000000000000",
        [{"f0": 1}],
    ),
    (
        "binary row with raw bytes",
        framed_row(("f0", "f1"), (LogicalType("RAW"), SQL_INT)),
        "000000200000000000000000040000001800000001000000000000000000004d00000000",
        {"f0": bytes.fromhex("0000004d"), "f1": 1, "$row_kind": "+I"},
    ),
    (
        "variant",
        layouts.Variant(),
        "00000006000000031568656c6c6f010000",
        {"metadata": b"\x01\0\0", "value": b"\x15hello"},
    ),
    ("Avro array", layouts.BlockRepeated(INT), "02000000010000000200", [1, 2]),
    ("empty Avro array", layouts.BlockRepeated(INT), "00", []),
    ("Avro map", layouts.BlockMap(INT), "0100000001610000000700", [("a", 7)]),
    (
        "optional field of Avro",
        layouts.IndexedUnion(("null", "string"), (layouts.Marker(None), layouts.Utf8())),
        "000000010000000161",
        "a",
    ),
    (
        "null of Avro",
        layouts.IndexedUnion(("null", "string"), (layouts.Marker(None), layouts.Utf8())),
        "00000000",
        None,
    ),
    (
        "union of Avro",
        layouts.IndexedUnion(
            ("null", "int", "string"), (layouts.Marker(None), INT, layouts.Utf8())
        ),
        "0000000100000007",
        {"int": 7, "string": None},
    ),
]
IDS = [name for name, _, _, _ in GOLDEN]
EVERY_GOLDEN = pytest.mark.parametrize(
    ("layout", "data", "value"),
    [(layout, bytes.fromhex(data), value) for _, layout, data, value in GOLDEN],
    ids=IDS,
)


def read_all(layout: Layout, data: bytes) -> Any:
    view = DataInputView(data)
    value = read_value(layout, view)
    view.expect_end()
    return value


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


@EVERY_GOLDEN
def test_reads_what_flink_wrote(layout: Layout, data: bytes, value: Any) -> None:
    assert read_all(layout, data) == value


@EVERY_GOLDEN
def test_writes_the_bytes_that_flink_writes(layout: Layout, data: bytes, value: Any) -> None:
    assert written(layout, value) == data


@EVERY_GOLDEN
def test_a_value_fits_into_its_arrow_type(layout: Layout, data: bytes, value: Any) -> None:
    column = pa.array([value, None], arrow_type(layout))
    assert column.null_count >= 1


@EVERY_GOLDEN
def test_every_cut_is_noticed(layout: Layout, data: bytes, value: Any) -> None:
    for cut in range(len(data)):
        with pytest.raises(SavepointError):
            read_all(layout, data[:cut])


@pytest.mark.parametrize(
    ("layout", "data", "value"),
    [
        (layouts.BigInteger(), "0000000501", "1"),
        (
            framed_row(("f0", "f1", "f2"), LATER_TIMES),
            "00000038 0006000000000000 0500000000000000 0000000020000000 0000000030000000"
            + " 00" * 24,
            {"f0": 5, "f1": None, "f2": None, "$row_kind": "+I"},
        ),
    ],
    ids=["a 1 that is not the constant", "nulls of generated code"],
)
def test_a_second_form_of_a_value_is_read_too(layout: Layout, data: str, value: Any) -> None:
    assert read_all(layout, bytes.fromhex(data)) == value


def test_every_nan_is_written_as_the_one_of_java() -> None:
    odd = struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0]
    assert written(layouts.Double(), odd).hex() == "7ff8000000000000"
    assert written(layouts.Float(), odd).hex() == "7fc00000"


# --- what no column can hold ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "data"),
    [
        (layouts.Instant(), "0000003b4bd0ca7f 00000000"),
        (layouts.LocalDateTime(), "0000270f0c1f 173b3b3b9ac9ff"),
        (layouts.LocalDate(), "3b9ac9ff0c1f"),
        (layouts.TimestampData(9), "0000e677d21fdbff 00000000"),
        (layouts.TimestampData(4), "0000000000000000 00000001"),
        (layouts.DecimalData(2, 0), "0000000000000064"),
    ],
    ids=["instant", "local date and time", "local date", "timestamp", "more digits", "decimal"],
)
def test_a_value_beyond_its_arrow_type_is_refused(layout: Layout, data: str) -> None:
    with pytest.raises(ValueOutOfRangeError) as raised:
        read_all(layout, bytes.fromhex(data))
    assert raised.value.offset == 0


@pytest.mark.parametrize(
    ("layout", "data"),
    [(TEXT, "0280b003"), (layouts.Char(), "d800"), (layouts.MutableText(), "0180b003")],
)
def test_half_a_surrogate_pair_is_no_text_of_a_column(layout: Layout, data: str) -> None:
    with pytest.raises(UndecodableError, match="surrogate"):
        read_all(layout, bytes.fromhex(data))


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


def test_an_undecodable_value_takes_all_bytes_and_says_why() -> None:
    value = read_all(OPAQUE, b"abc")
    assert value == b"abc"
    assert isinstance(value, UndecodedBytes)
    assert value.reason == "com.acme.Money: written by a serializer of the user"


def test_what_follows_an_undecodable_field_is_null() -> None:
    layout = Struct(("f0", "f1", "f2"), (INT, OPAQUE, LONG))
    data = bytes.fromhex("00000001616263")
    value = read_all(layout, data)
    assert value == {"f0": 1, "f1": b"abc", "f2": None}
    assert written(layout, value) == data


def test_a_frame_ends_an_undecodable_value() -> None:
    layout = Struct(("f0", "f1"), (Framed(OPAQUE), INT))
    data = bytes.fromhex("0000000361626300000007")
    reader = ValueReader(DataInputView(data))
    value = reader.read(layout)
    assert value == {"f0": b"abc", "f1": 7}
    assert len(reader.reasons) == 1
    assert written(layout, value) == data


def test_a_list_ends_with_its_first_undecodable_element() -> None:
    assert read_all(Repeated(OPAQUE), b"\0\0\0\3abc") == [b"abc"]


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
        (layouts.Utf8(), "00000001ff", "no UTF-8"),
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


# --- wrong calls ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "value"),
    [
        (INT, 1 << 31),
        (INT, None),
        (layouts.Float(), 1e39),
        (layouts.Char(), "ab"),
        (COLOR, "PINK"),
        (Tagged((0, 1), ("a", "b"), (INT, LONG)), {"a": None, "b": None}),
        (EITHER, {"left": "a", "right": 1}),
        (Repeated(INT), None),
        (layouts.DecimalData(4, 2), Decimal("1.234")),
        (layouts.DecimalData(4, 2), Decimal("123")),
        (layouts.DecimalData(4, 2), Decimal("1E+1000000")),
        (layouts.BigInteger(), "1.5"),
        (layouts.BigDecimal(), "nan"),
        (layouts.BigDecimal(), "pi"),
        (layouts.TimestampData(3), datetime(2020, 1, 1, 0, 0, 0, 1)),
        (layouts.LocalTime(), 86_400_000_000_000),
        (layouts.Marker(), 1),
        (layouts.FixedBytes(2), b"abc"),
        (layouts.Kryo("A"), "text"),
        (framed_row(("f0",), (LogicalType("BIGINT", is_nullable=False),)), {"f0": None}),
        (POJO_WITH_TAGS, {"$class": "Other"}),
    ],
)
def test_what_the_layout_cannot_express_is_refused(layout: Layout, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        written(layout, value)


@pytest.mark.parametrize(
    ("layout", "value", "same"),
    [
        (layouts.BigInteger(), 12, "12"),
        (layouts.BigDecimal(), Decimal("1.50"), "1.50"),
        (MapOf(TEXT, INT), {"a": 1}, [("a", 1)]),
        (layouts.LocalTime(), "01:02:03.000000004", nanos(3723, 4)),
        (layouts.Instant(), datetime(1970, 1, 1, 0, 0, 1, 5, UTC), nanos(1, 5000)),
        (layouts.LocalDate(), 0, date(1970, 1, 1)),
        (layouts.DecimalData(5, 2), "1.5", Decimal("1.50")),
        (row_of(f0=INT), {"f0": 1}, {"f0": 1, "$row_kind": "+I"}),
    ],
)
def test_other_forms_of_a_value_are_written_alike(layout: Layout, value: Any, same: Any) -> None:
    assert written(layout, value) == written(layout, same)
