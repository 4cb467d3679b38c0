"""Bare memory: addresses are integers, and numbers lie at any address.

Arrays check for negative indexes at every access, and count references at every call. Addresses
need neither. Nothing is checked here: before a call, readers have compared the address with the end
of the bytes, and writers with the end of the buffer.

Python runs these functions; ``compiler`` replaces each by an instruction.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.program.kernel.code.machine_code import part

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGN, _MODULUS = 1 << 63, 1 << 64


@dataclass(frozen=True, slots=True)
class Access:
    """A function that loads or stores a number; ``is_big`` if its highest byte comes first."""

    function: Callable[..., Any]
    bits: int
    is_big: bool
    is_signed: bool = True


LOADS: list[Access] = []
STORES: list[Access] = []


def _load(bits: int, *, is_big: bool, is_signed: bool = True) -> Callable[[int], int]:
    at = _kind(bits, is_big=is_big, is_signed=is_signed).from_address

    def load(address: int) -> int:
        return int(at(int(address)).value)

    LOADS.append(Access(load, bits, is_big, is_signed))
    return load


def _store(bits: int, *, is_big: bool = False) -> Callable[[int, int], None]:
    at = _kind(bits, is_big=is_big, is_signed=True).from_address

    def store(address: int, number: int) -> None:
        at(int(address)).value = int(number)  # its lower bits

    STORES.append(Access(store, bits, is_big))
    return store


def _kind(bits: int, *, is_big: bool, is_signed: bool) -> Any:
    """The number's type in C."""
    kind = getattr(ctypes, f"c_{'' if is_signed else 'u'}int{bits}")
    return kind.__ctype_be__ if is_big else kind.__ctype_le__


def copy(target: int, source: int, size: int) -> None:
    """Copies bytes that do not overlap."""
    ctypes.memmove(int(target), int(source), int(size))


def wrapped(number: int) -> int:
    """A product or sum, cut to 64 bits with a sign."""
    return (number + _SIGN) % _MODULUS - _SIGN


load_byte = _load(8, is_big=False, is_signed=False)
load_signed_byte = _load(8, is_big=False)

# As Java writes them.
load_unsigned_short = _load(16, is_big=True, is_signed=False)
load_short = _load(16, is_big=True)
load_int = _load(32, is_big=True)
load_long = _load(64, is_big=True)

# Little endian, as in this machine and in binary rows.
load_native_short = _load(16, is_big=False)
load_native_unsigned_short = _load(16, is_big=False, is_signed=False)
load_native_int = _load(32, is_big=False)
load_native_unsigned_int = _load(32, is_big=False, is_signed=False)
load_native_long = _load(64, is_big=False)

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
    """Stores a zero of 1, 2, 4, 8 or 16 bytes."""
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
    """Stores ``size`` bytes of zeros; returns where they end."""
    done = 0
    while size - done >= 8:
        store_long(address + done, 0)
        done += 8
    while done < size:
        store_byte(address + done, 0)
        done += 1
    return address + size
