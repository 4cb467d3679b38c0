"""Snapshots of new state: the same as real Flinks wrote of the same types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.stored_snapshots import snapshot_bytes, stored_snapshots

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.layout import Layout, Nullable, Pojo, Repeated, Struct, Text
from savepoint_formats.snapshots import (
    SnapshotView,
    TypeSerializerSnapshot,
    constructed,
    read_serializer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

BASE = "org.apache.flink.api.common.typeutils.base."
LONG, STRING = constructed.long(), constructed.string()

BASIC: dict[str, Callable[[], TypeSerializerSnapshot]] = {
    "Boolean": constructed.boolean,
    "Byte": constructed.byte,
    "Short": constructed.short,
    "Int": constructed.integer,
    "Long": constructed.long,
    "Float": constructed.single,
    "Double": constructed.double,
    "Char": constructed.char,
    "String": constructed.string,
    "BigInt": constructed.big_int,
    "BigDec": constructed.big_dec,
    "Date": constructed.date,
    "SqlDate": constructed.sql_date,
    "SqlTime": constructed.sql_time,
    "SqlTimestamp": constructed.sql_timestamp,
    "Instant": constructed.instant,
    "LocalDate": constructed.local_date,
    "LocalTime": constructed.local_time,
    "LocalDateTime": constructed.local_date_time,
    "Void": constructed.void,
    "Variant": constructed.variant,
    "StringArray": constructed.string_array,
    "VoidNamespace": constructed.void_namespace,
    "TimeWindow": constructed.time_window,
    "GlobalWindow": constructed.global_window,
}
PRIMITIVES = ("Boolean", "Byte", "Short", "Int", "Long", "Float", "Double", "Char")
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."

COMPOSITE: dict[str, Callable[..., TypeSerializerSnapshot]] = {
    f"{BASE}ListSerializerSnapshot": lambda _, element: constructed.list_of(element),
    f"{BASE}SetSerializerSnapshot": lambda _, element: constructed.set_of(element),
    f"{BASE}MapSerializerSnapshot": lambda _, key, value: constructed.map_of(key, value),
    f"{BASE}GenericArraySerializerSnapshot": lambda found, element: constructed.object_array(
        found["component"], element
    ),
    f"{BASE}EnumSerializer$EnumSerializerSnapshot": lambda found: constructed.enum_of(
        found["enum_class"], found["constants"]
    ),
    f"{RUNTIME}JavaEitherSerializerSnapshot": lambda _, left, right: constructed.either(
        left, right
    ),
    f"{RUNTIME}NullableSerializer$NullableSerializerSnapshot": lambda found, value: (
        constructed.nullable(value, found["padding"])
    ),
    f"{RUNTIME}TupleSerializerSnapshot": lambda _, *fields: constructed.tuple_of(fields),
    f"{RUNTIME}Tuple0SerializerSnapshot": lambda _: constructed.tuple_of([]),
    "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot": lambda _, key, namespace: (
        constructed.timer(key, namespace)
    ),
    "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot": (
        lambda _, __, value: constructed.ttl(value)
    ),
}


def made_again(found: TypeSerializerSnapshot) -> TypeSerializerSnapshot | None:
    """The type made new; None if a type inside it can't be made."""
    nested = [made_again(one) for one in found.nested]
    if None in nested:
        return None
    if found.class_name in COMPOSITE:
        return COMPOSITE[found.class_name](found, *nested)
    if found.class_name.endswith(".RowSerializer$RowSerializerSnapshot"):
        is_new = found.outer_version == 4 and found["has_kind"]
        return constructed.row_of([one for one in nested if one]) if is_new else None
    if found.class_name.endswith(".PojoSerializerSnapshot"):
        return pojo_again(found)
    basic = [make() for make in BASIC.values()]
    arrays = [constructed.primitive_array(BASIC[name]()) for name in PRIMITIVES]
    return next((one for one in (*basic, *arrays) if one == found), None)


def pojo_again(found: TypeSerializerSnapshot) -> TypeSerializerSnapshot | None:
    """The POJO made new, if it has no subclasses, and only fields of its own."""
    fields: dict[str, TypeSerializerSnapshot] = {}
    for entry in found["fields"]:
        is_own = entry.key and DataInputView(entry.key).read_utf() == found["pojo_class"]
        part = made_again(TypeSerializerSnapshot.read(SnapshotView(entry.value)))
        if not is_own or part is None:
            return None
        fields[entry.name] = part
    if found["registered"] or found["unregistered"]:
        return None
    return constructed.pojo(found["pojo_class"], fields)


def assert_made_again(found: Iterable[TypeSerializerSnapshot]) -> set[str]:
    """Asserts that all that can be made is the same; the classes of what was made."""
    pairs = [(one, again) for one in found if (again := made_again(one)) is not None]
    for one, again in pairs:
        assert snapshot_bytes(again) == snapshot_bytes(one)
        assert again == one
    return {one.class_name.rpartition(".")[2] for one, _ in pairs}


def test_the_types_of_the_samples_are_made_byte_for_byte(samples: Path) -> None:
    kinds = assert_made_again(stored_snapshots(samples))
    assert {"PojoSerializerSnapshot", "TupleSerializerSnapshot", "TimerSerializerSnapshot"} <= kinds
    assert len(kinds) > 12


def test_the_types_of_the_vectors_and_of_flinks_own_tests_are_made_byte_for_byte(
    corpus: Path,
) -> None:
    paths = (corpus / "serializers").glob("*-1.20/serializer-snapshot")
    data = {path.read_bytes() for path in paths}
    vectors = corpus.parent / "spec" / "serializer-vectors.json"
    if vectors.is_file():
        data |= {
            bytes.fromhex(one["snapshot"]) for one in json.loads(vectors.read_text())["vectors"]
        }
    kinds = assert_made_again(read_serializer(SnapshotView(one)) for one in data)
    assert len(kinds) > 40


TYPES: dict[str, tuple[TypeSerializerSnapshot, Layout]] = {
    "tuple of 25": (
        constructed.tuple_of([LONG] * 25),
        Struct(tuple(f"f{index}" for index in range(25)), (layouts.Long(),) * 25),
    ),
    "tuple of none": (constructed.tuple_of([]), layouts.Marker(42)),
    "Long[]": (constructed.basic_array(LONG), Repeated(Nullable(layouts.Long(), is_null=False))),
    "String[]": (constructed.basic_array(STRING), Repeated(Text(), is_array=True)),
    "byte[]": (constructed.primitive_array(constructed.byte()), layouts.Bytes()),
    "pojo": (
        constructed.pojo("a.P", {"z": LONG, "a": STRING}),
        Pojo("a.P", ("a", "z"), (Nullable(Text()), Nullable(layouts.Long()))),
    ),
    "enum": (constructed.enum_of("a.E", ["A", "B"]), layouts.Enum("a.E", ("A", "B"))),
    "list with ttl": (
        constructed.list_of(constructed.ttl(LONG)),
        Repeated(layouts.Ttl(layouts.Long())),
    ),
    **{name: (make(), make().layout()) for name, make in BASIC.items()},
}


@pytest.mark.parametrize(("snapshot", "layout"), TYPES.values(), ids=TYPES)
def test_what_is_made_is_read_back_equal(snapshot: TypeSerializerSnapshot, layout: Layout) -> None:
    view = SnapshotView(snapshot_bytes(snapshot))
    found = TypeSerializerSnapshot.read(view)
    view.expect_end()
    assert found == snapshot
    assert found.layout() == snapshot.layout() == layout


@pytest.mark.parametrize("name", PRIMITIVES)
def test_boxes_and_primitives_have_arrays_of_their_own(name: str) -> None:
    box, primitive = BASIC[name](), constructed.primitive_array(BASIC[name]())
    assert primitive.class_name == (
        f"{BASE}array.{name}PrimitiveArraySerializer${name}PrimitiveArraySerializerSnapshot"
    )
    assert constructed.basic_array(box)["component"].startswith("java.lang.")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: constructed.tuple_of([LONG] * 26), "a tuple of 26 fields, expected 25 at most"),
        (lambda: constructed.primitive_array(STRING), "expected a primitive type"),
        (lambda: constructed.basic_array(constructed.instant()), "expected a basic type"),
    ],
)
def test_what_java_does_not_have_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
