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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.columns.chunk import Chunk
from savepoint_formats.data_view import DataInputView
from savepoint_formats.state_files.snappy import decompress

if TYPE_CHECKING:
    from savepoint_formats.file_io import StateFile
    from savepoint_formats.state_files.sections import Section

_KEY_GROUP_SIZE = 4
_STATE_HEAD_SIZE = 6


@dataclass(slots=True)
class HeapSection:
    """The section of a key group, read state by state.

    Attributes:
        chunk: The states of the key group, decompressed.
        position: Where the next state begins.
    """

    chunk: Chunk
    position: int = 0

    @classmethod
    def of(cls, file: StateFile, section: Section, *, is_compressed: bool) -> HeapSection:
        """Raises ``FormatError`` if another key group, or none, begins there."""
        data = file.read(section.start, section.end)
        view = DataInputView(data, file.path, section.start)
        if view.peek_int() != section.key_group:
            raise view.error(f"key group {view.peek_int()}, expected {section.key_group}")
        body, base = data[_KEY_GROUP_SIZE:], section.start + _KEY_GROUP_SIZE
        if is_compressed:
            body, base = decompress(body, file.path, base), 0
        return cls(Chunk(np.frombuffer(body, np.uint8), file.path, base))

    def next_state(self, states: int) -> tuple[int, int]:
        """The id of the next state and how many entries follow.

        Raises:
            FormatError: There is no such state.
        """
        view = self.chunk.view(self.position, len(self.chunk.data))
        state_id = view.read_unsigned_short()
        if state_id >= states:
            view.position -= 2
            raise view.error(f"state {state_id} of {states}")
        count = view.read_int()
        self.position += _STATE_HEAD_SIZE
        return state_id, count

    def has_more(self) -> bool:
        """Whether another state follows."""
        return self.position < len(self.chunk.data)
