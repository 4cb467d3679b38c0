"""Classes get other names in serializer snapshots, and nowhere where a name means more."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.stored_snapshots import snapshot_bytes

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import (
    OpaqueSnapshot,
    SnapshotView,
    TypeSerializerSnapshot,
    constructed,
)
from savepoint_formats.snapshots.constructed import snapshot_of
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.renamed_classes import ClassRename, class_names, is_named_in
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type
from savepoint_formats.snapshots.struct_edit import added_field

RENAME = ClassRename("a.Order", "b.Purchase")
KRYO = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot"
AVRO = "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot"


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def pojo(name: str) -> TypeSerializerSnapshot:
    return constructed.pojo(name, {"id": constructed.long(), "memo": constructed.string()})


def kryo(name: str) -> TypeSerializerSnapshot:
    registration = utf(name) + b"\0\0\0\1" + utf("a.OrderSerializer")
    own = {
        "type_class": name,
        "registrations": (OptionalEntry(name, utf(name), registration),),
        "default_serializers": (),
        "default_serializer_classes": (OptionalEntry(name, utf(name), utf("a.Other")),),
    }
    return snapshot_of(KRYO, own, version=2)


@pytest.mark.parametrize(
    "make",
    [
        pojo,
        kryo,
        lambda name: constructed.enum_of(name, ["a.Order", "b"]),
        lambda name: constructed.object_array(name, pojo(name)),
        lambda name: constructed.object_array(f"[[L{name};", constructed.string_array()),
        lambda name: constructed.list_of(constructed.ttl(constructed.tuple_of([pojo(name)]))),
        lambda name: constructed.pojo("a.Outer", {"order": constructed.list_of(pojo(name))}),
        lambda name: constructed.timer(pojo(name), constructed.void_namespace()),
    ],
)
def test_a_renamed_snapshot_is_that_of_the_new_class(make: object) -> None:
    assert callable(make)
    before, after = make(RENAME.old), make(RENAME.new)
    assert RENAME.of(before) == after
    read = TypeSerializerSnapshot.read(SnapshotView(snapshot_bytes(RENAME.of(before))))
    assert read == after


def test_other_classes_keep_their_names() -> None:
    for name in ("a.OrderLine", "a.Order$Line", "aa.Order", "a.Orde"):
        assert RENAME.of(pojo(name)) == pojo(name)


def test_inherited_fields_are_declared_by_the_renamed_class() -> None:
    key = utf("a.Order") + utf("id")
    inherited = replace(pojo("a.Sub")["fields"][0], key=key)
    own = {"pojo_class": "a.Sub", "fields": (inherited,), "registered": (), "unregistered": ()}
    renamed = RENAME.of(snapshot_of(pojo("a.Sub").class_name, own, version=2))
    assert renamed["fields"][0].key == utf("b.Purchase") + utf("id")
    assert renamed["pojo_class"] == "a.Sub"


def test_a_snapshot_class_of_the_user_is_renamed() -> None:
    found = OpaqueSnapshot("a.OrderSerializerSnapshot", 1, body=b"123", reason="not known")
    renamed = ClassRename("a.OrderSerializerSnapshot", "b.Snapshot").of(found)
    assert renamed == replace(found, class_name="b.Snapshot")


def test_what_only_java_can_read_is_not_renamed() -> None:
    unknown = OpaqueSnapshot("a.Snapshot", 1, body=utf("a.Order"), reason="not known")
    java_object = b"\xac\xed\0\5sr" + utf("a.Order")
    entry = OptionalEntry("a.Other", utf("a.Other"), java_object)
    with_object = replace(kryo("a.Other"), values=("a.Other", (), (entry,), ()))
    for found in (unknown, constructed.list_of(unknown), with_object):
        with pytest.raises(SchemaChangeError, match=r"a\.Order is named in a .*both classes"):
            RENAME.of(found)


def test_types_of_sql_name_no_classes_of_users() -> None:
    row = row_data([parse_logical_type("ROW<a BIGINT, b ARRAY<STRING>>")])
    assert RENAME.of(row) is row


SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "a",
    "fields": [
        {"name": "next", "type": ["null", "Order"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["Order"]}},
        {"name": "kinds", "type": {"type": "array", "items": "Kind"}},
    ],
}


def avro(schema: object, runtime_class: str) -> TypeSerializerSnapshot:
    own = {"runtime_class": runtime_class, "schema": json.dumps(schema)}
    return snapshot_of(AVRO, own, version=3)


def test_an_avro_schema_is_renamed_with_its_class() -> None:
    renamed = RENAME.of(avro(SCHEMA, "a.Order"))
    schema = json.loads(renamed["schema"])
    assert renamed["runtime_class"] == "b.Purchase"
    assert (schema["namespace"], schema["name"]) == ("b", "Purchase")
    next_one, kind, kinds = (field["type"] for field in schema["fields"])
    assert next_one == ["null", "b.Purchase"]
    assert kind == {"type": "enum", "name": "Kind", "namespace": "a", "symbols": ["Order"]}
    assert kinds == {"type": "array", "items": "a.Kind"}


def test_an_avro_schema_of_other_classes_is_kept_to_the_letter() -> None:
    found = avro({**SCHEMA, "name": "Sale"}, "a.Sale")
    assert RENAME.of(found) is found
    broken = snapshot_of(AVRO, {"runtime_class": "a.X", "schema": "{"}, version=3)
    assert RENAME.of(broken) is broken


def test_the_classes_that_are_named_are_told() -> None:
    snapshots = [kryo("a.Order"), constructed.list_of(pojo("c.D")), constructed.long()]
    assert class_names(snapshots) == {"a.Order", "a.OrderSerializer", "a.Other", "c.D"}


@pytest.mark.parametrize(
    ("data", "is_named"),
    [
        (b"\0\7a.Order", True),
        (b"xa.Order\x01", True),
        (b"a.Orde\xf2", True),
        (b"La/Order;", True),
        (b"a.OrderLine", False),
        (b"a.Order$1", False),
        (b"a-Order", False),
        (b"", False),
    ],
)
def test_names_are_found_in_bytes_as_java_and_kryo_write_them(data: bytes, is_named: bool) -> None:
    assert is_named_in(data, "a.Order") is is_named


def test_a_field_of_a_class_comes_under_its_present_name() -> None:
    added = added_field(pojo("a.Order"), "open", constructed.boolean()).snapshot
    assert RENAME.of(added)["fields"][2].key == utf("b.Purchase") + utf("open")
