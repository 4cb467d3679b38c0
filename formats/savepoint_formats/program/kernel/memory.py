"""Bare memory, as the kernel sees it: addresses are integers, numbers lie at any of them.

Numba's arrays would be checked for negative indexes at every access and counted at every call;
an address is neither. Nothing here checks anything: who reads has compared the address with the
end of the bytes before, who writes has compared it with the end of the buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from savepoint_formats.program.kernel.revision import with_revision

if TYPE_CHECKING:
    from collections.abc import Callable

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

_BYTE = ir.IntType(8)
_LONG = ir.IntType(64)


def part(function: FunctionT) -> FunctionT:
    """Compiles a function of the kernel into whoever calls it."""
    return cast("FunctionT", njit(nogil=True, error_model="numpy")(function))


def entry(function: FunctionT) -> FunctionT:
    """Compiles a function that Python calls; the machine code is kept for other processes.

    It lies beside the sources or in the user's cache folder. Where neither can be written, every
    process compiles for itself.
    """
    try:
        keep = njit(nogil=True, error_model="numpy", cache=True)
        return cast("FunctionT", keep(with_revision(function)))
    except RuntimeError:
        return part(function)


def _load(bits: int, *, is_big: bool, is_signed: bool = True) -> Callable[[int], int]:
    @intrinsic
    def load(_: Any, address: Any) -> Any:  # noqa: ARG001 - names the argument
        def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            number = builder.load(pointer, align=1)
            number = builder.bswap(number) if is_big else number
            if bits == _LONG.width:
                return number
            return (builder.sext if is_signed else builder.zext)(number, _LONG)

        return types.int64(types.int64), code

    return cast("Callable[[int], int]", load)


def _store(bits: int, *, is_big: bool = False) -> Callable[[int, int], None]:
    @intrinsic
    def store(_: Any, address: Any, number: Any) -> Any:  # noqa: ARG001 - names the arguments
        def code(context: Any, builder: Any, __: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            number = arguments[1]
            if bits < _LONG.width:
                number = builder.trunc(number, ir.IntType(bits))
            number = builder.bswap(number) if is_big else number
            builder.store(number, pointer, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), code

    return cast("Callable[[int, int], None]", store)


def _copy() -> Callable[[int, int, int], None]:
    memcpy: Any = cgutils.raw_memcpy

    @intrinsic
    def move(_: Any, target: Any, source: Any, size: Any) -> Any:  # noqa: ARG001 - names them
        def code(context: Any, builder: Any, __: Any, arguments: Any) -> Any:
            target_pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
            source_pointer = builder.inttoptr(arguments[1], _BYTE.as_pointer())
            memcpy(builder, target_pointer, source_pointer, arguments[2], 1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), code

    return cast("Callable[[int, int, int], None]", move)


load_byte = _load(8, is_big=False, is_signed=False)
load_signed_byte = _load(8, is_big=False)

# As Java writes them.
load_unsigned_short = _load(16, is_big=True, is_signed=False)
load_short = _load(16, is_big=True)
load_int = _load(32, is_big=True)
load_long = _load(64, is_big=True)

# As this machine keeps them, and as binary rows have them: little endian.
load_native_short = _load(16, is_big=False)
load_native_unsigned_short = _load(16, is_big=False, is_signed=False)
load_native_int = _load(32, is_big=False)
load_native_unsigned_int = _load(32, is_big=False, is_signed=False)
load_native_long = _load(64, is_big=False)

copy = _copy()
"""Target, source and size of bytes that do not overlap."""

store_byte = _store(8)
store_short = _store(16)
store_int = _store(32)
store_long = _store(64)

# As Java reads them.
store_big_short = _store(16, is_big=True)
store_big_int = _store(32, is_big=True)
store_big_long = _store(64, is_big=True)


@part
def store_zeros(address: int, size: int) -> None:
    """A zero of 1, 2, 4, 8 or 16 bytes."""
    if size == 1:
        store_byte(address, 0)
    elif size == 2:
        store_short(address, 0)
    elif size == 4:
        store_int(address, 0)
    else:
        for place in range(0, size, 8):
            store_long(address + place, 0)


@part
def clear(address: int, size: int) -> int:
    """Zeros, so many bytes of them; where they end."""
    done = 0
    while size - done >= 8:
        store_long(address + done, 0)
        done += 8
    while done < size:
        store_byte(address + done, 0)
        done += 1
    return address + size
