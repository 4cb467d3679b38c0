"""Heap files: keyed state as the hashmap backend snapshots it for itself.

| bytes | field     | meaning                                                             |
|-------|-----------|---------------------------------------------------------------------|
| i32   | key group | of each key group of the handle, never compressed                   |
| …     | states    | every state once, in any order; each a snappy-framed stream if the  |
|       |           | file is compressed: i16 state id, i32 n, n entries                  |

An entry of a state is namespace, key, value, one behind the other; an entry of a priority queue
is a timer. Nothing has a size in front, so that only decoding tells where anything ends.

Flink: ``HeapSnapshotStrategy``, ``CopyOnWriteStateMapSnapshot``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.errors import TruncatedError
from savepoint_formats.state_files.sections import read_sections

if TYPE_CHECKING:
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.state_files.sections import Section

_KEY_GROUP_SIZE = 4
_STATE_HEAD_SIZE = 6


@dataclass(slots=True)
class HeapSection:
    """The section of a key group, read state by state.

    Attributes:
        chunk: The states of the key group, decompressed.
        states: How many states each key group has.
        seen: The ids of those that came by.
        position: Where the next state begins.
    """

    chunk: Chunk
    states: int
    seen: set[int] = field(default_factory=set)
    position: int = 0

    @classmethod
    def of(
        cls, file: StateFile, section: Section, states: int, *, is_compressed: bool
    ) -> HeapSection:
        """The section of a key group, which has so many states.

        Raises:
            FormatError: Another key group, or none, begins there; or the file ends too early.
        """
        data = read_sections(file, (section,))
        view = DataInputView(data, file.path, section.start)
        if view.peek_int() != section.key_group:
            raise view.error(f"key group {view.peek_int()}, expected {section.key_group}")
        body, base = data[_KEY_GROUP_SIZE:], section.start + _KEY_GROUP_SIZE
        if is_compressed:
            body, base = decompress(body, file.path, base), 0
        return cls(Chunk(np.frombuffer(body, np.uint8), file.path, base), states)

    def next_state(self) -> tuple[int, int]:
        """The id of the next state and how many entries follow.

        Raises:
            FormatError: There is no such state, or it was there before.
        """
        view = self.chunk.view(self.position, len(self.chunk.data))
        state_id = view.read_unsigned_short()
        if state_id >= self.states or state_id in self.seen:
            view.position -= 2
            again = " once more" if state_id in self.seen else ""
            raise view.error(f"state {state_id} of {self.states}{again}")
        self.seen.add(state_id)
        count = view.read_int()
        self.position += _STATE_HEAD_SIZE
        return state_id, count

    def has_more(self) -> bool:
        """Whether another state follows.

        Raises:
            FormatError: Bytes follow that are of no state, or the bytes end before the states do.
        """
        view = self.chunk.view(self.position, len(self.chunk.data))
        left = self.states - len(self.seen)
        if not left:
            view.expect_end()
        elif not view.remaining:
            message = f"the key group ends, with {left} of {self.states} states missing"
            raise view.error(message, TruncatedError)
        return left > 0
