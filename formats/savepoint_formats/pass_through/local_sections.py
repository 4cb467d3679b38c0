"""Key groups of local state, joined from several instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.pass_through.instances import appended
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.state_files.canonical_file import END_OF_SECTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from savepoint_formats.pass_through.merged_instances import MergedInstances
    from savepoint_formats.state_files.state import State


@dataclass(frozen=True)
class LocalSections:
    """Joins instances of key groups; with ``merged`` they become ordinary state."""

    states: tuple[State, ...]
    max_parallelism: int
    merged: tuple[MergedInstances, ...] = ()

    def runs(self, key_group: int, instances: Iterable[bytes]) -> Iterator[pa.Buffer]:
        """One run per state with each key once, from the runs of all instances in order.

        Raises ``MergeError`` if nothing merges instances of a key of a state that becomes ordinary.
        """
        data = np.frombuffer(b"".join([*instances, END_OF_SECTION]), np.uint8)
        chunk, prefix = Chunk(data), prefix_size(self.max_parallelism)
        by_state = section_frames(chunk, 0, len(self.states)).by_state()
        for state_id, (key_starts, key_ends, value_starts, value_ends) in sorted(by_state.items()):
            entries = StoredEntries(
                bytes_of(chunk, Spans(key_starts + prefix, key_ends)),
                bytes_of(chunk, Spans(value_starts, value_ends)),
            )
            entries = appended(entries, self.states[state_id].kind)
            if self.merged:
                entries = self.merged[state_id].entries(entries)
            groups = np.full(len(entries), key_group, np.uint16)
            yield runs(entries, groups, state_id, prefix).column("run")[0].as_buffer()
