"""Entries in bulk: many keys and values in one buffer, and where each of them lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.entries.entry_spans import EntrySpans

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from savepoint_formats.key_groups.ranges import KeyGroupRange


@dataclass(frozen=True, slots=True, eq=False)
class EntryChunk:
    """Entries of a state, sorted by their key bytes.

    The chunks of a scan cover its key groups without a gap, in order. Only a key group that is
    too big for one chunk takes several: all of them but the last say so in ``is_continued``.

    Attributes:
        data: Holds the keys and the values, and bytes that belong to none.
        key_starts: Where each key begins, with its key-group prefix.
        key_ends: Where each key ends.
        value_starts: Where each value begins.
        value_ends: Where each value ends.
        key_groups: The key groups that the chunk covers, with and without entries.
        prefix_size: The bytes of the key-group prefix, 1 or 2.
        is_continued: Whether the next chunk holds more entries of the last key group.
    """

    data: NDArray[np.uint8]
    key_starts: NDArray[np.int64]
    key_ends: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    value_ends: NDArray[np.int64]
    key_groups: KeyGroupRange
    prefix_size: int
    is_continued: bool = False

    def __len__(self) -> int:
        return len(self.key_starts)

    @property
    def spans(self) -> EntrySpans:
        """Where keys and values lie."""
        return EntrySpans(self.key_starts, self.key_ends, self.value_starts, self.value_ends)

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Each key and value by itself; for tests and for small states."""
        data = self.data.tobytes()
        spans = (self.key_starts, self.key_ends, self.value_starts, self.value_ends)
        for key_start, key_end, start, end in zip(*(s.tolist() for s in spans), strict=True):
            yield data[key_start:key_end], data[start:end]


def key_group_prefix(key_group: int, prefix_size: int) -> bytes:
    """The bytes in front of all keys of a key group, and the lowest bound of them."""
    return key_group.to_bytes(prefix_size, "big")


def key_behind(prefix: bytes) -> bytes:
    """The least key behind all those that begin with some bytes, of which one is not FF."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1])


def key_group_of(key: bytes, prefix_size: int) -> int:
    """The key group that a key, or a bound of keys, begins with."""
    return int.from_bytes(key[:prefix_size].ljust(prefix_size, b"\0"), "big")
