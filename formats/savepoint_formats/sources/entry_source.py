"""Keyed state that is stored as entries, in canonical files or in RocksDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.key_groups.ranges import PORTION_SIZE, WHOLE, Share
from savepoint_formats.sources.entry_decoders import EntryDecoders
from savepoint_formats.sources.large_key_groups import HELD_SIZE, portions
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_piece import pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.sources.keyed_batch import KeyedBatch
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.tables.timer_rows import TimerRows
    from savepoint_formats.values.hidden_ends import Hides
    from savepoint_formats.values.kryo.dialect import KryoDialect

BATCH_SIZE = 8 << 20
"""Bytes of state that make one batch."""

JOINED_SIZE = 4 << 20
"""The same of canonical files, whose keys are joined while a core's caches hold them."""

BLOCK_SIZE = 2 << 20
"""Bytes of a large key group that are read at once."""


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Options of reading keyed state.

    Attributes:
        max_parallelism: That of the operator: the key-group prefix depends on it.
        kryo: Knowledge about the Kryo that wrote object graphs.
        portion_size: Bytes of the largest key group that is decoded at once; None for any.
        hidden: States whose values nobody wants: they are null, and need not be decodable.
        has_open_pojos: Whether undecodable POJOs become their bytes and the reason.
        hides: What may be among the bytes of an undecodable value.
        shows_undecided: Whether a change whose key has no certain end is a row of its own, with all
            bytes of the change as its key.
        has_divided_rows: Whether entries of a key may come in several batches: each is a row.
        share: Share of a key group that several tasks read.
        keys: Key group -> its wanted keys as they are written; None for all. Other keys may come too:
            only RocksDB finds a key without reading those before it.
    """

    max_parallelism: int
    kryo: KryoDialect | None = None
    portion_size: int | None = PORTION_SIZE
    hidden: frozenset[str] = frozenset()
    has_open_pojos: bool = False
    hides: Hides = "nothing"
    shows_undecided: bool = False
    has_divided_rows: bool = False
    share: Share = WHOLE
    keys: Mapping[int, tuple[bytes, ...]] | None = None

    def applied(self, state: State) -> State:
        """A state of a file as it is read."""
        state = state.with_kryo_classes(self.kryo)
        return state.with_open_pojos() if self.has_open_pojos else state


class EntrySource:
    """Entries of a file with these states, decoded or as they are stored."""

    def __init__(self, states: Sequence[State], settings: SourceSettings, path: str) -> None:
        self.states = tuple(states)
        self.settings = settings
        self.decoders = EntryDecoders(states, settings)
        self._path = path

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """Entries of these states, chunk by chunk; each chunk has all entries of its keys."""
        raise NotImplementedError

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """Entries of these states, some megabytes at a time; a key may have entries in several."""
        raise NotImplementedError

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """Entries of these states as they are stored, some megabytes at a time."""
        for part in self.blocks(names, key_groups):
            yield from pieces_of(part, self.states, self.decoders.prefix_size)

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """Decoded entries of these states, batch by batch."""
        read = self.blocks if self.settings.has_divided_rows else self.parts
        for part in read(names, key_groups):
            rows = self.decoders.rows(part)
            if rows:
                yield self.decoders.batch(part[0], rows)

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """Timers of these key groups, some at a time."""
        names = frozenset(state.name for state in self.states if state.kind is StateKind.TIMERS)
        for part in self.blocks(names, key_groups):
            yield from self.decoders.timers(part)

    @property
    def block_size(self) -> int:
        """Approximate bytes of a block."""
        return min(BATCH_SIZE, self.settings.portion_size or BATCH_SIZE)

    def is_large(self, size: int) -> bool:
        """Whether a key group of ``size`` bytes is read in portions."""
        portion_size = self.settings.portion_size
        is_shared = not self.settings.share.is_whole
        return is_shared or (portion_size is not None and size > portion_size)

    def portions(self, size: int, blocks: Callable[[], Iterator[Part]]) -> Iterator[Part]:
        """Reads a large key group in portions; ``blocks`` reads it from its beginning."""
        portion_size = self.settings.portion_size or max(size, 1)
        # The same number in all tasks, so that each portion is in one share.
        count = max(-(-size // portion_size), self.settings.share.count)
        yield from portions(
            blocks,
            size,
            count,
            self.settings.share.of_numbers(count),
            self.decoders.identities,
            self._path,
            held=max(1, HELD_SIZE // portion_size),
        )
