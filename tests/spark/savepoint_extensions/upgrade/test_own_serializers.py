"""Values of Kryo, for serializers of Flink's own in the same release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.bootstrapped import written
from support.commands import run
from support.object_samples import UIDS
from support.sample_rows import SAMPLES

from savepoint_extensions.upgrade.own_serializers import with_own_serializers
from savepoint_formats.errors import MigrationError
from savepoint_formats.layout import Pojo, holds_kryo
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    kryo_class,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

UID = "operator"
ORDER = kryo_class("x.Order", {"id": "long", "name": "java.lang.String"})


def table(savepoint: Savepoint) -> dict[Any, Any]:
    scan = savepoint.scan(f"{UID}.keyed_state", with_times=True)
    return {row["key"]: plain(row) for row in scan.to_arrow().to_pylist()}


def plain(value: Any) -> Any:
    """The value without the column of what Kryo's objects may have besides their fields."""
    match value:
        case dict():
            return {name: plain(part) for name, part in value.items() if name != "$undecoded"}
        case list() | tuple():
            return [plain(part) for part in value]
    return value


@pytest.mark.parametrize("flink", ["1.20", "2.2"])
def test_a_described_class_becomes_a_pojo_in_all_kinds_of_state(
    spark: SparkSession, tmp_path: Path, flink: Any
) -> None:
    order = "named_struct('id', key, 'name', IF(key % 2 = 0, NULL, concat('n', key)))"
    timed = f"named_struct('timestamp', timestamp_millis(key * 1000), 'value', {order})"
    data = spark.sql(
        f"SELECT key, {order} value, array({order}, {order}) several, map('a', {order}) by, {timed} timed"
        " FROM (SELECT id AS key FROM range(9))"
    )
    kind = Types.KRYO("x.Order", ORDER, flink=flink)
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.LONG())
    keyed = keyed.with_state(ValueStateDescriptor("value", kind))
    keyed = keyed.with_state(ListStateDescriptor("several", kind))
    keyed = keyed.with_state(MapStateDescriptor("by", Types.STRING(), kind))
    keyed = keyed.with_state(ValueStateDescriptor("timed", kind).with_ttl())
    path = written(spark, keyed, tmp_path).path
    old = Savepoint.load(spark, path, uids=[UID], kryo_classes=[ORDER])
    old.migrate(to_pojo=["x.Order"]).write(str(tmp_path / "out"))
    # No description is needed any more.
    new = Savepoint.open(tmp_path / "out", uids=[UID])
    assert table(new) == table(old)
    assert new.verify().is_whole
    stored = {state.name: state.stored for state in new.operator(UID).catalog.states}
    assert isinstance(stored["value"], Pojo)
    assert not any(map(holds_kryo, stored.values()))
    assert new.metadata.version == old.metadata.version
    again = Savepoint.open(tmp_path / "out", uids=[UID], kryo_classes=[ORDER])
    with pytest.raises(MigrationError, match=r"no serializer of Kryo has objects of x\.Order"):
        again.migrate(to_pojo=["x.Order"])


def test_lists_and_maps_of_kryo_get_serializers_of_their_own_and_sets_stay(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(SAMPLES / "objects-1.20.5-hashmap-canonical")
    savepoint = Savepoint.load(spark, path, uids=UIDS)
    assert isinstance(savepoint.operator("baskets").catalog.states[0].stored, Pojo)
    only = savepoint.remove_operator("crates").remove_operator("shapes")
    with_own_serializers(only, frozenset(), collections=True).write(str(tmp_path / "out"))
    before, after = (
        {row["key"]: row["basket"] for row in it.scan("baskets.keyed_state").to_arrow().to_pylist()}
        for it in (savepoint, Savepoint.open(tmp_path / "out", uids=["baskets", "payments"]))
    )
    assert before.keys() == after.keys()
    (state,) = (
        it
        for it in Savepoint.open(tmp_path / "out", uids=["baskets", "payments"])
        .operator("baskets")
        .catalog.states
        if it.name == "basket"
    )
    fields = dict(zip(state.stored.names, state.stored.fields, strict=True))  # type: ignore[attr-defined]
    kept = {name for name, field in fields.items() if "Kryo(" in repr(field)}
    # A set, and fields that are declared as classes that are no List and no Map.
    assert "seen" in kept
    assert {"tags", "counts"}.isdisjoint(kept)
    for key, row in after.items():
        assert row["total"] == before[key]["total"]
        assert row["amounts"] == before[key]["amounts"]


def test_what_can_not_be_is_refused(tmp_path: Path) -> None:
    path = SAMPLES / "objects-1.20.5-hashmap-canonical"
    savepoint = Savepoint.open(path, uids=UIDS)
    with pytest.raises(MigrationError, match=r"shop\.Parcel is not described"):
        savepoint.migrate(to_pojo=["shop.Parcel"])
    for others in (["--target", "2.1"], ["--without-topic", "orders"], ["--allow-empty"]):
        code, output = run("migrate", path, tmp_path / "out", "--to-pojo", "x.Y", *others)
        assert (code, f"go without {others[0]}" in output) == (2, True), output
