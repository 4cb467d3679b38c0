"""Every layout is in every table that dispatches on layouts."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, UndecodableError, UnstableHashError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.layout import Layout, LogicalType
from savepoint_formats.layout.layout_facts import serializer_length
from savepoint_formats.program.assembly import program
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type, spark_type_name
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.values import read_value

INT, LONG, TEXT = layouts.Int(), layouts.Long(), layouts.Text()
SQL_INT = LogicalType("INTEGER")
KRYO = KryoDialect(KryoVersion.V5_6)

# Their bytes, if any, are shown with a reason where nobody decodes them.
_GENERAL = layouts.Kryo | layouts.JavaObject | layouts.Opaque

# One of each; who adds a layout adds it here.
EXAMPLES: list[Layout] = [
    layouts.BigDecimal(),
    layouts.BigInteger(),
    layouts.BinaryArray(SQL_INT),
    layouts.BinaryMap(SQL_INT, SQL_INT),
    layouts.BinaryRow(("a",), (SQL_INT,)),
    layouts.BlockMap(INT),
    layouts.BlockRepeated(INT),
    layouts.Boolean(),
    layouts.Byte(),
    layouts.Bytes(),
    layouts.CaseClass("shop.Key", ("_1",), (INT,), 4),
    layouts.Char(),
    layouts.Coproduct(("shop.A$", "shop.B"), (layouts.Marker(None), INT)),
    layouts.DecimalData(20, 2),
    layouts.Double(),
    layouts.Enum("E", ("A", "B")),
    layouts.FixedBytes(3),
    layouts.Float(),
    layouts.Framed(INT),
    layouts.IndexedUnion(("a", "b"), (INT, TEXT)),
    layouts.Instant(),
    INT,
    layouts.JavaDate(),
    layouts.JavaObject(),
    layouts.JavaUtf(),
    layouts.Kryo("shop.Basket"),
    layouts.LocalDate(),
    layouts.LocalDateTime(),
    layouts.LocalTime(),
    LONG,
    layouts.MapOf(TEXT, LONG),
    layouts.Marker(7),
    layouts.MaskedRepeated(INT),
    layouts.MaskedStruct(("a",), (INT,), has_kind=True),
    layouts.MutableText(),
    layouts.NullCount(),
    layouts.Nullable(INT, is_null=True),
    layouts.OfScala(layouts.Repeated(INT), is_nullable=True),
    layouts.Opaque("shop.Serializer", "it is not known"),
    layouts.PackedTexts(),
    layouts.Pojo("shop.Order", ("id",), (layouts.Nullable(LONG, is_null=True),)),
    layouts.Repeated(INT),
    layouts.ScalaValue("Duration"),
    layouts.Short(),
    layouts.SqlTimestamp(),
    layouts.Struct(("f0", "f1"), (INT, TEXT)),
    layouts.Tagged((0, 1), ("left", "right"), (INT, TEXT)),
    TEXT,
    layouts.TimerTimestamp(),
    layouts.TimestampData(9),
    layouts.Ttl(LONG),
    layouts.Utf8(),
    layouts.Variant(),
    layouts.Varying(INT),
    layouts.VoidNamespace(),
]


def name(layout: Layout) -> str:
    return type(layout).__name__


each = pytest.mark.parametrize("layout", EXAMPLES, ids=name)


def test_there_is_an_example_of_every_layout() -> None:
    classes = [one for one in vars(layouts).values() if isinstance(one, type)]
    known = {one.__name__ for one in classes if issubclass(one, Layout) and one is not Layout}
    assert known == set(map(name, EXAMPLES))


@each
def test_it_has_an_arrow_type_and_a_name_in_spark(layout: Layout) -> None:
    assert isinstance(arrow_type(layout), pa.DataType)
    assert spark_type_name(arrow_type(layout))


@each
def test_its_size_is_known(layout: Layout) -> None:
    assert least_size(layout) >= 0
    assert isinstance(serializer_length(layout), int)


@each
def test_the_general_path_reads_it(layout: Layout) -> None:
    # A layout that the path does not know would be a TypeError.
    try:
        read_value(layout, DataInputView(b""), KRYO)
    except FormatError:
        return
    assert least_size(layout) == 0 or isinstance(layout, _GENERAL)


@each
def test_it_can_be_laid_flat_and_encoded(layout: Layout) -> None:
    assert program(layout, KRYO).columns
    try:
        encoded = Encoder(layout).encode(pa.nulls(0, arrow_type(layout)))
    except UndecodableError:
        return
    assert len(encoded) == 0


@each
def test_it_has_a_hash_code_or_a_reason_why_it_has_none(layout: Layout) -> None:
    column = pa.nulls(0, arrow_type(layout))
    with suppress(UnstableHashError):
        assert key_hashes(layout, column).tolist() == []
