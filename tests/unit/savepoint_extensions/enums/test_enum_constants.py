"""Values with constants of enums, before one of them goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kryo_operator_state import UID, savepoint_of
from support.object_classes import CLASSES
from support.object_samples import opened

from savepoint_extensions.enums.constant_change import ConstantChange
from savepoint_extensions.enums.enum_constants import (
    constant_uses,
    expect_no_java_names,
    expect_no_places,
    present_snapshots,
    without_constant,
)
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_database.snapshot.operator import Operator

METRIC = "shop.Metric"
DROPPED = ConstantChange(METRIC, "OLD_ONE", None)


def operator_of(cases: Path) -> Operator:
    return Savepoint.open(str(cases / "10-enum-constants")).operator("fd119")


def test_uses_count_in_keys_of_maps_values_fields_and_elements(cases: Path) -> None:
    operator = operator_of(cases)
    assert constant_uses(operator, DROPPED, frozenset()) == {}
    used = ConstantChange(METRIC, "RATE_AT_MOST", None)
    counts = {"byMetric": 8, "one": 4, "rule": 4, "rules": 4, "list": 8}
    assert constant_uses(operator, used, frozenset()) == counts
    del counts["list"]
    assert constant_uses(operator, used, frozenset(["list"])) == counts


def test_states_without_the_enum_stay(cases: Path) -> None:
    operator = operator_of(cases)
    migration = without_constant(operator, DROPPED)
    assert set(migration.infos) == {"byMetric", "one", "rule", "rules", "list"}
    assert migration.elements == {}
    assert migration.key is not None
    left = [migration.key]
    for info in map(migration.new_info, StoredTypes.of(operator).states):
        left += [snapshot for _, snapshot in info.serializers]
    assert [DROPPED.of(snapshot) for snapshot in left] == left
    before = list(present_snapshots(operator, frozenset()))
    assert [DROPPED.of(snapshot) for snapshot in before] != before


def test_an_enum_in_a_described_class_of_kryo_is_refused(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path / "job", [b"\0"], {})
    box = kryo_class("shop.Box", {"metrics": f"java.util.List<{METRIC}>"})
    known = Savepoint.open(path, uids=[UID], kryo_classes=[box]).operator(UID)
    with pytest.raises(SchemaChangeError, match="objects that Kryo wrote in operator buffer"):
        expect_no_places(known, DROPPED)
    expect_no_places(Savepoint.open(path, uids=[UID]).operator(UID), DROPPED)


def test_an_enum_that_objects_of_kryo_name_is_refused() -> None:
    operator = opened("objects-1.20.5-rocksdb-native", CLASSES).operator("shapes")
    expect_no_places(operator, DROPPED)
    with pytest.raises(SchemaChangeError, match="would get another meaning"):
        expect_no_places(operator, ConstantChange("shop.Shape$Square", "OLD_ONE", None))


@pytest.mark.parametrize(("name", "is_written"), [("RATE_AT_MOST", True), ("RATE_AT", False)])
def test_a_name_in_javas_serialization_is_refused(
    tmp_path: Path, name: str, is_written: bool
) -> None:
    value = METRIC.encode() + bytes(8) + b"xt\0\x0cRATE_AT_MOST"
    operator = Savepoint.open(savepoint_of(tmp_path / "job", [value], {}), uids=[UID]).operator(UID)
    change = ConstantChange(METRIC, name, "NEW")
    if not is_written:
        expect_no_java_names(operator, change)
        return
    with pytest.raises(SchemaChangeError, match="Java's serialization has written its name"):
        expect_no_java_names(operator, change)
