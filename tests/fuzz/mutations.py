"""Ways to damage bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Mutation = Callable[[bytearray, Random], None]

BORDERS = tuple(
    number + change
    for bits in (7, 8, 15, 16, 31, 32, 63)
    for number in (1 << bits, -(1 << bits))
    for change in (-1, 0, 1)
)
"""Numbers at which a count, a size or an offset begins to mean something else."""

_BYTES = (0x00, 0xFF, 0x80, 0x7F, 0x01)
_MOST = 4
_LONGEST = 64


def mutated(
    data: bytes, others: list[bytes], chance: Random, places: tuple[int, ...] | None = None
) -> bytes:
    """The bytes after one to four mutations.

    Args:
        data: What is damaged.
        others: What a splice takes pieces from.
        chance: Decides; the same chance gives the same bytes.
        places: Only bytes at these places are changed, and none is added or taken away.
    """
    damaged = bytearray(data)
    for _ in range(1 if chance.random() < 0.5 else chance.randint(2, _MOST)):
        if places is not None:
            _overwrite(damaged, chance, places)
        elif others and chance.random() < 0.1:
            _splice(damaged, chance.choice(others), chance)
        else:
            chance.choice(_MUTATIONS)(damaged, chance)
    return bytes(damaged)


def _overwrite(data: bytearray, chance: Random, places: tuple[int, ...]) -> None:
    """A bit, a byte or a number at one of the places, and at those that follow it."""
    first = chance.randrange(len(places))
    at, size = places[first], chance.choice((1, 1, 2, 4, 8))
    if places[first : first + size] != tuple(range(at, at + size)):
        size = 1
    if size == 1:
        data[at] = chance.choice((data[at] ^ 1 << chance.randrange(8), *_BYTES))
    else:
        number = int.from_bytes(data[at : at + size], "big") + chance.choice((-1, 1))
        near = (number % (1 << 8 * size)).to_bytes(size, "big")
        data[at : at + size] = chance.choice((near, _number(chance, size, "big")))


def _flip(data: bytearray, chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _set(data: bytearray, chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.choice(_BYTES)


def _any(data: bytearray, chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _extreme(data: bytearray, chance: Random) -> None:
    """A number of Java, or of RocksDB, that is an extreme one."""
    size = chance.choice((2, 4, 8))
    at = chance.randrange(len(data) + 1)
    data[at : at + size] = _number(chance, size, chance.choice(("big", "big", "little")))


def _small(data: bytearray, chance: Random) -> None:
    """A number beside the one that is there."""
    size = chance.choice((1, 2, 4))
    if len(data) >= size:
        at = chance.randrange(len(data) - size + 1)
        number = int.from_bytes(data[at : at + size], "big") + chance.randint(-2, 2)
        data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "big")


def _varint(data: bytearray, chance: Random) -> None:
    """A number of variable length that is an extreme one."""
    number, parts = chance.choice(BORDERS) % (1 << chance.choice((21, 28, 32, 35, 64))), []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    at = chance.randrange(len(data) + 1)
    data[at : at + chance.randint(1, len(parts) + 1)] = bytes([*parts, number])


def _number(chance: Random, size: int, order: str) -> bytes:
    number = chance.choice(BORDERS) % (1 << 8 * size)
    return number.to_bytes(size, "big" if order == "big" else "little")


def _cut(data: bytearray, chance: Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _piece(data: bytearray, chance: Random) -> slice:
    start = chance.randrange(len(data) + 1)
    return slice(start, start + chance.randint(1, _LONGEST))


def _take_out(data: bytearray, chance: Random) -> None:
    del data[_piece(data, chance)]


def _double(data: bytearray, chance: Random) -> None:
    piece = data[_piece(data, chance)]
    at = chance.randrange(len(data) + 1)
    data[at:at] = piece * chance.choice((1, 1, 1, 8))


def _move(data: bytearray, chance: Random) -> None:
    place = _piece(data, chance)
    piece = data[place]
    del data[place]
    at = chance.randrange(len(data) + 1)
    data[at:at] = piece


def _add(data: bytearray, chance: Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.randint(1, 8))


def _splice(data: bytearray, other: bytes, chance: Random) -> None:
    """A piece of another input, or all of what is behind it."""
    start = chance.randrange(len(other) + 1)
    at = chance.randrange(len(data) + 1)
    if chance.random() < 0.3:
        data[at:] = other[start:]
    else:
        piece = other[start : start + chance.randint(1, _LONGEST)]
        data[at : at + chance.choice((0, len(piece)))] = piece


_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _flip, _set, _any, _extreme, _extreme, _small, _small, _varint),
    *(_cut, _take_out, _double, _move, _add),
)
