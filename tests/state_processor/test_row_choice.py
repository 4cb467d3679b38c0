"""What readers of keyed state are asked for, and what of it they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from state_processor.row_choice import RowChoice


def test_a_single_key_is_no_list_of_keys() -> None:
    with pytest.raises(TypeError, match=r"keys are 'abc', expected a list: keys=\['abc'\]"):
        RowChoice(keys="abc")
    with pytest.raises(TypeError, match="columns are 'total'"):
        RowChoice(columns="total")


@pytest.mark.parametrize(
    "asked", [{"columns": ["a"]}, {"flat": "a"}, {"with_key_group": True}, {"with_times": True}]
)
def test_what_a_function_does_not_take_is_named(asked: dict[str, Any]) -> None:
    (name,) = asked
    with pytest.raises(ValueError, match=rf"no arguments but 'schema' and 'keys'; leave {name} to"):
        RowChoice(**asked).keys_of_function()


def test_a_function_takes_keys() -> None:
    assert RowChoice().keys_of_function() is None
    assert RowChoice(keys=[1, 2]).keys_of_function() == (1, 2)
    assert RowChoice(keys=[]).keys_of_function() == ()


def test_a_table_takes_everything() -> None:
    assert RowChoice(["a"], [1], "a", True, True).options() == {
        "columns": ["a"],
        "keys": [1],
        "flat": "a",
        "withKeyGroup": True,
        "withTimes": True,
    }
