"""Constants of enums get other names in serializer snapshots, or go."""

from __future__ import annotations

import pytest
from support.hand_made import BASE, LONG, composite, i32, snapshot, utf

from savepoint_extensions.enums.constant_change import ConstantChange, constants_of
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot

GRADE = "shop.Grade"
SCALA = "org.apache.flink.api.scala.typeutils.ScalaEnumSerializerSnapshot"


def enum_of(*constants: str) -> bytes:
    names = b"".join(map(utf, constants))
    class_name = f"{BASE}EnumSerializer$EnumSerializerSnapshot"
    return snapshot(class_name, utf(GRADE) + i32(len(constants)) + names)


def scala_of(**numbers: int) -> bytes:
    pairs = b"".join(utf(name) + i32(number) for name, number in numbers.items())
    return snapshot(SCALA, utf(GRADE) + i32(len(numbers)) + pairs, 2)


def map_of(*parts: bytes) -> bytes:
    return composite(f"{BASE}MapSerializerSnapshot", *parts)


def read(data: bytes) -> TypeSerializerSnapshot:
    return TypeSerializerSnapshot.read(SnapshotView(data))


def test_a_constant_is_renamed_wherever_its_enum_is() -> None:
    before = read(map_of(enum_of("LOW", "HIGH"), map_of(LONG, enum_of("LOW", "HIGH"))))
    after = ConstantChange(GRADE, "HIGH", "TOP").of(before)
    assert after == read(map_of(enum_of("LOW", "TOP"), map_of(LONG, enum_of("LOW", "TOP"))))


def test_those_behind_a_dropped_constant_move_up() -> None:
    after = ConstantChange(GRADE, "LOW", None).of(read(enum_of("LOW", "HIGH", "TOP")))
    assert after == read(enum_of("HIGH", "TOP"))


def test_constants_of_scala_keep_their_numbers() -> None:
    before = read(scala_of(LOW=0, HIGH=7, TOP=9))
    assert ConstantChange(GRADE, "HIGH", "MORE").of(before) == read(scala_of(LOW=0, MORE=7, TOP=9))
    assert ConstantChange(GRADE, "LOW", None).of(before) == read(scala_of(HIGH=7, TOP=9))


@pytest.mark.parametrize("enum_class", [GRADE, "shop.Other"])
def test_another_enum_and_another_constant_stay(enum_class: str) -> None:
    before = read(map_of(enum_of("LOW", "HIGH"), LONG))
    constant = "HIGHER" if enum_class == GRADE else "HIGH"
    assert ConstantChange(enum_class, constant, "TOP").of(before) == before


def test_a_name_that_another_constant_has_is_refused() -> None:
    with pytest.raises(SchemaChangeError, match=r"shop\.Grade has a constant 'LOW' already"):
        ConstantChange(GRADE, "HIGH", "LOW").of(read(map_of(LONG, enum_of("LOW", "HIGH"))))


def test_the_constants_of_all_enums_are_those_of_all_their_snapshots() -> None:
    snapshots = [read(map_of(enum_of("LOW"), enum_of("HIGH", "LOW"))), read(LONG)]
    assert constants_of(snapshots) == {GRADE: ("LOW", "HIGH")}
