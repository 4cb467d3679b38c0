"""Objects that Flink wrote with Kryo, in fields of POJOs and as values, with plain state beside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.object_classes import CLASSES
from support.object_samples import IDS, OBJECTS, by_id, opened, plain_state, timers
from support.passed_state import passed_on, rows_by_table
from support.slow_cases import nightly_unless

from savepoint_formats.errors import UndecodableError

if TYPE_CHECKING:
    from savepoint_formats.scan.read_options import UndescribedSubclasses


def is_fast(sample: str) -> bool:
    """Whether it is of the fast tests: a form of Kryo 2 in each backend, and one of Kryo 5."""
    return (
        "1.20.5" in sample and "native" in sample
    ) or sample == "objects-2.2.1-hashmap-canonical"


pytestmark = pytest.mark.parametrize("sample", nightly_unless(is_fast, OBJECTS))

PARCEL, *SHAPES = CLASSES


def told(field: Any) -> Any:
    """A collection, whether a serializer of Flink's wrote it or Kryo did."""
    if not isinstance(field, dict):
        return field
    assert field["reason"] is None
    assert field["bytes"]
    return json.loads(field["json"])


def other(number: int) -> Any:
    if number % 2:
        return f"text {number}"
    return {"$class": "java.time.Instant", "seconds": number, "nanos": 0}


def basket(number: int) -> dict[str, Any]:
    return {
        "amounts": [f"{number / 100:.2f}"],
        "codes": [number, -number],
        "counts": [{"key": "n", "value": number}],
        "numbers": [number, 7],
        "other": other(number),
        "ranks": [{"key": "first", "value": ["a", f"b{number}"]}],
        "seen": [f"s{number}"] if number % 3 else None,
        "tags": [f"t{number}"] if number % 4 else ["x", "y"],
        "total": 1000 + number,
        "zone": f"zone {number}",
    }


def test_collections_of_the_jdk_need_no_description(sample: str) -> None:
    found = by_id(opened(sample), "baskets.keyed_state")
    assert sorted(found) == list(IDS)
    for number, row in found.items():
        fields = {name: told(field) for name, field in row.pop("basket").items()}
        assert row == plain_state(number)
        assert fields == basket(number)


def test_a_list_of_unknown_objects_is_bytes_and_hides_nothing_behind_it(sample: str) -> None:
    found = by_id(opened(sample), "crates.keyed_state")
    assert sorted(found) == list(IDS)
    for number, row in found.items():
        crate = row.pop("crate")
        assert row == plain_state(number)
        assert crate["count"] == number
        assert crate["weight"] == (number if number % 3 else None)
        assert crate["zone"] == f"zone {number}"
        if number % 4:
            parcels = crate["parcels"]
            assert parcels["json"] is None
            assert b"content " in parcels["bytes"]
            assert parcels["reason"].endswith("shop.Parcel, whose fields are not known")
        else:
            assert told(crate["parcels"]) == []


def test_a_description_tells_what_is_in_the_list_and_behind_it(sample: str) -> None:
    found = by_id(opened(sample, [PARCEL]), "crates.keyed_state")
    for number, row in found.items():
        crate = row["crate"]
        assert told(crate["parcels"]) == [
            {"$class": "shop.Parcel", "content": f"content {index}", "id": number}
            for index in range(0, number % 4, 2)
        ]
        assert crate["weight"] == (number if number % 3 else None)
        assert crate["zone"] == f"zone {number}"


def test_objects_of_an_interface_are_their_bytes_with_the_reason(sample: str) -> None:
    found = by_id(opened(sample), "shapes.keyed_state")
    assert sorted(found) == list(IDS)
    for number, row in found.items():
        shape = row.pop("shape")
        assert row == plain_state(number)
        name = b"Squar" if number % 2 else b"Circl"
        assert shape["bytes"].startswith(b"\1\0shop.Shape$" + name)
        assert "whose fields are not known" in shape["reason"]


def test_an_interface_is_described_by_its_classes(sample: str) -> None:
    found = by_id(opened(sample, SHAPES), "shapes.keyed_state")
    for number, row in found.items():
        if number % 2:
            expected = {"$class": "shop.Shape$Square", "colour": f"colour {number}", "side": number}
        else:
            expected = {"$class": "shop.Shape$Circle", "radius": number}
        assert told(row["shape"]) == expected


def test_timers_beside_objects_are_read(sample: str) -> None:
    for uid in ("baskets", "crates", "shapes"):
        assert timers(opened(sample), uid) == list(range(40))


def test_pojos_of_unknown_subclasses_hide_neither_timers_nor_other_columns(sample: str) -> None:
    savepoint = opened(sample)
    assert timers(savepoint, "payments") == list(range(40))
    found = by_id(savepoint, "payments.keyed_state", columns=("key", "id", "memo"))
    assert found == {number: plain_state(number) for number in IDS}
    if "hashmap" in sample:
        asked = r"a value of shop\.CardPayment.*undescribed_subclasses='bytes'.*other columns"
        with pytest.raises(UndecodableError, match=asked):
            by_id(savepoint, "payments.keyed_state")


@pytest.mark.parametrize("shown", ["bytes", "rest"])
def test_pojos_of_unknown_subclasses_are_bytes_for_whoever_asks(
    sample: str, shown: UndescribedSubclasses
) -> None:
    table = "payments.keyed_state"
    scan = opened(sample).with_forms(undescribed_subclasses=shown).scan(table)
    assert scan.schema.field("payment").type.names[-1] == "$undecoded"
    found = by_id(opened(sample).with_forms(undescribed_subclasses=shown), table)
    assert sorted(found) == list(IDS)
    for number, row in found.items():
        payment = row.pop("payment")
        assert row == plain_state(number)
        undecoded = payment.pop("$undecoded")
        if number % 3 or "rocksdb" in sample:
            assert undecoded is None
            assert (payment["cents"], payment["payer"]) == (number, f"payer {number}")
            continue
        assert set(payment.values()) == {None}
        assert undecoded["bytes"].startswith(b"\4\0\x10shop.CardPayment\2")
        assert undecoded["bytes"].endswith(f"payer {number}".encode())
        assert "a value of shop.CardPayment, a subclass of shop.Payment" in undecoded["reason"]


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("name", ["baskets", "crates", "payments", "shapes"])
def test_they_find_new_key_groups_though_nobody_decodes_them(sample: str, name: str) -> None:
    savepoint = opened(sample)
    operator, kryo = savepoint.operator(name).record, savepoint.kryo
    found = passed_on(savepoint.directory, operator, 300, kryo=kryo)
    columns = ("key",) if name == "payments" else None
    rows = [
        rows_by_table(savepoint.directory, one, kryo, columns=columns) for one in (operator, found)
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]["keyed_state"]) == len(IDS)
    assert len(rows[0]["timers"]) == len(IDS)
