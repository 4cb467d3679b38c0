"""Snapshots of SQL's serializers, and the Java objects in them that are types."""

from __future__ import annotations

from dataclasses import replace

import pytest

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    SchemaChangeError,
    TruncatedError,
    UndecodableError,
)
from savepoint_formats.java.stream import (
    JavaArray,
    JavaClass,
    JavaEnum,
    JavaObject,
    read_java_object,
)
from savepoint_formats.layout import BinaryRow, Framed, LogicalType, Opaque
from savepoint_formats.snapshots import (
    SnapshotView,
    TypeSerializerSnapshot,
    read_resynchronised,
    read_serializer,
    write_serializer,
)
from savepoint_formats.snapshots.sql.logical_type import (
    STORED_SCALARS,
    list_items,
    logical_type,
    unstored_root,
)
from savepoint_formats.snapshots.struct_edit import dropped_field
from savepoint_formats.values.arrow_types import arrow_type

ROW_SNAPSHOT = (
    "org.apache.flink.table.runtime.typeutils.RowDataSerializer$RowDataSerializerSnapshot"
)
# ROW<BIGINT>, as Flink 2.2.1 wrote it.
BIGINT = (
    b"\xac\xed\x00\x05sr\x00/org.apache.flink.table.types.logical.BigIntType\x00\x00\x00\x00\x00"
    b"\x00\x00\x01\x02\x00\x00xr\x000org.apache.flink.table.types.logical.LogicalType\x00\x00\x00"
    b"\x00\x00\x00\x00\x01\x02\x00\x02Z\x00\nisNullableL\x00\x08typeRoott\x006Lorg/apache/flink/"
    b"table/types/logical/LogicalTypeRoot;xp\x00~r\x004org.apache.flink.table.types.logical."
    b"LogicalTypeRoot\x00\x00\x00\x00\x00\x00\x00\x00\x12\x00\x00xr\x00\x0ejava.lang.Enum\x00\x00"
    b"\x00\x00\x00\x00\x00\x00\x12\x00\x00xpt\x00\x06BIGINT"
)
GOLDEN = (
    b"\x00\x00\x00\x02\x00Torg.apache.flink.table.runtime.typeutils.RowDataSerializer"
    b"$RowDataSerializerSnapshot\x00\x00\x00\x03\x00\x00\x00\x01"
    + BIGINT
    + b"\x00\x14W\xfd\x00\x00\x00\x01\x00\x00\x00\x01\x00Porg.apache.flink.api.common.typeutils."
    b"base.LongSerializer$LongSerializerSnapshot\x00\x00\x00\x03"
)


def java(class_name: str, **fields: object) -> JavaObject:
    return JavaObject(JavaClass(class_name), dict(fields))


def sql_type(root: str, **fields: object) -> JavaObject:
    enum = JavaEnum("org.apache.flink.table.types.logical.LogicalTypeRoot", root)
    return java(f"org.apache.flink.table.types.logical.{root}", typeRoot=enum, **fields)


def java_list(*items: object) -> JavaObject:
    inner = java("java.util.ArrayList", size=len(items))
    inner.annotations = [len(items).to_bytes(4, "big"), *items]
    return java("java.util.Collections$UnmodifiableRandomAccessList", list=inner, c=inner)


def row_field(name: str, field_type: object) -> JavaObject:
    return java("RowField", name=name, type=field_type)


def test_reads_what_flink_wrote() -> None:
    found = read_serializer(SnapshotView(GOLDEN))
    types = (LogicalType("BIGINT", is_nullable=False),)
    assert found.layout() == Framed(BinaryRow(("f0",), types))


def test_is_rewritten_byte_for_byte() -> None:
    view = DataOutputView()
    write_serializer(view, read_serializer(SnapshotView(GOLDEN)))
    assert view.to_bytes() == GOLDEN


def of_version(version: int, behind: bytes = b"") -> bytes:
    """The snapshot as another version of its class, with more behind its serializers."""
    at = GOLDEN.index(b"RowDataSerializerSnapshot") + len("RowDataSerializerSnapshot")
    return GOLDEN[:at] + version.to_bytes(4, "big") + GOLDEN[at + 4 :] + behind


@pytest.mark.parametrize(
    ("behind", "names"), [(b"\1\0\2id", ("id",)), (b"\0", ("f0",))], ids=["names", "none"]
)
def test_version_4_has_the_names_of_its_fields(behind: bytes, names: tuple[str, ...]) -> None:
    data = of_version(4, behind)
    entry = read_serializer(SnapshotView(data))
    types = (LogicalType("BIGINT", is_nullable=False),)
    assert entry.layout() == Framed(BinaryRow(names, types))
    view = DataOutputView()
    write_serializer(view, entry)
    assert view.to_bytes() == data
    for cut in range(len(data) - len(behind), len(data)):
        with pytest.raises(TruncatedError):
            read_serializer(SnapshotView(data[:cut]))


def test_fields_of_one_name_go_by_their_positions() -> None:
    row = read_serializer(SnapshotView(of_version(4, b"\1\0\2id")))
    two = {"types": row["types"] * 2, "nested": row.nested * 2, "fields": ("id", "id")}
    layout = replace(row, values=tuple(two.values())).layout()
    assert isinstance(layout, Framed)
    assert isinstance(layout.inner, BinaryRow)
    assert layout.inner.names == ("f0", "f1")


def test_a_field_of_a_row_with_names_is_not_changed() -> None:
    row = read_serializer(SnapshotView(of_version(4, b"\1\0\2id")))
    with pytest.raises(SchemaChangeError, match="field 'id' of a row of SQL that names its fields"):
        dropped_field(row, "id")


def test_a_version_of_a_newer_flink_is_bytes_with_that_reason() -> None:
    view = SnapshotView(of_version(5, b"\1\0\2id and what nobody knows")[4:])
    snapshot = read_resynchronised(TypeSerializerSnapshot.read, view)
    layout = snapshot.layout()
    assert isinstance(layout, Opaque)
    assert layout.reason == "version 5 of its class is not known, but a newer Flink's"


def test_a_row_with_a_type_that_no_row_stores_is_bytes_with_that_reason() -> None:
    # One bit of the name; each command ended with an error that named no state.
    found = read_serializer(SnapshotView(GOLDEN.replace(b"BIGINT", b"BIGINU")))
    opaque = Opaque(ROW_SNAPSHOT, "a SQL type BIGINU, which no row stores")
    assert found.layout() == Framed(opaque)


def test_types_are_stored_if_they_are_columns() -> None:
    every = [LogicalType(root, precision=3, scale=1) for root in STORED_SCALARS]
    rows = [LogicalType("ARRAY", children=(one,)) for one in every]
    assert (
        len(arrow_type(BinaryRow(tuple(map(str, range(len(rows)))), tuple(rows)))) > len(rows) - 1
    )
    assert set(map(unstored_root, (*every, *rows))) == {None}
    for wrong in (LogicalType("UNKNOWN"), LogicalType("MAP", children=(every[0],))):
        row = LogicalType("ROW", names=("f",), children=(wrong,))
        assert unstored_root(row) == wrong.root
        with pytest.raises(UndecodableError):
            arrow_type(BinaryRow(("f",), (row,)))


def test_every_cut_is_noticed() -> None:
    for cut in range(len(GOLDEN)):
        with pytest.raises((TruncatedError, FormatError)):
            read_serializer(SnapshotView(GOLDEN[:cut]))


def test_no_flipped_byte_is_more_than_a_typed_error() -> None:
    for position in range(len(GOLDEN)):
        for mask in (0x01, 0x80, 0xFF):
            damaged = bytearray(GOLDEN)
            damaged[position] ^= mask
            try:
                found = read_serializer(SnapshotView(bytes(damaged)))
            except SavepointError:
                continue
            hash(found.layout())


def test_a_binary_row_without_types_is_bytes_with_the_reason() -> None:
    name = (
        "org.apache.flink.table.runtime.typeutils."
        "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot"
    )
    data = len(name).to_bytes(2, "big") + name.encode() + bytes.fromhex("00000003 00000002")
    found = TypeSerializerSnapshot.read(SnapshotView(data)).layout()
    assert isinstance(found, Framed)
    assert isinstance(found.inner, Opaque)
    assert "2 fields" in found.inner.reason


def test_a_type_has_the_numbers_of_its_object() -> None:
    assert logical_type(read_java_object(DataInputView(BIGINT))) == LogicalType(
        "BIGINT", is_nullable=False
    )
    assert logical_type(sql_type("DECIMAL", precision=10, scale=2)) == LogicalType(
        "DECIMAL", precision=10, scale=2
    )
    assert logical_type(sql_type("VARCHAR", length=7, isNullable=False)) == LogicalType(
        "VARCHAR", is_nullable=False, length=7
    )


@pytest.mark.parametrize(("kind", "is_nullable"), [("PROCTIME", True), ("ROWTIME", False)])
def test_a_time_of_the_clock_is_null_in_rows_whatever_its_type_says(
    kind: str, is_nullable: bool
) -> None:
    kinds = JavaEnum("org.apache.flink.table.types.logical.TimestampKind", kind)
    root = "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
    found = logical_type(sql_type(root, isNullable=False, precision=3, kind=kinds))
    assert found == LogicalType(root, is_nullable=is_nullable, precision=3)


def test_types_nest() -> None:
    element = sql_type("ARRAY", elementType=sql_type("INTEGER"))
    found = logical_type(sql_type("MAP", keyType=sql_type("DATE"), valueType=element))
    array = LogicalType("ARRAY", children=(LogicalType("INTEGER"),))
    assert found == LogicalType("MAP", children=(LogicalType("DATE"), array))


def test_a_row_has_named_fields() -> None:
    fields = java_list(row_field("a", sql_type("DATE")), row_field("b", sql_type("FLOAT")))
    assert logical_type(sql_type("ROW", fields=fields)) == LogicalType(
        "ROW", names=("a", "b"), children=(LogicalType("DATE"), LogicalType("FLOAT"))
    )


def test_a_structured_type_has_the_attributes_of_its_parent_first() -> None:
    parent = sql_type("STRUCTURED_TYPE", attributes=java_list(row_field("a", sql_type("DATE"))))
    found = logical_type(
        sql_type(
            "STRUCTURED_TYPE",
            attributes=java_list(row_field("b", sql_type("FLOAT"))),
            superType=parent,
            implementationClass=JavaClass("a.B"),
        )
    )
    assert found.names == ("a", "b")
    assert found.class_name == "a.B"


def test_a_list_of_an_array_has_its_elements() -> None:
    array = JavaArray(JavaClass("[Ljava.lang.Object;"), ["a", "b"])
    assert list_items(java("java.util.Arrays$ArrayList", a=array)) == ["a", "b"]


@pytest.mark.parametrize("value", [None, 7, "BIGINT", java("a.B"), java("a.B", typeRoot="BIGINT")])
def test_what_is_no_type_is_unknown(value: object) -> None:
    assert logical_type(value).root == "UNKNOWN"


def test_a_type_that_contains_itself_is_unknown_somewhere() -> None:
    array = sql_type("ARRAY")
    array.fields["elementType"] = array
    found = logical_type(array)
    while found.children:
        (found,) = found.children
    assert found.root == "UNKNOWN"


def test_a_type_that_grows_without_end_is_cut_off() -> None:
    # Each map has itself as its key and as its value: 2 ** 50 types.
    endless = sql_type("MAP")
    endless.fields |= {"keyType": endless, "valueType": endless}
    assert logical_type(endless).root == "MAP"


def test_a_list_that_contains_itself_is_empty() -> None:
    endless = java("java.util.Collections$UnmodifiableList")
    endless.fields["list"] = endless
    assert list_items(endless) == []
