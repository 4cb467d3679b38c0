"""Statements mean in machine code what they mean in Python."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import compiled

from savepoint_formats.program.kernel.code.machine_code import part


def loops(count: int, limit: int) -> tuple[int, int, int]:
    total = odd = 0
    for number in range(count):
        if number % 2 == 0:
            continue
        odd += number
        if odd > limit:
            break
    for number in range(3, count):
        for inner in range(number, 0, -2):
            total += inner * number
    left = count
    while left > 0 and total > limit:
        left -= 1
        total -= left
    return total, odd, left


def late(count: int, limit: int) -> int:
    number = 0
    for number in range(2, count, 3):  # noqa: B007 - its last value counts
        pass
    if number > limit:
        result = number
    elif number == limit:
        return -1
    else:
        result = -number
    return result


@part
def _doubled(number: int, factor: int | None) -> int:
    if factor is None:
        return 2 * number
    if factor is not None and number > 0:
        number *= factor
    return number


@part
def _raised(number: int, more: int | None) -> int:
    if more is not None and number > 0:
        number += more
    if more is None or number > more:
        return number
    return more


def optional(count: int, limit: int) -> tuple[int, int, int, int]:
    least, most = _raised(count, None), _raised(count, limit)
    return _doubled(count, None), _doubled(count, limit), least, most


def nothing(count: int, limit: int) -> None:
    if count > limit:
        return
    count += 1


@pytest.mark.parametrize("function", [loops, late, optional, nothing])
def test_machine_code_is_python(function: Any) -> None:
    code = compiled(function, [0, 0])

    @given(st.integers(-3, 40), st.integers(-100, 100))
    def compare(count: int, limit: int) -> None:
        assert code(count, limit) == function(count, limit)

    compare()


def attempts(count: int, limit: int) -> int:
    try:
        return count
    finally:
        limit += 1


def test_what_is_no_statement_of_the_kernel_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="try"):
        compiled(attempts, [0, 0])
