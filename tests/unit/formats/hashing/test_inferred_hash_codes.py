"""Shapes of hashCode, and their inference from keys and key groups.

The expected hash codes are computed here as the generated Java does it, value by value.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.hash_shapes import FAMILIES, HashShape, product_of, shape_hashes
from savepoint_formats.hashing.inferred_hash_codes import inferred_hash_code
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.layout import (
    Boolean,
    Enum,
    Int,
    Layout,
    Long,
    Nullable,
    Pojo,
    Struct,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GROUPS = 128
WORD = 0xFFFFFFFF


def signed(number: int) -> int:
    number &= WORD
    return number - (1 << 32) if number >> 31 else number


def of_text(text: str | None) -> int:
    state = 0
    for letter in text or "":
        state = 31 * state + ord(letter)
    return state


def of_long(number: int) -> int:
    return (number ^ number >> 32) & WORD


def objects_hash(key: dict[str, Any]) -> int:
    state = 1
    for one in (of_text(key["name"]), of_long(key["id"]), 1231 if key["active"] else 1237):
        state = 31 * state + one
    return signed(state)


def record(key: dict[str, Any]) -> int:
    return signed(31 * of_long(key["id"]) + of_text(key["name"]))


def lombok(key: dict[str, Any]) -> int:
    state = 1 * 59 + (79 if key["active"] else 97)
    state = state * 59 + of_long(key["id"])
    return signed(state * 59 + (43 if key["name"] is None else of_text(key["name"])))


def auto_value(key: dict[str, Any]) -> int:
    state = 1
    for one in (of_long(key["id"]), of_text(key["name"])):
        state = (state * 1000003 & WORD) ^ (one & WORD)
    return signed(state)


def commons(key: dict[str, Any]) -> int:
    state = 17 * 37 + of_long(key["id"])
    return signed(state * 37 + (0 if key["active"] else 1))


def kotlin_of_old(key: dict[str, Any]) -> int:
    return signed((of_text(key["name"]) * 31 + of_long(key["id"])) * 31 + key["active"])


def single(key: dict[str, Any]) -> int:
    return signed(of_text(key["name"]))


def xored(key: dict[str, Any]) -> int:
    return signed(of_text(key["name"]) ^ of_long(key["id"]))


def squared(key: dict[str, Any]) -> int:
    return signed(key["id"] * key["id"] + 7)


KEY = Pojo(
    "shop.Key",
    ("active", "color", "id", "name"),
    (
        Nullable(Boolean(), True),
        Nullable(Enum("shop.Color", ("RED", "BLUE")), True),
        Nullable(Long(), True),
        Nullable(Text(), True),
    ),
)
TYPE = pa.struct(
    {"active": pa.bool_(), "color": pa.string(), "id": pa.int64(), "name": pa.string()}
)
WITHOUT_COLOR = pa.struct([field for field in TYPE if field.name != "color"])

PLACE = pa.struct({"city": pa.struct({"name": pa.string(), "zip": pa.int32()}), "id": pa.int64()})


def keys(count: int) -> list[dict[str, Any]]:
    numbers = random.Random(count)
    return [
        {
            "active": numbers.random() < 0.5,
            "color": numbers.choice(["RED", "BLUE"]),
            "id": numbers.getrandbits(63),
            "name": None if number % 10 == 3 else f"name {numbers.randrange(1000)}",
        }
        for number in range(count)
    ]


def groups_of(
    rows: list[dict[str, Any]], hash_code: Callable[[dict[str, Any]], int], groups: int = GROUPS
) -> np.ndarray[Any, np.dtype[np.uint16]]:
    return np.array([key_group(hash_code(row), groups) for row in rows], np.uint16)


@pytest.mark.parametrize(
    ("hash_code", "text"),
    [
        (objects_hash, "Objects.hash(name, id, active)"),
        (record, "record(id, name)"),
        (lombok, "Lombok(active, id, name) with booleans 79/97"),
        (auto_value, "AutoValue(id, name)"),
        (commons, "HashCodeBuilder(id, active) with booleans 0/1"),
        (kotlin_of_old, "record(name, id, active) with booleans 1/0"),
        (single, "record(name)"),
    ],
)
def test_a_shape_is_found_and_computes_the_hash_codes_of_keys_that_were_not_looked_at(
    hash_code: Callable[[dict[str, Any]], int], text: str
) -> None:
    rows = keys(200)
    found = inferred_hash_code(KEY, pa.array(rows, TYPE), groups_of(rows, hash_code), GROUPS)
    others = keys(3000)
    assert found(pa.array(others, TYPE)).tolist() == [hash_code(row) for row in others]
    assert str(found.shape) == text
    assert found.keys > 100


def test_shapes_that_give_the_same_hash_codes_are_one() -> None:
    rows = keys(200)
    found = inferred_hash_code(KEY, pa.array(rows, TYPE), groups_of(rows, xored), GROUPS)
    assert found(pa.array(rows, TYPE)).tolist() == [xored(row) for row in rows]


def test_another_hash_code_is_not_guessed() -> None:
    rows = keys(200)
    with pytest.raises(UnstableHashError, match=r"none of .* usual shapes"):
        inferred_hash_code(KEY, pa.array(rows, TYPE), groups_of(rows, squared), GROUPS)


def test_one_key_that_disagrees_is_enough_to_refuse() -> None:
    rows = keys(200)
    groups = groups_of(rows, record)
    groups[77] = (groups[77] + 1) % GROUPS
    with pytest.raises(UnstableHashError, match="none of"):
        inferred_hash_code(KEY, pa.array(rows, TYPE), groups, GROUPS)


def test_few_keys_prove_nothing() -> None:
    rows = keys(4)
    with pytest.raises(UnstableHashError, match=r"too few|several"):
        inferred_hash_code(KEY, pa.array(rows, TYPE), groups_of(rows, record), GROUPS)


def test_one_key_group_proves_nothing() -> None:
    rows = keys(300)
    with pytest.raises(UnstableHashError, match=r"too few|several"):
        inferred_hash_code(KEY, pa.array(rows, TYPE), groups_of(rows, record, 1), 1)


def test_a_key_within_a_key_has_a_shape_too() -> None:
    city = Pojo("shop.City", ("name", "zip"), (Nullable(Text(), True), Nullable(Int(), True)))
    key = Pojo("shop.Place", ("city", "id"), (Nullable(city, True), Nullable(Long(), True)))
    rows: list[dict[str, Any]] = [
        {"city": {"name": f"city {n % 17}", "zip": n * 7919}, "id": n << 33 | n} for n in range(200)
    ]

    def hash_code(row: dict[str, Any]) -> int:
        city = 31 * (31 * 1 + row["city"]["zip"]) + of_text(row["city"]["name"])
        return signed(31 * (31 * 1 + of_long(row["id"])) + city)

    found = inferred_hash_code(key, pa.array(rows, PLACE), groups_of(rows, hash_code), GROUPS)
    assert str(found.shape) == "Objects.hash(id, city: Objects.hash(zip, name))"


def test_a_case_class_is_found_by_its_name() -> None:
    """The hash codes are those of ``case class Key(id: Long, name: String)`` in Scala 2.13."""
    shape = HashShape.parse("product of Key(id, name)")
    rows = [row | {"name": row["name"] or "-"} for row in keys(200)]
    column = pa.array(rows, TYPE)
    groups = groups_of_hashes(shape_hashes(shape, KEY, column))
    found = inferred_hash_code(KEY, column, groups, GROUPS)
    assert str(found.shape) == "product of Key(id, name)"


def groups_of_hashes(hashes: np.ndarray[Any, np.dtype[np.int32]]) -> Any:
    return np.array([key_group(int(one), GROUPS) for one in hashes], np.uint16)


def test_a_class_within_a_tuple_has_a_hash_code_of_any_family() -> None:
    named = [row for row in keys(200) if row["name"]]
    rows: list[dict[str, Any]] = [{"f0": number, "f1": row} for number, row in enumerate(named)]
    column = pa.array(rows, pa.struct({"f0": pa.int64(), "f1": WITHOUT_COLOR}))
    inner = Pojo("shop.Key", ("active", "id", "name"), (Boolean(), Long(), Text()))
    tuple_layout = Struct(("f0", "f1"), (Long(), Nullable(inner, True)))
    groups = np.array(
        [key_group(signed(31 * row["f0"] + lombok(row["f1"])), GROUPS) for row in rows], np.uint16
    )
    found = inferred_hash_code(tuple_layout, column, groups, GROUPS)
    text = "record(f0, f1: Lombok(active, id, name)) with booleans 79/97"
    assert str(found.shape) == text
    assert found.shape == HashShape.parse(text)


@pytest.mark.usefixtures("slow")
def test_keys_of_many_fields_with_classes_within_are_refused_in_time() -> None:
    names = tuple("abcd")
    inner = Pojo("shop.Part", names, (Nullable(Int(), True),) * 4)
    fields = (*(Nullable(inner, True),) * 2, *(Nullable(Int(), True),) * 5)
    layout = Pojo("shop.Whole", tuple("abcdefg"), fields)
    numbers = np.random.default_rng(7)

    def some(of: str) -> dict[str, int]:
        return {name: int(numbers.integers(1 << 30)) for name in of}

    rows = [{"a": some("abcd"), "b": some("abcd")} | some("cdefg") for _ in range(50)]
    part = pa.struct({name: pa.int32() for name in names})
    column = pa.array(
        rows, pa.struct({"a": part, "b": part} | {name: pa.int32() for name in "cdefg"})
    )
    groups = numbers.integers(0, GROUPS, 50).astype(np.uint16)
    with pytest.raises(UnstableHashError, match=r"none of \d,\d{3},\d{3} usual"):
        inferred_hash_code(layout, column, groups, GROUPS)


def test_keys_of_other_layouts_are_refused() -> None:
    with pytest.raises(UnstableHashError, match="class with known fields"):
        inferred_hash_code(Enum("C", ("A",)), pa.array(["A"]), np.zeros(1, np.uint16), GROUPS)


@pytest.mark.parametrize("family", [*FAMILIES, product_of("Key")], ids=lambda family: family.name)
def test_a_shape_is_read_from_its_text(family: Any) -> None:
    inner = HashShape(family, (("zip", None), ("name", None)), family.booleans[-1])
    shape = HashShape(family, (("id", None), ("city", inner)), family.booleans[-1])
    assert HashShape.parse(str(shape)) == shape


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Objects.hash",
        "Objects.hash(",
        "Objects.hash()",
        "nothing(id)",
        "record(a) b",
        "product of (id)",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="shape of hashCode"):
        HashShape.parse(text)


def test_a_field_that_is_not_there_is_named() -> None:
    layout: Layout = KEY
    with pytest.raises(UnstableHashError, match="no field 'nam'"):
        shape_hashes(HashShape.parse("record(nam)"), layout, pa.array(keys(2), TYPE))
