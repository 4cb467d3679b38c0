"""What becomes of a serializer when a job has another one; a real Flink is asked in ``tests/flink``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from savepoint_extensions.upgrade.compatibility.avro_resolution import unread_parts, unwritten_parts
from savepoint_extensions.upgrade.compatibility.serializer_resolution import Outcome, resolve
from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.snapshots.fields import OptionalEntry, utf_bytes
from savepoint_formats.snapshots.kryo import SERIALIZER_CLASS
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type

INT, LONG, TEXT = (constructed.basic(name) for name in ("Int", "Long", "String"))
ORDER = constructed.pojo("shop.Order", {"amount": INT, "note": TEXT})
TOKEN = constructed.kryo("shop.Token", ["shop.A", "shop.B"])
OWN = OpaqueSnapshot("shop.OwnSnapshot", 1, body=b"1", reason="its class is not known")


def rows(*types: str) -> TypeSerializerSnapshot:
    return row_data([parse_logical_type(each) for each in types])


def unloaded(snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """Kryo with a registered class that could not be loaded when Flink wrote it."""
    entries = (
        replace(entry, value=None) if entry.name == "shop.B" else entry
        for entry in snapshot["registrations"]
    )
    return snapshot.with_fields(registrations=tuple(entries))


AVRO_ARRAY = "org.apache.avro.generic.GenericData$Array"


def given(
    snapshot: TypeSerializerSnapshot, **serializers: dict[str, str]
) -> TypeSerializerSnapshot:
    """Kryo with serializers that the job gave it, by the part of the snapshot and the class."""
    parts = {}
    for part, classes in serializers.items():
        entries = {entry.name: entry for entry in snapshot[part]}
        for name, serializer in classes.items():
            value = utf_bytes(serializer)
            if part == "registrations":
                value = utf_bytes(name) + SERIALIZER_CLASS.to_bytes(4, "big") + value
            entries[name] = OptionalEntry(name, utf_bytes(name), value)
        parts[part] = tuple(entries.values())
    return snapshot.with_fields(**parts)


CASES = {
    "same": (ORDER, ORDER, Outcome.AS_IS, {}),
    "field-added": (
        ORDER,
        constructed.pojo("shop.Order", {"amount": INT, "at": LONG, "note": TEXT}),
        Outcome.MIGRATED,
        {"field-added": "value.at"},
    ),
    "field-renamed": (
        ORDER,
        constructed.pojo("shop.Order", {"amount": INT, "remark": TEXT}),
        Outcome.MIGRATED,
        {"field-renamed": "value.note → remark", "field-added": "value.remark"},
    ),
    "field-widened": (
        ORDER,
        constructed.pojo("shop.Order", {"amount": LONG, "note": TEXT}),
        Outcome.INCOMPATIBLE,
        {"field-widened": "value.amount: Int → Long"},
    ),
    "list of another POJO": (
        constructed.list_of(ORDER),
        constructed.list_of(constructed.pojo("shop.Purchase", {"amount": INT, "note": TEXT})),
        Outcome.INCOMPATIBLE,
        {"class-renamed": "value[]: shop.Order → shop.Purchase"},
    ),
    "ttl": (INT, constructed.ttl(INT), Outcome.MIGRATED, {"ttl": "value: on"}),
    "ttl and another type": (
        constructed.ttl(INT),
        LONG,
        Outcome.INCOMPATIBLE,
        {"ttl": "value: off", "type-changed": "value: Int → Long"},
    ),
    "padding of null": (
        constructed.nullable(INT),
        constructed.nullable(INT, 4),
        Outcome.INCOMPATIBLE,
        {"type-changed": "value: 0 → 4"},
    ),
    "format of a row": (
        constructed.row_of([INT]).with_fields(has_kind=False),
        constructed.row_of([INT]),
        Outcome.MIGRATED,
        {"format-evolved": "value: False → True"},
    ),
    "row of SQL": (
        rows("INT", "STRING"),
        rows("INT", "STRING", "BIGINT"),
        Outcome.INCOMPATIBLE,
        {"sql-row": "value: 2 → 3 fields"},
    ),
    "order of registrations": (
        TOKEN,
        constructed.kryo("shop.Token", ["shop.B", "shop.A"]),
        Outcome.RECONFIGURED,
        {"kryo-registrations": "value: another order"},
    ),
    "registration removed": (
        TOKEN,
        constructed.kryo("shop.Token", ["shop.A"]),
        Outcome.RECONFIGURED,
        {"kryo-registrations": "value: shop.B"},
    ),
    "class of a registration lost": (
        unloaded(TOKEN),
        constructed.kryo("shop.Token", ["shop.A"]),
        Outcome.INCOMPATIBLE,
        {"kryo-registration-lost": "value: shop.B"},
    ),
    "class of a registration there again": (unloaded(TOKEN), TOKEN, Outcome.AS_IS, {}),
    "serializer of the class of the values": (
        TOKEN,
        given(TOKEN, registrations={"shop.Token": "shop.Own"}),
        Outcome.RECONFIGURED,
        {"kryo-serializer": "value: shop.Token: Kryo's own serializer → shop.Own"},
    ),
    "serializer of a class that values may have": (
        given(TOKEN, registrations={"shop.A": "shop.Own"}),
        given(TOKEN, registrations={"shop.A": "shop.Other"}),
        Outcome.RECONFIGURED,
        {"kryo-serializer-perhaps": "value: shop.A: shop.Own → shop.Other"},
    ),
    "serializer that the job goes on with": (
        given(TOKEN, default_serializer_classes={"shop.C": "shop.Own"}),
        TOKEN,
        Outcome.RECONFIGURED,
        {"kryo-registrations": "value: shop.C"},
    ),
    "serializer of Avro's arrays, which a job without Avro has not": (
        TOKEN,
        given(TOKEN, registrations={AVRO_ARRAY: "shop.Own"}),
        Outcome.AS_IS,
        {},
    ),
    "own serializer": (
        OWN,
        replace(OWN, body=b"2"),
        Outcome.UNKNOWN,
        {"serializer-changed": "value: Own"},
    ),
    "own serializer instead of Flink's": (
        INT,
        OWN,
        Outcome.UNKNOWN,
        {"serializer-changed": "value: Int → Own"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_serializers_are_resolved_as_flink_does(case: str) -> None:
    old, new, outcome, changes = CASES[case]
    found = resolve(old, new, "value")
    assert {change.rule: change.where for change in found.changes} == changes
    assert found.outcome is outcome


def record(fields: str, name: str = "R") -> str:
    return f'{{"type": "record", "name": "{name}", "fields": [{fields}]}}'


def field(type_: str, more: str = "") -> str:
    return f'{{"name": "f", "type": {type_}{more}}}'


NODE = field('["null", "R"]')
ENUM = '{{"type": "enum", "name": "E", "symbols": {}}}'
AVRO = {
    "promotion": (field('"double"'), field('"int"'), []),
    "no promotion back": (field('"int"'), field('"long"'), [".f: long → int"]),
    "bytes of a text": (field('"bytes"'), field('"string"'), []),
    "a union of fewer": (
        field('["null", "int"]'),
        field('["null", "int", "string"]'),
        [".f: no branch of the union reads string"],
    ),
    "out of a union": (field('"long"'), field('["int", "long"]'), []),
    "a record in itself": (NODE, NODE, []),
    "a default of an enum": (
        field(ENUM.format('["A"], "default": "A"')),
        field(ENUM.format('["A", "B"]')),
        [],
    ),
    "elements": (
        field('{"type": "array", "items": "int"}'),
        field('{"type": "array", "items": "string"}'),
        [".f[]: string → int"],
    ),
    "a size": (
        field('{"type": "fixed", "name": "F", "size": 4}'),
        field('{"type": "fixed", "name": "F", "size": 8}'),
        [".f: 8 → 4 bytes"],
    ),
}


@pytest.mark.parametrize("case", AVRO)
def test_schemas_of_avro_are_resolved(case: str) -> None:
    reader, writer, unread = AVRO[case]
    assert unread_parts(record(reader), record(writer)) == unread


def fields(*pairs: str) -> str:
    """A record of fields, ``name type``."""
    parts = ",".join(
        f'{{"name": "{name}", "type": {type_}, "default": 0}}'
        for name, type_ in (pair.split(" ", 1) for pair in pairs)
    )
    return f'{{"type": "record", "name": "R", "fields": [{parts}]}}'


A, B, C = 'a "string"', 'b "long"', 'c "long"'
NULLABLE_B = 'b ["null", "long"]'
BY_POSITION = {
    "the last field gone": (fields(A, B), fields(A, B, C), [], []),
    "a field appended": (
        fields(A, B, C),
        fields(A, B),
        [".c: the stored records have no field 2"],
        [],
    ),
    "a field of another": (fields(A, C), fields(A, B, C), [], [".c: it gets b"]),
    "a field before others": (
        fields(B, A),
        fields(A),
        [".b: string → long", ".a: the stored"],
        [".b"],
    ),
    "a wider number": (fields('b "double"'), fields(B), [], []),
    "nullable": (fields(NULLABLE_B), fields(B), [], []),
    "nullable and wider": (
        fields('b ["null", "double"]'),
        fields(NULLABLE_B),
        [".b: long is in no branch of the union"],
        [],
    ),
    "elements": (
        fields('b {"type": "array", "items": "bytes"}'),
        fields('b {"type": "array", "items": "string"}'),
        [".b[]: string → bytes"],
        [],
    ),
    "constants": (
        fields("b " + ENUM.format('["A"], "default": "A"')),
        fields("b " + ENUM.format('["A", "B"]')),
        [".b: it lacks B"],
        [],
    ),
}


@pytest.mark.parametrize("case", BY_POSITION)
def test_records_without_a_class_are_written_by_position(case: str) -> None:
    new, old, failed, shifted = BY_POSITION[case]
    for found, expected in zip(unwritten_parts(new, old), (failed, shifted), strict=True):
        assert len(found) >= len(expected)
        assert all(one.startswith(text) for one, text in zip(found, expected, strict=False))
        assert bool(found) is bool(expected)


def test_an_alias_is_a_full_name() -> None:
    writer = '{"type": "record", "name": "Old", "namespace": "shop", "fields": []}'
    reader = (
        '{"type": "record", "name": "New", "namespace": "%s", "aliases": ["Old"], "fields": []}'
    )
    assert unread_parts(reader % "shop", writer) == []
    assert unread_parts(reader % "other", writer) == [": Old → New"]


@pytest.mark.parametrize(
    "schema", ["", "{", "[[[", '{"type": 1}', '{"type": "record"}', "[" * 9999]
)
def test_what_is_no_schema_is_not_understood(schema: str) -> None:
    assert unread_parts(schema, record(NODE)) is None


def test_unions_of_unions_end_soon() -> None:
    fields = ",".join(
        f'{{"name": "f{n}", "type": ["null", {record(field(chr(34) + "int" + chr(34)), f"R{n}")}]}}'
        for n in range(200)
    )
    assert unread_parts(record(fields), record(fields)) == []
