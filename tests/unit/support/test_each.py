"""A test over many values as one test."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from support.each import each


def test_every_value_is_tried_and_every_failure_is_shown() -> None:
    tried: list[tuple[int, str]] = []

    @each("number", range(5), ids=lambda number: f"number {number}")
    def test(number: int, folder: str) -> None:
        tried.append((number, folder))
        if number == 1:
            pytest.skip("one")
        if number == 2:
            with pytest.raises(ValueError, match="two"):
                pass
        assert number != 3

    with pytest.raises(BaseExceptionGroup, match="2 of 5 values fail") as raised:
        test(folder="a")
    assert tried == [(number, "a") for number in range(5)]
    assert [one.__notes__ for one in raised.value.exceptions] == [
        ["with number 2"],
        ["with number 3"],
    ]


def test_several_arguments_are_taken_from_each_row() -> None:
    seen: list[Any] = []

    @each(("left", "right"), [(1, 2), (3, 4)], ids=["a", "b"])
    def test(left: int, right: int) -> None:
        seen.append(left + right)

    test()
    assert seen == [3, 7]


@pytest.mark.parametrize("values", [[], [1, 2]])
def test_it_is_skipped_if_no_value_is_tested(values: list[int]) -> None:
    @each("value", values)
    def test(value: int) -> None:
        pytest.skip(f"not {value}")

    with pytest.raises(pytest.skip.Exception, match="not 1" if values else "no values"):
        test()


def test_what_pytest_sees_are_the_other_arguments() -> None:
    @each("value", [1])
    def test(value: int, tmp_path: str) -> None:
        """Tests."""

    assert list(inspect.signature(test).parameters) == ["tmp_path"]
