"""Values of Arrow after a change of their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.object_classes import CARD
from support.object_samples import opened

from savepoint_database.types.types import TypeInformation, Types
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type
from savepoint_formats.snapshots.struct_edit import (
    StructEdit,
    added_field,
    dropped_field,
    renamed_field,
    retyped_field,
)
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_spark.changing.struct_columns import edited_values
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_formats.snapshots import TypeSerializerSnapshot

ITEM = Types.POJO("a.Item", {"cents": Types.INT(), "name": Types.STRING()})
CENTS = {"cents": 5, "name": "tea"}

STATES: dict[str, tuple[TypeInformation, list[Any]]] = {
    "a value": (ITEM, [CENTS, None, {"cents": None, "name": None}]),
    "a list": (Types.LIST(ITEM), [[CENTS, CENTS], [], None, [None, CENTS]]),
    "a map": (Types.MAP(Types.STRING(), ITEM), [[("x", CENTS), ("y", None)], None, []]),
}


def renamed(value: dict[str, Any]) -> dict[str, Any]:
    return {"article": value["name"], "cents": value["cents"]}


def changed(values: Any, change: Any) -> Any:
    """Values with a change of the dicts in them."""
    match values:
        case dict():
            return change(values)
        case list():
            return [changed(value, change) for value in values]
        case (key, value):
            return key, changed(value, change)
    return values


CHANGES: dict[str, tuple[Callable[[TypeSerializerSnapshot, str], StructEdit], Any]] = {
    "renamed": (lambda one, to: renamed_field(one, f"{to}name", "article"), renamed),
    "dropped": (
        lambda one, to: dropped_field(one, f"{to}cents"),
        lambda value: {"name": value["name"]},
    ),
    "added": (
        lambda one, to: added_field(one, f"{to}big", Types.LONG().snapshot),
        lambda value: {"big": None, **value},
    ),
    "widened": (lambda one, to: retyped_field(one, f"{to}cents", Types.LONG().snapshot), dict),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("change", CHANGES)
def test_fields_change_wherever_they_are(state: str, change: str) -> None:
    value_type, rows = STATES[state]
    edit, expected = CHANGES[change]
    made = edit(value_type.snapshot, "")
    wanted = arrow_type(made.snapshot.layout())
    values = pa.array([*rows, *rows], arrow_type(value_type.layout))
    for part, some in ((values, [*rows, *rows]), (values.slice(1, 3), [*rows, *rows][1:4])):
        result = edited_values(part, wanted, made)
        result.validate(full=True)
        assert result.type == wanted
        assert result.to_pylist() == changed(some, expected)


@dataclass(frozen=True)
class Around:
    """A type around the item, the path to it, and a value of the type around a value of the item."""

    type: TypeInformation
    path: str
    value: Callable[[Any], Any]


def _nullable_keys() -> TypeInformation:
    """A map of a POJO since Flink 2, whose keys are null behind a flag."""
    text = constructed.nullable(constructed.string())
    return TypeInformation(constructed.map_of(text, ITEM.snapshot), "a map")


CONTAINERS = {
    "a tuple": Around(Types.TUPLE([Types.LONG(), ITEM]), "f1.", lambda one: {"f0": 1, "f1": one}),
    "a row": Around(
        Types.ROW([Types.LONG(), ITEM]), "f1.", lambda one: {"f0": 1, "f1": one, "$row_kind": "+I"}
    ),
    "an array": Around(Types.OBJECT_ARRAY(ITEM, "a.Item"), "", lambda one: [None, one]),
    "a list of lists": Around(Types.LIST(Types.LIST(ITEM)), "", lambda one: [[], [one]]),
    "either": Around(
        Types.EITHER(Types.LONG(), ITEM), "right.", lambda one: {"left": None, "right": one}
    ),
    "a map whose keys can be null": Around(
        _nullable_keys(), "", lambda one: [{"key": None, "value": one}]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_fields_change_in_containers_of_a_pojo(container: str, change: str) -> None:
    around, (edit, expected) = CONTAINERS[container], CHANGES[change]
    whole = Types.POJO("a.Outer", {"before": Types.INT(), "held": around.type})
    made = edit(whole.snapshot, f"held.{around.path}")
    kind, wanted = arrow_type(whole.layout), arrow_type(made.snapshot.layout())
    rows = [{"before": 1, "held": around.value(one)} for one in (CENTS, CENTS | {"name": None})]
    values = pa.array([*rows, None], kind)
    result = edited_values(values, wanted, made)
    result.validate(full=True)
    held = [around.value(expected(one)) for one in (CENTS, CENTS | {"name": None})]
    assert result == pa.array([*({"before": 1, "held": one} for one in held), None], wanted)


def test_columns_change_in_rows_that_are_keys_of_maps() -> None:
    """So a join keeps rows with their numbers."""
    row = row_data([parse_logical_type("INT"), parse_logical_type("STRING")])
    stored = constructed.map_of(row, Types.INT().snapshot)
    wider, added = (
        edit(stored, name, row_data([parse_logical_type("BIGINT")]))
        for edit, name in ((retyped_field, "f0"), (added_field, "f2"))
    )
    kept = [{"f0": number, "f1": "a", "$row_kind": "+I"} for number in range(3)]
    rows = [[(kept[0], 5), (kept[1], 6)], None, [], [(kept[2], 7)]]
    for made, more in ((wider, {}), (added, {"f2": None})):
        wanted = arrow_type(made.snapshot.layout())
        values = pa.array(rows, arrow_type(stored.layout())).slice(1)
        result = edited_values(values, wanted, made)
        result.validate(full=True)
        assert result == pa.array([None, [], [(kept[2] | more, 7)]], wanted)


def test_fields_change_in_all_containers_that_flink_wrote(cases: Path) -> None:
    writer = Savepoint.open(str(cases / "09-fields-of-nested-pojos")).writer()
    paths = {"outer": ("parts.", "byName.", "arr."), "pairs": ("f1.",), "lists": ("",)}
    for state, path in [(name, path) for name in paths for path in paths[name]]:
        writer = writer.widen_field("fn", state, f"{path}weight", Types.LONG())
        writer = writer.rename_field("fn", state, f"{path}note", "a_note")
        writer = writer.add_field("fn", state, f"{path}price", Types.STRING())
    # Reads and encodes all values, and raises what a write would raise.
    assert writer.plan("/nowhere/out", check=True).operators


@pytest.mark.parametrize("new_name", ["payes", "a_payer"])
def test_fields_that_undescribed_subclasses_have_do_not_change(new_name: str) -> None:
    """Be it in the header alone, as the order of names stays, or in the values."""
    savepoint = opened("objects-2.2.1-hashmap-canonical")
    shown = savepoint.writer().with_forms(undescribed_subclasses="bytes")
    renamed = shown.rename_field("payments", "payment", "payer", new_name)
    with pytest.raises(SchemaChangeError, match="a value is of a subclass of a POJO that no"):
        renamed.plan("/nowhere/out", check=True)
    described = opened("objects-2.2.1-hashmap-canonical", (CARD,)).writer()
    with pytest.raises(SchemaChangeError, match=r"its subclasses are shop\.CardPayment"):
        described.rename_field("payments", "payment", "payer", new_name)
