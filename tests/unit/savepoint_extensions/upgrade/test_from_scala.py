"""Serializers of Flink's API for Scala as other APIs have them, and values that follow them."""

from __future__ import annotations

import pytest
from support.hand_made import LONG, STRING, utf
from support.serializer_snapshots import INT, SCALA, composite, read

from savepoint_extensions.upgrade.from_scala import ScalaTarget, without_scala_api
from savepoint_formats.errors import SchemaChangeError, UnencodableError
from savepoint_formats.layout import KryoClass, KryoField, Struct
from savepoint_formats.snapshots import constructed
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.recoding import Recoding
from savepoint_formats.values.state_entries import Suffixed

PAIR = composite(f"{SCALA}ScalaCaseClassSerializerSnapshot", INT, STRING, outer=2, own=utf("a.P"))
OPTION = composite(f"{SCALA}ScalaOptionSerializerSnapshot", INT, outer=2)
DESCRIBED = KryoClass("a.P", (KryoField("z", "int"), KryoField("a", "java.lang.String")))
KRYO = KryoDialect(KryoVersion.V5_6, (DESCRIBED,))


def collection(built: str, element: bytes) -> bytes:
    code = f"implicitly[scala.collection.generic.CanBuildFrom[{built}[T], T, {built}[T]]]"
    return composite(f"{SCALA}TraversableSerializerSnapshot", element, outer=2, own=utf(code))


def case_class(*fields: bytes) -> bytes:
    name = f"{SCALA}ScalaCaseClassSerializerSnapshot"
    return composite(name, *fields, outer=2, own=utf("a.C"))


def recoded(snapshot: bytes, target: ScalaTarget, data: str) -> str:
    old = read(snapshot)
    new = without_scala_api(old, target, KRYO.classes)
    return Recoding(old.layout(), new.layout(), KRYO, KRYO).of(bytes.fromhex(data)).hex()


@pytest.mark.parametrize(
    ("built", "serializer"),
    [
        ("List", "ListSerializer"),
        ("scala.collection.immutable.Vector", "VectorSerializer"),
        ("Set", "SetSerializer"),
        ("scala.collection.mutable.Set", "MutableSetSerializer"),
        ("scala.collection.mutable.ArrayBuffer", "MutableBufferSerializer"),
    ],
)
def test_a_collection_gets_the_serializer_of_its_class(built: str, serializer: str) -> None:
    new = without_scala_api(read(collection(built, LONG)), "flinkx", ())
    assert new["serializer"] == f"org.apache.flinkx.api.serializer.{serializer}"
    assert new["element_class"] == "java.lang.Long"


def test_a_pojo_has_the_serializers_of_flink_s_type_extraction() -> None:
    new = without_scala_api(read(case_class(collection("List", INT))), "pojo", (C,))
    element = constructed.nullable(constructed.integer())
    expected = constructed.nullable(constructed.list_of(element))
    assert new == constructed.pojo("a.C", {"x": expected})


C = KryoClass("a.C", (KryoField("x", "java.util.List"),))


@pytest.mark.parametrize(
    ("snapshot", "target", "message"),
    [
        (collection("Iterable", INT), "flinkx", "a collection Iterable, whose serializer"),
        (PAIR, "pojo", "a.P has 2 fields without names"),
        (constructed.list_of(read(OPTION)), "row", "up to its first null"),
        (case_class(collection("List", collection("List", INT))), "pojo", "which Flink gives to"),
    ],
)
def test_what_the_target_has_not_is_refused(
    snapshot: bytes, target: ScalaTarget, message: str
) -> None:
    old = read(snapshot) if isinstance(snapshot, bytes) else snapshot
    with pytest.raises(SchemaChangeError, match=message):
        without_scala_api(old, target, (C,))


@pytest.mark.parametrize(
    ("snapshot", "target", "old", "new"),
    [
        (PAIR, "flinkx", "00000007 0261", "00000002 00000007 0261"),
        (PAIR, "pojo", "00000007 0261", "02 00 0261 00 00000007"),
        (PAIR, "row", "00000007 0261", "00 00000007 0261"),
        (case_class(OPTION, INT), "row", "00 00000007", "20 00000007"),
        (OPTION, "row", "01 00000007", "00 00000007"),
        (OPTION, "row", "00", "01"),
        (collection("List", INT), "flinkx", "00000001 01 00000007", "00000001 00000007"),
        (collection("Map", case_class(INT, OPTION)), "row",
         "00000001 01 00000007 00", "00000001 00000007 01"),
    ],
)  # fmt: skip
def test_values_follow(snapshot: bytes, target: ScalaTarget, old: str, new: str) -> None:
    assert recoded(snapshot, target, old) == bytes.fromhex(new).hex()


def test_a_null_element_without_a_place_is_refused() -> None:
    with pytest.raises(UnencodableError, match="null, which a Int cannot be"):
        recoded(collection("List", INT), "flinkx", "00000001 00")


def test_a_suffix_comes_with_a_key_of_varying_size() -> None:
    fixed = Struct(("_1", "_2"), tuple(read(part).layout() for part in (INT, LONG)))
    row = constructed.row_of([read(INT), read(LONG)]).layout()
    data = bytes.fromhex("00000007 0000000000000009")
    written = Recoding(fixed, Suffixed(row), KRYO, KRYO).of(data)
    assert written == b"\0" + data + bytes([13])
    assert Recoding(Suffixed(fixed), row, KRYO, KRYO).of(data + bytes([12])) == b"\0" + data
