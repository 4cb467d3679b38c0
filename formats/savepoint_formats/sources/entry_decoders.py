"""Decodes entries that lie in a chunk, from a file of any format."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from savepoint_formats.entries.entry_spans import key_groups_at
from savepoint_formats.errors import FormatError
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.layout import Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.tables.timer_rows import TimerRows
from savepoint_formats.values.state_entries import KeyPrefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.entries.entry_spans import EntrySpans, Part
    from savepoint_formats.program.program import Program
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.sources.state_rows import StateRows
    from savepoint_formats.state_files.state import State

    Positions = NDArray[np.int64]


class EntryDecoders:
    """Decoders of the entries of states; each is compiled when it is first needed."""

    def __init__(self, states: Iterable[State], settings: SourceSettings) -> None:
        self.states = {state.name: state for state in states}
        self.prefix_size = prefix_size(settings.max_parallelism)
        self._settings = settings
        self._decoders: dict[str, EntryDecoder] = {}
        self._timers: dict[str, Program] = {}

    def identities(self, name: str, chunk: Chunk, spans: EntrySpans) -> tuple[Positions, Positions]:
        """Start and end of each entry's identity."""
        return self._decoder(name).identities(chunk, spans)

    def rows(self, part: Part) -> dict[str, StateRows]:
        """Decoded entries of each state."""
        chunk, by_state = part
        rows: dict[str, StateRows] = {}
        for name, spans in by_state.items():
            with self._in_entries(name, chunk, spans):
                rows[name] = self._decoder(name).rows(chunk, spans)
        return rows

    def batch(self, chunk: Chunk, rows: dict[str, StateRows]) -> KeyedBatch:
        """Entries of at least one state in a chunk, for their rows to be joined."""
        identity = self._decoder(next(iter(rows))).identity
        return KeyedBatch(chunk, identity, rows, prefix_size=self.prefix_size)

    def timers(self, part: Part) -> Iterator[TimerRows]:
        """Timers of each queue."""
        chunk, by_state = part
        for name, spans in by_state.items():
            with self._in_entries(name, chunk, spans):
                entries = decode(self._timer(name), chunk, spans.key_starts, spans.key_ends)
            groups = key_groups_at(chunk, spans.key_starts, self.prefix_size)
            yield TimerRows(name, entries.field("timer"), groups)

    def _decoder(self, name: str) -> EntryDecoder:
        if name not in self._decoders:
            settings = self._settings
            self._decoders[name] = EntryDecoder(
                self.states[name],
                self.prefix_size,
                settings.kryo,
                is_hidden=name in settings.hidden,
                hides=settings.hides,
            )
        return self._decoders[name]

    def _timer(self, name: str) -> Program:
        if name not in self._timers:
            layouts = KeyPrefix(self.prefix_size), self.states[name].stored
            timer, settings = Struct(("prefix", "timer"), layouts), self._settings
            self._timers[name] = program(timer, settings.kryo, hides=settings.hides)
        return self._timers[name]

    @contextmanager
    def _in_entries(self, state: str, chunk: Chunk, spans: EntrySpans) -> Iterator[None]:
        """Adds state and key group to errors in entries."""
        try:
            yield
        except FormatError as error:
            error.within(f"state {state!r}")
            if error.record >= 0:
                start = spans.key_starts[error.record : error.record + 1]
                (key_group,) = key_groups_at(chunk, start, self.prefix_size)
                error.within(f"key group {key_group}")
            raise
