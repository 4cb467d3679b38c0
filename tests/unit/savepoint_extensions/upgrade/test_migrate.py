"""The plan of ``migrate``, and what it refuses, before any job runs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support import object_classes
from support.commands import lines, run
from support.kryo_operator_state import UID, savepoint_of
from support.object_classes import CARD
from support.object_samples import by_id, opened
from support.sample_rows import SAMPLES
from support.slow_cases import slow_unless

from savepoint_database.types.class_library import described_classes
from savepoint_formats.values.kryo.descriptions import kryo_classes_json
from state_processor import (
    MigrationError,
    Savepoint,
    SchemaChangeError,
    kryo_class,
)

if TYPE_CHECKING:
    from pathlib import Path

    from state_processor import KryoClass

OLD = [
    f"objects-1.20.5-{kind}"
    for kind in ("hashmap-canonical", "hashmap-native", "rocksdb-canonical", "rocksdb-native")
]
CLASSES = (*object_classes.CLASSES, CARD)
TAGS = "java.util.List"
TEXT = "java.lang.String"


def described(tags: str) -> tuple[KryoClass, ...]:
    """A description of one of a basket's collections; the others tell what they are."""
    return (*CLASSES, kryo_class("shop.Basket", {"tags": tags}))


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("sample", OLD)
def test_only_what_kryo_wrote_is_written_anew(sample: str) -> None:
    plan = opened(sample, CLASSES).migrate("2.2").plan("/nowhere/out", check=True)
    changed = {one.operator for one in plan.operators if one.action == "changed"}
    # The files of RocksDB describe the card that values of payments are, those of the heap do not.
    assert changed - {"payments"} == {"baskets", "crates", "shapes"}
    assert ("payments" in changed) == ("hashmap" in sample)
    assert plan.metadata_version == 5


def test_a_savepoint_without_kryo_is_copied_for_the_new_release() -> None:
    savepoint = Savepoint.open(str(SAMPLES / "currency-1.20.5-rocksdb-native"))
    writer = savepoint.migrate()
    assert not writer.needs_session
    assert writer.plan("/nowhere/out").metadata_version == 5


def test_an_object_of_an_unknown_class_is_refused() -> None:
    writer = opened(OLD[0], (CARD,)).migrate()
    with pytest.raises(MigrationError, match=r"describe the class, or leave the state") as refused:
        writer.plan("/nowhere/out", check=True)
    for state, name in (("crate", "Parcel"), ("shape", "Shape$Circle"), ("shape", "Shape$Square")):
        told = rf"'{state}': \d+ values with an object of shop\.{re.escape(name)},"
        assert re.search(told, str(refused.value))


def test_states_that_are_left_out_need_no_description() -> None:
    writer = opened(OLD[0]).remove_state("shapes", "shape").remove_state("crates", "crate")
    with pytest.raises(
        MigrationError, match=r"state 'payment': it has values of shop.CardPayment, a subclass"
    ):
        writer.migrate()
    writer = writer.remove_state("payments", "payment")
    plan = writer.migrate().plan("/nowhere/out", check=True)
    changed = {one.operator for one in plan.operators if one.action == "changed"}
    assert changed == {"baskets", "crates", "payments", "shapes"}


@pytest.mark.parametrize("tags", ["java.util.List<java.lang.String>", TAGS])
def test_a_description_says_what_is_in_a_collection(tags: str) -> None:
    opened(OLD[0], described(tags)).migrate().plan("/nowhere/out", check=True)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ("java.util.Set<java.lang.String>", r"shop.Basket.tags is described as java.util.Set"),
        ("java.util.List<shop.Parcel>", r"state 'basket': objects of shop.Parcel: say in its"),
        ("java.util.List<shop.Other>", r"objects of shop.Other: describe the class"),
    ],
)
def test_a_collection_that_cannot_be_written_is_refused_at_once(tags: str, message: str) -> None:
    with pytest.raises(MigrationError, match=message):
        opened(OLD[0], described(tags)).migrate()


def test_all_that_is_refused_is_named_at_once() -> None:
    basket = kryo_class("shop.Basket", {"tags": "java.util.List<shop.Other>"})
    classes = (*object_classes.CLASSES, basket, kryo_class("shop.Code"))
    pojo = kryo_class("shop.CardPayment", {"card": "shop.Code"}, superclass="shop.Payment")
    with pytest.raises(MigrationError, match=r"operator payments: .*say in its") as refused:
        opened("objects-1.20.5-hashmap-native", (*classes, pojo)).migrate()
    problem = "operator baskets: state 'basket': objects of shop.Other: describe the class"
    assert problem in refused.value.problems


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    "sample", ["objects-1.20.5-hashmap-native", "objects-1.20.5-hashmap-canonical"]
)
def test_a_subclass_that_only_a_description_knows_comes_along(sample: str) -> None:
    savepoint = opened(sample, CLASSES)
    rows = by_id(savepoint, "payments.keyed_state")
    assert rows == by_id(opened("objects-1.20.5-rocksdb-native"), "payments.keyed_state")
    plan = savepoint.migrate().plan("/nowhere/out", check=True)
    assert "payments" in {one.operator for one in plan.operators if one.action == "changed"}


def test_an_element_of_another_class_than_the_description_is_refused() -> None:
    writer = opened(OLD[0], described("java.util.List<java.lang.Long>")).migrate()
    with pytest.raises(MigrationError, match=r"java.lang.String where java.lang.Long is expected"):
        writer.plan("/nowhere/out", check=True)


LOST = b"\1\0shop.Los" + bytes([ord("t") | 0x80]) + b"\1"
"""An object of Kryo, of the class ``shop.Lost``."""


def test_elements_of_operator_state_are_tried(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path / "old", [LOST], {})
    with pytest.raises(MigrationError, match=r"'objects': 1 values .* shop\.Lost.* buffer"):
        Savepoint.open(path, uids=[UID]).migrate().plan("/nowhere/out", check=True)
    renamed = Savepoint.open(path, uids=[UID]).rename_class("shop.Lost", "shop.Found")
    with pytest.raises(SchemaChangeError, match=r"shop\.Lost cannot be renamed"):
        renamed.plan("/nowhere/out", check=True)
    lost = kryo_class("shop.Lost")
    known = Savepoint.open(path, uids=[UID], kryo_classes=[lost])
    known.migrate(rename_classes={"shop.Lost": "shop.Found"}).plan("/nowhere/out", check=True)


def test_what_flink_2_does_not_run_is_left_out_by_the_user(tmp_path: Path) -> None:
    name = "topic-partition-offset-states"
    path = savepoint_of(tmp_path / "old", [], {}, name)
    with pytest.raises(
        MigrationError, match=rf"state '{name}': it is the state of FlinkKafkaConsumer"
    ):
        Savepoint.open(path, uids=[UID]).migrate(sources="keep")
    Savepoint.open(path, uids=[UID]).remove_state(UID, name).migrate()


def test_names_change_in_the_same_write() -> None:
    migrated = opened(OLD[0], CLASSES).migrate("2.2", rename_classes={"shop.Basket": "shop.Cart"})
    renamed = migrated.rename_state("shapes", "memo", "note").remove_state("shapes", "id")
    plan = renamed.plan("/nowhere/out", check=True)
    assert {"baskets", "shapes"} <= {one.operator for one in plan.operators}
    change = renamed.operator("shapes").change
    assert change is not None
    assert change.state("note").name == "memo"


def test_fields_change_behind_a_migration_and_not_before(tmp_path: Path) -> None:
    changed = opened(OLD[0], CLASSES).drop_field("baskets", "basket", "tags")
    with pytest.raises(
        MigrationError, match=r"gives this state other values.*: make this one before"
    ):
        changed.migrate()
    behind = opened(OLD[0], CLASSES).migrate().drop_field("baskets", "basket", "tags")
    planned = behind.plan(tmp_path / "new", check=True)
    assert "baskets" in {operator.operator for operator in planned.operators}


@pytest.mark.parametrize(
    ("sample", "target", "message"),
    [
        (OLD[0], "1.20", "no release '1.20' to migrate to, only 2.0"),
        ("objects-2.2.1-hashmap-canonical", "2.2", "Flink 2.x has written this savepoint"),
    ],
)
def test_other_migrations_are_wrong_calls(sample: str, target: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        opened(sample).migrate(target)


@pytest.mark.parametrize("sample", slow_unless({OLD[0], OLD[-1]}.__contains__, OLD))
def test_classes_that_have_to_be_described_are_named(sample: str) -> None:
    unknown = {one.class_name: one.superclass for one in opened(sample).classes_to_describe()}
    subclass = {CARD.class_name: CARD.superclass} if "hashmap" in sample else {}
    of_kryo = {one.class_name: "" for one in object_classes.CLASSES}
    assert unknown == dict(sorted((of_kryo | subclass).items()))
    assert opened(sample, CLASSES).classes_to_describe() == ()


def test_the_command_prints_classes_to_fill_in(tmp_path: Path) -> None:
    uids = [part for uid in ("baskets", "crates", "payments", "shapes") for part in ("--uid", uid)]
    code, output = run("classes", SAMPLES / OLD[0], *uids)
    assert code == 0
    unknown = described_classes(output, "printed")
    assert [one.class_name for one in unknown] == sorted(one.class_name for one in CLASSES)
    assert {one.fields for one in unknown} == {()}
    card = next(one for one in unknown if one.class_name == CARD.class_name)
    assert (card.is_pojo, card.superclass) == (True, CARD.superclass)
    assert "# crates/crate: 30 values\n- class: shop.Parcel\n" in output
    described = tmp_path / "classes.json"
    parcel, *others = object_classes.CLASSES
    without = kryo_class(CARD.class_name, {"card": TEXT})
    described.write_text(kryo_classes_json([parcel, without]), encoding="utf-8")
    code, output = run("classes", SAMPLES / OLD[0], *uids, "--kryo-classes", described)
    assert code == 0
    first, second, *left = described_classes(output, "printed")
    assert (first, second) == (parcel, without)
    assert [one.class_name for one in left] == [one.class_name for one in others]
    assert "# payments/payment: 13 values\n# extends: shop.Payment\n- class: shop.Card" in output
    assert opened(OLD[0], described).kryo.classes == (parcel, without)


def test_the_command_takes_classes_and_leaves_states_out(tmp_path: Path) -> None:
    classes = tmp_path / "classes.json"
    parcel = {"id": "long", "content": "java.lang.String"}
    described = [{"class": "shop.Parcel", "fields": parcel, "final": True}]
    described += json.loads(kryo_classes_json([CARD]))
    classes.write_text(json.dumps(described), encoding="utf-8")
    (plan,) = lines(
        "migrate", SAMPLES / OLD[0], tmp_path / "out", "--dry-run",
        "--uid", "shapes", "--skip-state", "shapes/shape", "--kryo-classes", classes,
        "--rename-class", "shop.Parcel=shop.Packet",
    )  # fmt: skip
    assert plan["metadata_version"] == 5
    assert not (tmp_path / "out").exists()
    file = tmp_path / "changes.yaml"
    code, entry = run(
        "migrate", SAMPLES / OLD[0], tmp_path / "out", "--skip-state", "shapes/shape",
        "--rename-class", "shop.Parcel=shop.Packet", "--print-change",
    )  # fmt: skip
    assert code == 0, entry
    file.write_text(entry)
    (of_file,) = lines(
        "apply", SAMPLES / OLD[0], file, tmp_path / "out", "--dry-run",
        "--uid", "shapes", "--kryo-classes", classes,
    )  # fmt: skip
    (row,) = of_file.pop("changes")
    assert (row["change"], of_file) == ("migrate", plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--skip-state", "shape"], "--skip-state shape: expected OPERATOR/STATE"),
        (["--rename-class", "shop.Shape"], "'--rename-class': 'shop.Shape', expected OLD=NEW"),
        (["--rename-class", "shop.Shap=a.B"], "no serializer or value names class shop.Shap;"),
        (["--skip-state", "shapes/colour"], "has no state 'colour'"),
        (["--target", "1.20"], "'1.20' is not one of"),
    ],
)
def test_a_wrong_call_of_the_command(options: list[str], message: str, tmp_path: Path) -> None:
    sample = SAMPLES / OLD[2]
    code, output = run("migrate", sample, tmp_path / "out", "--uid", "shapes", *options)
    assert code == 2
    assert message in output
