"""Keyed state that is stored as entries: what canonical files and RocksDB have in common."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.entries.entry_spans import key_groups_at
from savepoint_formats.errors import FormatError
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.layout import Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.sources.large_key_groups import HELD_SIZE, portions
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_piece import pieces_of
from savepoint_formats.tables.timer_rows import TimerRows
from savepoint_formats.values.state_entries import KeyPrefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.entries.entry_spans import EntrySpans, Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.sources.state_rows import StateRows
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect

BATCH_SIZE = 8 << 20
"""Bytes of state that make one batch."""

BLOCK_SIZE = 2 << 20
"""Bytes of a large key group that are read at once."""

PORTION_SIZE = 10 << 20
"""Bytes of a key group from which on it is decoded in portions."""


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """How keyed state is read.

    Attributes:
        max_parallelism: That of the operator: the key-group prefix depends on it.
        kryo: What is known of the Kryo that wrote object graphs.
        portion_size: The largest key group in bytes that is decoded in one piece; None for any.
        hidden: States of which nobody wants the values: they are null, and need not be decodable.
        has_open_pojos: Whether POJOs that cannot be decoded are their bytes and the reason.
    """

    max_parallelism: int
    kryo: KryoDialect | None = None
    portion_size: int | None = PORTION_SIZE
    hidden: frozenset[str] = frozenset()
    has_open_pojos: bool = False

    def applied(self, state: State) -> State:
        """A state of a file as it is read."""
        state = state.with_kryo_classes(self.kryo.classes if self.kryo else ())
        return state.with_open_pojos() if self.has_open_pojos else state


class EntrySource:
    """Decodes entries, wherever they come from.

    Args:
        states: The states of the file, by id.
        settings: How it is read.
        path: What errors call the file.
    """

    def __init__(self, states: Sequence[State], settings: SourceSettings, path: str) -> None:
        self.states = tuple(states)
        self.settings = settings
        self.prefix_size = prefix_size(settings.max_parallelism)
        self._path = path

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """A chunk, and where the entries of these states lie in it; keys are complete in it."""
        raise NotImplementedError

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """The same some megabytes at a time, with any of a key's entries in each."""
        raise NotImplementedError

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states as they are stored, some megabytes at a time.

        Raises:
            StateFileNotFoundError: A file is gone.
            FormatError: A file is damaged.
        """
        for part in self.blocks(names, key_groups):
            yield from pieces_of(part, self.states, self.prefix_size)

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """The entries of these states and key groups, batch by batch."""
        decoders = self._decoders(names)
        for chunk, found in self.parts(names, key_groups):
            rows: dict[str, StateRows] = {}
            for name, spans in found.items():
                with self._in_entries(name, chunk, spans):
                    rows[name] = decoders[name].rows(chunk, spans)
            if rows:
                identity = decoders[next(iter(rows))].identity
                yield KeyedBatch(chunk, identity, rows, prefix_size=self.prefix_size)

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """The timers of these key groups, some at a time."""
        prefix = KeyPrefix(self.prefix_size)
        decoders = {
            state.name: program(
                Struct(("prefix", "timer"), (prefix, state.stored)), self.settings.kryo
            )
            for state in self.states
            if state.kind is StateKind.TIMERS
        }
        for chunk, found in self.parts(frozenset(decoders), key_groups):
            for name, spans in found.items():
                with self._in_entries(name, chunk, spans):
                    entries = decode(decoders[name], chunk, spans.key_starts, spans.key_ends)
                groups = key_groups_at(chunk, spans.key_starts, self.prefix_size)
                yield TimerRows(name, entries.field("timer"), groups)

    @contextmanager
    def _in_entries(self, state: str, chunk: Chunk, spans: EntrySpans) -> Iterator[None]:
        """Tells errors in entries of a state what they are in."""
        try:
            yield
        except FormatError as error:
            error.within(f"state {state!r}")
            if error.record >= 0:
                start = spans.key_starts[error.record : error.record + 1]
                (key_group,) = key_groups_at(chunk, start, self.prefix_size)
                error.within(f"key group {key_group}")
            raise

    def is_large(self, size: int) -> bool:
        """Whether a key group of so many bytes is to be read in portions."""
        return self.settings.portion_size is not None and size > self.settings.portion_size

    def portions(
        self, names: frozenset[str], size: int, blocks: Callable[[], Iterator[Part]]
    ) -> Iterator[Part]:
        """A large key group in portions.

        Args:
            names: The states.
            size: The bytes of the key group.
            blocks: Reads it from its beginning, block by block.
        """
        decoders = self._decoders(names)
        portion_size = self.settings.portion_size or size
        yield from portions(
            blocks,
            size,
            -(-size // portion_size),
            lambda name, chunk, spans: decoders[name].identities(chunk, spans),
            self._path,
            held=max(1, HELD_SIZE // portion_size),
        )

    def _decoders(self, names: frozenset[str]) -> dict[str, EntryDecoder]:
        settings = self.settings
        return {
            state.name: EntryDecoder(
                state, self.prefix_size, settings.kryo, is_hidden=state.name in settings.hidden
            )
            for state in self.states
            if state.name in names
        }
