"""Serializers of Flink 1.x as Flink 2.x makes them."""

from __future__ import annotations

import pytest
from support.hand_made import kryo_of, list_of

from savepoint_extensions.upgrade.flink_2 import of_flink_2
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, constructed

TEXT, LONG = "java.lang.String", "java.lang.Long"
nullable = constructed.nullable
LIST = nullable(constructed.list_of(nullable(constructed.string())))


def kryo(declared: str) -> TypeSerializerSnapshot:
    return TypeSerializerSnapshot.read(SnapshotView(kryo_of(declared)))


@pytest.mark.parametrize(
    ("declared", "elements", "expected"),
    [
        ("java.util.List", (TEXT,), LIST),
        ("java.util.Collection", (TEXT,), LIST),
        ("java.lang.Iterable", (TEXT,), LIST),
        ("java.util.Set", (TEXT,), nullable(constructed.set_of(constructed.string()))),
        (
            "java.util.Map",
            (TEXT, LONG),
            nullable(constructed.map_of(nullable(constructed.string()), constructed.long())),
        ),
    ],
)
def test_a_collection_has_a_serializer_of_its_own(
    declared: str, elements: tuple[str, ...], expected: TypeSerializerSnapshot
) -> None:
    assert of_flink_2(kryo(declared), [elements]) == expected
    assert of_flink_2(kryo(declared), [None]) == kryo(declared)


def test_a_collection_is_found_in_another_serializer() -> None:
    outer = TypeSerializerSnapshot.read(SnapshotView(list_of(kryo_of("java.util.List"))))
    assert of_flink_2(outer, [(TEXT,)]).nested == (LIST,)


def test_every_other_class_stays_with_kryo() -> None:
    assert of_flink_2(kryo("java.util.ArrayList"), []) == kryo("java.util.ArrayList")


@pytest.mark.parametrize("elements", [[], [(TEXT,), (TEXT,)], [("shop.Parcel",)], [(TEXT, TEXT)]])
def test_what_does_not_fit_is_refused(elements: list[tuple[str, ...]]) -> None:
    with pytest.raises(SchemaChangeError):
        of_flink_2(kryo("java.util.List"), elements)
