"""Expressions mean in machine code what they mean in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import compiled

from savepoint_formats.program.kernel.code.machine_code import part

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = (5, -7, 11)
LONGS = st.integers(-(1 << 31), (1 << 31) - 1)


class Sizes(NamedTuple):
    first: int
    second: int


@part
def larger(first: int, second: int) -> tuple[int, bool]:
    return (first, True) if first > second else (second, False)


@part
def _of_job(job: Sizes, factor: int) -> int:
    return job.first * factor - job.second


def quotients(first: int, second: int) -> tuple[int, int, int, int]:
    return first // second, first % second, first // 7, first % -8


def bits(first: int, second: int) -> tuple[int, int, int, int, int]:
    return first & second, first | second, first ^ second, ~first, first >> (second & 31)


def signs(first: int, second: int) -> tuple[int, int, int, int]:
    return -first, abs(first), min(first, second), max(first, second)


def chains(first: int, second: int) -> tuple[bool, bool, bool]:
    return 0 <= first <= second, first < second != 3, not first < second <= 1000


def choices(first: int, second: int) -> tuple[int, int, int, bool]:
    result, is_first = larger(first, second)
    either = first and second
    return result, either, first or second, is_first


def guarded(first: int, second: int) -> int:
    # Python divides by zero in none of them.
    if second != 0 and first // second > 2:
        return 1
    return first % second if second else -1


def tables(first: int, second: int) -> tuple[int, int]:
    return TABLE[abs(first) % 3], _of_job(Sizes(first, second), factor=3)


def numbers(first: int, second: int) -> tuple[int, bool]:
    return int(first < second) + (first == second), bool(first)


@pytest.mark.parametrize(
    "function", [quotients, bits, signs, chains, choices, guarded, tables, numbers]
)
def test_machine_code_is_python(function: Callable[[int, int], Any]) -> None:
    code = compiled(function, [0, 0])

    @given(LONGS, LONGS | st.integers(-9, 9))
    def compare(first: int, second: int) -> None:
        if second or function is not quotients:
            assert code(first, second) == function(first, second)

    compare()


def test_a_flag_is_a_bool() -> None:
    code = compiled(numbers, [0, 0])
    assert repr(code(1, 2)) == "(1, True)"


def power(first: int, second: int) -> int:
    result: int = first**second
    return result


def text(first: int, second: int) -> int:
    return first + second + len("text")


@pytest.mark.parametrize(("function", "told"), [(power, r"first \*\* second"), (text, "text")])
def test_what_is_no_python_of_the_kernel_is_refused(function: Any, told: str) -> None:
    with pytest.raises(NotImplementedError, match=told):
        compiled(function, [0, 0])
