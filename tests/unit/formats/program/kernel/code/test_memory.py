"""Memory is the same for Python and for machine code, and so is what numbers become in it."""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.compiled import compiled

from savepoint_formats.program.kernel.code.memory import LOADS, STORES, Access, copy, wrapped

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.code.library import Code

LOADED = [*(access.function for access in (*LOADS, *STORES)), copy, wrapped]
NUMBERS = [0, 1, -1, 0x7F, 0x80, 0x0102030405060708, -0x0102030405060708, (1 << 63) - 1, -(1 << 63)]


def name(access: Access) -> str:
    end = "big" if access.is_big else "little"
    return f"{access.bits}-{end}-{'signed' if access.is_signed else 'unsigned'}"


function: Any = None
"""The function of memory that is called, in each copy of the three below."""


def call_one(first: int) -> int:
    result: int = function(first)
    return result


def call_two(first: int, second: int) -> None:
    function(first, second)


def call_three(first: int, second: int, third: int) -> None:
    function(first, second, third)


@cache
def machine(called: Any) -> Code:
    """Calls a function of memory out of machine code."""
    count = len(inspect.signature(called).parameters)
    caller = (call_one, call_two, call_three)[count - 1]
    own = FunctionType(caller.__code__, {**globals(), "function": called})
    own.__annotations__, own.__module__ = caller.__annotations__, __name__
    return compiled(own, [0] * count)


@pytest.mark.parametrize("load", LOADS, ids=name)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_load(load: Access, number: int) -> None:
    data = np.frombuffer(b"?" + number.to_bytes(8, "big", signed=True), np.uint8)
    place = data.ctypes.data + 1
    size = load.bits // 8
    order = "big" if load.is_big else "little"
    expected = int.from_bytes(data[1 : 1 + size].tobytes(), order, signed=load.is_signed)  # type: ignore[arg-type]
    assert load.function(place) == machine(load.function)(place) == expected


@pytest.mark.parametrize("store", STORES, ids=name)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_store_takes_the_lower_bits(store: Access, number: int) -> None:
    size = store.bits // 8
    order = "big" if store.is_big else "little"
    lower = (number & (1 << store.bits) - 1).to_bytes(size, order)  # type: ignore[arg-type]
    for run in (store.function, machine(store.function)):
        data = np.full(10, 0x2E, np.uint8)
        run(data.ctypes.data + 1, number)
        assert data.tobytes() == b"." + lower + b"." * (9 - size)


def test_a_copy() -> None:
    for run in (copy, machine(copy)):
        source, target = np.arange(5, dtype=np.uint8), np.zeros(5, np.uint8)
        run(target.ctypes.data + 1, source.ctypes.data + 1, 3)
        assert target.tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("factor", [1, 31, -0x61C8864680B583EB])
def test_a_product_wraps_around(number: int, factor: int) -> None:
    product = machine(wrapped)(number) and wrapped(number * factor)
    with np.errstate(over="ignore"):
        assert product == int(np.int64(number) * np.int64(factor))
