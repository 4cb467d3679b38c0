"""``classes`` prints what ``migrate`` asks for: POJOs with collections of unknown types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.hand_made import canonical_base, header, meta_info, savepoint_of
from support.object_samples import opened
from support.sample_rows import SAMPLES

from savepoint_database.types.class_library import described_classes
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import MigrationError
from savepoint_formats.state_files.header import VALUE_SERIALIZER
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = ("counts", "seen", "tags")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A savepoint of Flink 1 with a state of baskets, of which none is there."""
    types = StoredTypes.of(opened("objects-1.20.5-hashmap-canonical").operator("baskets"))
    info = next(info for info in types.states if info.name == "basket")
    serializer = info.serializer(VALUE_SERIALIZER)
    assert serializer is not None
    view = DataOutputView()
    serializer.write(view)
    state = meta_info("basket", "VALUE", view.to_bytes())
    return savepoint_of(canonical_base(header(state), []), tmp_path)


def test_a_class_around_a_collection_is_to_be_described(path: str) -> None:
    savepoint = Savepoint.open(path, uids=["a"])
    with pytest.raises(MigrationError, match=r"shop\.Basket\.tags: describe the class around it"):
        savepoint.migrate()
    (basket,) = savepoint.classes_to_describe()
    assert (basket.class_name, dict(basket.values), basket.is_pojo) == ("shop.Basket", {}, True)
    assert basket.collections == tuple(f"a: state 'basket': shop.Basket.{name}" for name in FIELDS)


def test_the_command_prints_it_to_fill_in(path: str) -> None:
    code, output = run("classes", path, "--uid", "a")
    assert code == 0
    assert (
        "# a: state 'basket': shop.Basket.tags: the types of its elements are unknown\n" in output
    )
    (basket,) = described_classes(output, "printed")
    assert (basket.class_name, basket.is_pojo, basket.fields) == ("shop.Basket", True, ())


def test_sources_fill_it_in_so_that_it_migrates(path: str, tmp_path: Path) -> None:
    code, output = run("classes", path, "--uid", "a", "--source", SAMPLES / "job")
    assert code == 0
    (basket,) = described_classes(output, "printed")
    assert (basket.class_name, basket.is_pojo) == ("shop.Basket", True)
    described = tmp_path / "classes.yaml"
    described.write_text(output, encoding="utf-8")
    savepoint = Savepoint.open(path, uids=["a"], kryo_classes=described)
    assert savepoint.classes_to_describe() == ()
    plan = savepoint.migrate().plan(str(tmp_path / "new"), check=True)
    assert [row.action for row in plan.operators] == ["changed"]


def test_what_values_tell_needs_no_description() -> None:
    unknown = opened("objects-1.20.5-hashmap-canonical").classes_to_describe()
    assert "shop.Basket" not in {named.class_name for named in unknown}
    assert not any(named.collections for named in unknown)
