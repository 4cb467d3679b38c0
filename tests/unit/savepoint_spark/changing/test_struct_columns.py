"""Values of Arrow after a change of their fields."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.object_classes import CARD
from support.object_samples import opened

from savepoint_database.types.types import TypeInformation, Types
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots.struct_edit import (
    StructEdit,
    added_field,
    dropped_field,
    renamed_field,
    retyped_field,
)
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_spark.changing.struct_columns import edited_values

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


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda one: renamed_field(one, "name", "article"), renamed),
        (lambda one: dropped_field(one, "cents"), lambda value: {"name": value["name"]}),
        (
            lambda one: added_field(one, "big", Types.LONG().snapshot),
            lambda value: {"big": None, **value},
        ),
        (lambda one: retyped_field(one, "cents", Types.LONG().snapshot), dict),
    ],
    ids=["renamed", "dropped", "added", "widened"],
)
def test_fields_change_wherever_they_are(state: str, edit: Any, expected: Any) -> None:
    value_type, rows = STATES[state]
    made: StructEdit = edit(value_type.snapshot)
    wanted = arrow_type(made.snapshot.layout())
    values = pa.array([*rows, *rows], arrow_type(value_type.layout))
    for part, some in ((values, [*rows, *rows]), (values.slice(1, 3), [*rows, *rows][1:4])):
        result = edited_values(part, wanted, made)
        result.validate(full=True)
        assert result.type == wanted
        assert result.to_pylist() == changed(some, expected)


@pytest.mark.parametrize("new_name", ["payes", "a_payer"])
def test_fields_that_undescribed_subclasses_have_do_not_change(new_name: str) -> None:
    """Be it in the header alone, as the order of names stays, or in the values."""
    savepoint = opened("objects-2.2.1-hashmap-canonical")
    renamed = savepoint.writer().rename_field(
        "payments", "payment", "payer", new_name, undescribed_subclasses="bytes"
    )
    with pytest.raises(SchemaChangeError, match="a value is of a subclass of a POJO that no"):
        renamed.plan("/nowhere/out", check=True)
    described = opened("objects-2.2.1-hashmap-canonical", (CARD,)).writer()
    with pytest.raises(SchemaChangeError, match=r"its subclasses are shop\.CardPayment"):
        described.rename_field("payments", "payment", "payer", new_name)
