"""The order of states in a header, which is that of the columns of a table."""

from __future__ import annotations

import pytest

from savepoint_formats.snapshots import constructed
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.keyed_rows import NewState
from state_processor import Types, ValueStateDescriptor

BEFORE = ("a", "b", "c", "d")


def plan_of(names: str, numbered: int = 0) -> KeyedPlan:
    """A plan of value states."""
    infos = (
        NewState.of(ValueStateDescriptor(name, Types.LONG()), name, None).info for name in names
    )
    return KeyedPlan(constructed.void_namespace(), tuple(infos), (), numbered=numbered)


@pytest.mark.parametrize(
    ("new", "numbered", "kept", "after"),
    [
        ("c", 0, "abd", "abcd"),
        ("ca", 0, "bd", "abcd"),
        ("dcba", 0, "", "abcd"),
        ("zcy", 0, "abd", "abcdzy"),
        ("c", 0, "bd", "bcd"),
        ("zc", 2, "abd", "zcabd"),
        ("cza", 1, "bd", "cabdz"),
    ],
)
def test_states_keep_their_order_unless_they_are_numbered(
    new: str, numbered: int, kept: str, after: str
) -> None:
    beside = plan_of(new, numbered).beside(plan_of(kept).states, (), BEFORE)
    assert "".join(info.name for info in beside.states) == after
