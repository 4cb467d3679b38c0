"""RAW types of SQL, whose values lie as the serializer writes them that the type holds."""

from __future__ import annotations

from typing import Any

import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.java.stream import JavaArray, JavaClass, JavaEnum, JavaObject
from savepoint_formats.layout import Framed, Layout, LogicalType, Nullable, Opaque
from savepoint_formats.snapshots.basic import BASE, RUNTIME
from savepoint_formats.snapshots.sql.logical_type import LogicalTypeObjects, logical_type

TABLE = "org.apache.flink.table.runtime.typeutils."
DATA_VIEW = "org.apache.flink.table.dataview."
BIGINT = LogicalType("BIGINT")


def made(name: str, **fields: Any) -> JavaObject:
    """A serializer of this class."""
    return JavaObject(JavaClass(name), fields)


def raw(serializer: Any, class_name: str = "java.util.LinkedList") -> LogicalType:
    """The type that a RAW type with this serializer is read as."""
    root = JavaEnum("org.apache.flink.table.types.logical.LogicalTypeRoot", "RAW")
    facts = {"typeRoot": root, "isNullable": True, "clazz": JavaClass(class_name)}
    name = "org.apache.flink.table.types.logical.RawType"
    return logical_type(JavaObject(JavaClass(name), {**facts, "serializer": serializer}))


INT = made(f"{BASE}IntSerializer")
TEXT = made(f"{TABLE}StringDataSerializer")
BIGINT_OBJECT = LogicalTypeObjects().of(BIGINT)

KNOWN: list[tuple[JavaObject, Layout]] = [
    (INT, layouts.Int()),
    (made(f"{BASE}StringSerializer"), layouts.Text()),
    (made(f"{BASE}array.BytePrimitiveArraySerializer"), layouts.Bytes()),
    (TEXT, layouts.Utf8()),
    (made(f"{TABLE}DecimalDataSerializer", precision=20, scale=2), layouts.DecimalData(20, 2)),
    (made(f"{TABLE}TimestampDataSerializer", precision=3), layouts.TimestampData(3)),
    (
        made(f"{TABLE}LinkedListSerializer", elementSerializer=TEXT, hasNullMask=True),
        layouts.MaskedRepeated(layouts.Utf8()),
    ),
    (
        made(f"{TABLE}LinkedListSerializer", elementSerializer=TEXT, hasNullMask=False),
        layouts.Repeated(layouts.Utf8()),
    ),
    (made(f"{BASE}ListSerializer", elementSerializer=INT), layouts.Repeated(layouts.Int())),
    (
        made(
            f"{DATA_VIEW}ListViewSerializer",
            listSerializer=made(f"{BASE}ListSerializer", elementSerializer=INT),
        ),
        layouts.Repeated(layouts.Int()),
    ),
    (
        made(f"{BASE}MapSerializer", keySerializer=TEXT, valueSerializer=INT),
        layouts.MapOf(layouts.Utf8(), Nullable(layouts.Int())),
    ),
    (
        made(f"{DATA_VIEW}NullAwareMapSerializer", keySerializer=TEXT, valueSerializer=INT),
        layouts.MapOf(Nullable(layouts.Utf8()), Nullable(layouts.Int())),
    ),
    (
        made(f"{RUNTIME}TupleSerializer", fieldSerializers=JavaArray(JavaClass("[L"), [INT, TEXT])),
        layouts.Struct(("f0", "f1"), (layouts.Int(), layouts.Utf8())),
    ),
    (
        made(
            f"{RUNTIME}NullableSerializer",
            originalSerializer=INT,
            padding=JavaArray(JavaClass("[B"), bytes(4)),
        ),
        Nullable(layouts.Int(), padding=4),
    ),
    (made(f"{TABLE}RawValueDataSerializer", serializer=INT), Framed(layouts.Int())),
    (made(f"{TABLE}ExternalSerializer", internalSerializer=TEXT), layouts.Utf8()),
    (
        made(f"{TABLE}ArrayDataSerializer", eleType=BIGINT_OBJECT),
        Framed(layouts.BinaryArray(BIGINT)),
    ),
    (
        made(f"{TABLE}MapDataSerializer", keyType=BIGINT_OBJECT, valueType=BIGINT_OBJECT),
        Framed(layouts.BinaryMap(BIGINT, BIGINT)),
    ),
    (
        made(f"{TABLE}RowDataSerializer", types=JavaArray(JavaClass("[L"), [BIGINT_OBJECT])),
        Framed(layouts.BinaryRow(("f0",), (BIGINT,))),
    ),
]


@pytest.mark.parametrize(("serializer", "layout"), KNOWN, ids=lambda one: type(one).__name__)
def test_serializers_of_plain_parts_tell_the_layout(serializer: JavaObject, layout: Layout) -> None:
    assert raw(serializer) == LogicalType("RAW", class_name="java.util.LinkedList", raw=layout)


@pytest.mark.parametrize(
    ("serializer", "reason"),
    [
        (None, "whose serializer the savepoint does not describe"),
        (made("shop.BasketSerializer"), "which shop.BasketSerializer wrote"),
        (
            made(f"{BASE}ListSerializer", elementSerializer=made("shop.BasketSerializer")),
            "which shop.BasketSerializer wrote",
        ),
        (made(f"{BASE}ListSerializer"), "whose fields are not those that are known"),
        (made(f"{RUNTIME}TupleSerializer", fieldSerializers=3), "whose fields are not those"),
        (made(f"{DATA_VIEW}NullSerializer"), "the placeholder of a data view"),
    ],
)
def test_all_others_have_a_reason(serializer: Any, reason: str) -> None:
    found = raw(serializer, "shop.Basket").embedded
    assert isinstance(found, Opaque)
    assert found.class_name == "shop.Basket"
    assert reason in found.reason


def test_a_serializer_that_holds_itself_is_too_deep() -> None:
    around = made(f"{BASE}ListSerializer")
    around.fields["elementSerializer"] = around
    found = raw(around).embedded
    assert isinstance(found, Opaque)
    assert "too deep" in found.reason
