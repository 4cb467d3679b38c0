"""The key group of a key, and the subtask of a key group.

Java's hash code of a key decides its key group; each subtask owns a range of the ``max_parallelism``
key groups. These rules are part of the format: Flink never finds a key in another key group.

Flink: ``KeyGroupRangeAssignment``, ``KeyGroupRange``, ``MathUtils``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Self

from savepoint_formats.lazy_modules import LazyModule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray
else:
    # Every command imports ranges, and only hash codes of columns need NumPy.
    np = LazyModule("numpy")

MAX_PARALLELISM = 1 << 15
"""The largest number of key groups: a prefix of two bytes, with its top bit free."""

CHUNK_SIZE = 10 << 20
"""Size in bytes from which a key group is divided for decoding."""

_ONE_BYTE_PREFIX_BOUND = 1 << 7


@dataclass(frozen=True, slots=True)
class KeyGroupRange:
    """Key groups from ``start`` to ``end``, both inclusive; empty if ``end`` is ``start - 1``."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end + 1 <= MAX_PARALLELISM:
            raise ValueError(
                f"key groups {self.start} to {self.end}, expected a range"
                f" within 0 to {MAX_PARALLELISM - 1}"
            )

    @classmethod
    def of_subtask(cls, index: int, parallelism: int, max_parallelism: int) -> Self:
        """The key groups of a subtask."""
        _check_parallelism(parallelism, max_parallelism)
        if not 0 <= index < parallelism:
            raise ValueError(f"subtask {index}, expected 0 to {parallelism - 1}")
        start = -(-index * max_parallelism // parallelism)
        end = ((index + 1) * max_parallelism - 1) // parallelism
        return cls(start, end)

    @classmethod
    def runs_of(cls, key_groups: Iterable[int]) -> Iterator[Self]:
        """Ranges of neighbours that have these key groups, in order."""
        groups = sorted(key_groups)
        for _, run in groupby(enumerate(groups), lambda pair: pair[1] - pair[0]):
            numbers = [group for _, group in run]
            yield cls(numbers[0], numbers[-1])

    def __len__(self) -> int:
        return self.end - self.start + 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end + 1))

    def __contains__(self, key_group: object) -> bool:
        return isinstance(key_group, int) and self.start <= key_group <= self.end

    def __str__(self) -> str:
        return f"{self.start} to {self.end}" if self else "none"

    def intersection(self, other: KeyGroupRange) -> KeyGroupRange:
        """The key groups in both ranges; ``EMPTY`` if there are none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return KeyGroupRange(start, end) if start <= end else EMPTY


EMPTY = KeyGroupRange(0, -1)
"""No key groups at all."""


@dataclass(frozen=True, slots=True)
class GroupSplit:
    """One of several splits of a key group that is too large for a task."""

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count:
            raise ValueError(f"split {self.index}, expected 0 to {self.count - 1}")

    @property
    def is_whole(self) -> bool:
        """Whether it is the only one."""
        return self.count == 1

    def owner(self, position: int, size: int) -> int:
        """The index of the split with the entry that begins at a position within ``size`` bytes."""
        return min(position * self.count // max(size, 1), self.count - 1)

    def of_numbers(self, count: int) -> range:
        """The numbers of the split in ``range(count)``."""
        return range(count * self.index // self.count, count * (self.index + 1) // self.count)


WHOLE = GroupSplit()
"""All of a key group."""


def key_group(java_hash: int, max_parallelism: int) -> int:
    """The key group of a key with this hash code."""
    return int(key_groups_of(np.array([java_hash], np.int32), max_parallelism)[0])


def key_groups_of(java_hashes: NDArray[np.int32], max_parallelism: int) -> NDArray[np.uint16]:
    """The key group of each hash code; like ``key_group``, for a column."""
    _check_max_parallelism(max_parallelism)
    mixed, divisor = murmurs(java_hashes), np.int32(max_parallelism)
    # NumPy divides several numbers at a time, but takes the rest of one.
    return (mixed - mixed // divisor * divisor).astype(np.uint16)


def murmurs(java_hashes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The hash codes, mixed by Flink's ``MathUtils.murmurHash``: 0 to 2^31 - 1."""
    words = java_hashes.astype(np.int32, copy=False).view(np.uint32)
    mixed = finish_words(mix_words(np.uint32(0), words) ^ np.uint32(4)).view(np.int32)
    # The smallest number has no absolute value, and Flink takes 0.
    return np.abs(mixed) & np.int32((1 << 31) - 1)


def mix_words(
    states: NDArray[np.uint32] | np.uint32, words: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """A round of MurmurHash3 of 32 bits: the states after one more word each."""
    words = words * np.uint32(0xCC9E2D51)
    words = (words << np.uint32(15) | words >> np.uint32(17)) * np.uint32(0x1B873593)
    mixed = states ^ words
    return (mixed << np.uint32(13) | mixed >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)


def finish_words(states: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The last step of MurmurHash3 of 32 bits, after the lengths were mixed in."""
    states = (states ^ states >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    states = (states ^ states >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return states ^ states >> np.uint32(16)


def subtasks_of(
    key_groups: NDArray[np.uint16], parallelism: int, max_parallelism: int
) -> NDArray[np.int32]:
    """The index of the subtask that owns each key group."""
    _check_parallelism(parallelism, max_parallelism)
    if len(key_groups) and int(key_groups.max()) >= max_parallelism:
        raise ValueError(f"key group {key_groups.max()}, expected 0 to {max_parallelism - 1}")
    return key_groups.astype(np.int32) * np.int32(parallelism) // np.int32(max_parallelism)


def prefix_size(max_parallelism: int) -> int:
    """Number of bytes of the key group in front of a key.

    Flink: ``CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix``.
    """
    _check_max_parallelism(max_parallelism)
    return 1 if max_parallelism <= _ONE_BYTE_PREFIX_BOUND else 2


def _check_max_parallelism(max_parallelism: int) -> None:
    if not 1 <= max_parallelism <= MAX_PARALLELISM:
        raise ValueError(f"max parallelism {max_parallelism}, expected 1 to {MAX_PARALLELISM}")


def expect_parallelism(parallelism: int, max_parallelism: int) -> None:
    """Raises ``ValueError`` for numbers that Flink does not allow."""
    if not 1 <= parallelism <= max_parallelism <= MAX_PARALLELISM:
        raise ValueError(
            f"parallelism {parallelism} of max parallelism {max_parallelism},"
            f" expected 1 <= parallelism <= max parallelism <= {MAX_PARALLELISM}"
        )


def _check_parallelism(parallelism: int, max_parallelism: int) -> None:
    _check_max_parallelism(max_parallelism)
    if not 1 <= parallelism <= max_parallelism:
        raise ValueError(f"parallelism {parallelism}, expected 1 to {max_parallelism}")
