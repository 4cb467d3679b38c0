"""Serializers that Flink makes of described classes, and objects of Kryo that they write."""

from __future__ import annotations

from typing import Any

import pytest

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import SchemaChangeError, UnencodableError
from savepoint_formats.layout import Pojo
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.extracted import Extraction
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.kryo_values import ObjectWriter
from savepoint_formats.values.values import read_value

TEXT, LONG, LIST = "java.lang.String", "java.lang.Long", "java.util.List"
ITEM, BIG, GRADE, NODE = (f"shop.{name}" for name in ("Item", "BigItem", "Grade", "Node"))
CLASSES = (
    kryo_class(ITEM, {"size": "int", "name": TEXT}, is_pojo=True),
    kryo_class(
        BIG,
        {"size": "int", "marks": f"{LIST}<{TEXT}>", "name": TEXT},
        is_pojo=True,
        superclass=ITEM,
    ),
    kryo_class(GRADE, constants=["LOW", "HIGH"]),
    kryo_class("shop.Parcel", {"id": "long"}, is_pojo=False),
    kryo_class("shop.Silent", {"id": "long"}),
    kryo_class(NODE, {"children": f"{LIST}<{NODE}>"}, is_pojo=True),
    kryo_class("shop.Chain", {"next": "shop.Chain"}, is_pojo=True),
    kryo_class(
        "shop.Rows",
        {
            "days": f"{LIST}<java.time.LocalDate>",
            "lists": f"{LIST}<{TEXT}>[]",
            "open": f"{LIST}<? extends {TEXT}>",
            "rows": f"{LIST}<{LIST}<{TEXT}>>",
        },
        is_pojo=True,
    ),
)
FLINK_2 = Extraction(CLASSES, constructed.kryo("java.lang.Object"))
kryo, nullable, list_of = constructed.kryo, constructed.nullable, constructed.list_of
TEXTS = nullable(list_of(nullable(constructed.string())))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("java.time.Instant", constructed.instant()),
        ("java.time.LocalDate", kryo("java.time.LocalDate")),
        ("shop.Parcel", kryo("shop.Parcel")),
        (GRADE, constructed.enum_of(GRADE, ["LOW", "HIGH"])),
        ("[J", constructed.primitive_array(constructed.long())),
        (f"[L{TEXT};", constructed.string_array()),
        (f"[L{LONG};", constructed.object_array(LONG, constructed.long())),
        ("shop.Chain", constructed.pojo("shop.Chain", {"next": kryo("shop.Chain")})),
        (
            "shop.Rows",
            constructed.pojo(
                "shop.Rows",
                {
                    "days": nullable(list_of(nullable(kryo("java.time.LocalDate")))),
                    "lists": constructed.object_array(LIST, TEXTS),
                    "open": kryo(LIST),
                    "rows": kryo(LIST),
                },
            ),
        ),
    ],
)
def test_a_class_has_the_serializer_that_flink_2_makes(name: str, expected: Any) -> None:
    assert FLINK_2.of_class(name) == expected


def test_a_pojo_knows_its_subclasses() -> None:
    item = FLINK_2.of_class(ITEM).layout()
    assert isinstance(item, Pojo)
    ((name, big),) = item.unregistered
    assert isinstance(big, Pojo)
    assert (item.names, name, big.names) == (("name", "size"), BIG, ("marks", "name", "size"))
    old = Extraction(CLASSES, kryo("java.lang.Object"), is_of_flink_1=True)
    assert old.of_class(BIG) == constructed.pojo(
        BIG, {"marks": kryo(LIST), "name": constructed.string(), "size": constructed.integer()}
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shop.Other", "objects of shop.Other: describe the class"),
        ("shop.Silent", "say in its description whether Flink takes it as a POJO"),
        (NODE, "POJOs of shop.Node in a collection of themselves, where Flink 2.x fails"),
        ("org.apache.flink.types.IntValue", "which has its own type in Flink"),
    ],
)
def test_a_class_of_which_too_little_is_known_is_refused(name: str, message: str) -> None:
    with pytest.raises(SchemaChangeError, match=message):
        FLINK_2.collection(LIST, [name])


def text(value: str) -> KryoNode:
    return KryoNode(TEXT, value)


def item(class_name: str = ITEM, **others: Any) -> KryoNode:
    fields = {"name": text("a"), "size": 7, **others}
    return KryoNode(class_name, KryoObject(class_name, fields))


def written(node: KryoNode | None, *elements: str) -> Any:
    """A list of Kryo as a list of Flink, read again."""
    layout = FLINK_2.collection(LIST, elements).layout()
    target = DataOutputView()
    ObjectWriter(target, KryoDialect(KryoVersion.V5_6, CLASSES)).write(node, layout)
    return read_value(layout, DataInputView(target.to_bytes()))


def list_with(*values: Any) -> KryoNode:
    return KryoNode("java.util.ArrayList", list(values))


def test_objects_are_written_by_the_serializers_of_their_classes() -> None:
    big = item(BIG, marks=list_with(text("m"), None))
    plain, of_big = written(list_with(item(), None, big), ITEM)[::2]
    assert (plain["$class"], plain["name"], plain["size"]) == (ITEM, "a", 7)
    assert (of_big["$class"], of_big["marks"]) == (BIG, ["m", None])
    body = KryoNode(f"{GRADE}$1", "HIGH")
    assert written(list_with(body, KryoNode(GRADE, "LOW")), GRADE) == ["HIGH", "LOW"]
    assert written(list_with(KryoNode("[J", [5, 7])), "[J") == [[5, 7]]
    assert written(list_with(KryoNode("[B", b"xy")), "[B") == [b"xy"]
    assert written(None, TEXT) is None


@pytest.mark.parametrize(
    ("value", "element", "message"),
    [
        (
            item("shop.Parcel"),
            ITEM,
            "if it extends it, describe it as one that does, by superclass",
        ),
        (text("x"), LONG, "java.lang.String where java.lang.Long is expected"),
        (KryoNode("shop.Other", "LOW"), GRADE, "shop.Other where shop.Grade is expected"),
    ],
)
def test_other_objects_are_refused(value: KryoNode, element: str, message: str) -> None:
    with pytest.raises(UnencodableError, match=message):
        written(list_with(value), element)
