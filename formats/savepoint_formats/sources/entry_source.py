"""Keyed state that is stored as entries: what canonical files and RocksDB have in common."""

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
    """How keyed state is read.

    Attributes:
        max_parallelism: That of the operator: the key-group prefix depends on it.
        kryo: What is known of the Kryo that wrote object graphs.
        portion_size: The largest key group in bytes that is decoded in one piece; None for any.
        hidden: States of which nobody wants the values: they are null, and need not be decodable.
        has_open_pojos: Whether POJOs that cannot be decoded are their bytes and the reason.
        hides: What may be among the bytes of a value that cannot be decoded.
        shows_undecided: Whether changes of a changelog whose key nobody can tell from what follows
            it are rows of their own, whose key has all bytes of the change.
        has_divided_rows: Whether entries of a key may come in several batches, as those of a map may
            where each is a row by itself.
        share: What is read of a key group that several tasks read.
        keys: Key group -> the keys of it that are wanted, as they are written; None for all. Others
            may be given as well: only RocksDB finds a key without reading those before it.
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
    """Entries, wherever they come from: decoded, or as they are stored.

    Args:
        states: The states of the file, by id.
        settings: How it is read.
        path: What errors call the file.
    """

    def __init__(self, states: Sequence[State], settings: SourceSettings, path: str) -> None:
        self.states = tuple(states)
        self.settings = settings
        self.decoders = EntryDecoders(states, settings)
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
            yield from pieces_of(part, self.states, self.decoders.prefix_size)

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """The entries of these states and key groups, batch by batch."""
        read = self.blocks if self.settings.has_divided_rows else self.parts
        for part in read(names, key_groups):
            rows = self.decoders.rows(part)
            if rows:
                yield self.decoders.batch(part[0], rows)

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """The timers of these key groups, some at a time."""
        names = frozenset(state.name for state in self.states if state.kind is StateKind.TIMERS)
        for part in self.blocks(names, key_groups):
            yield from self.decoders.timers(part)

    @property
    def block_size(self) -> int:
        """The bytes of a block, about."""
        return min(BATCH_SIZE, self.settings.portion_size or BATCH_SIZE)

    def is_large(self, size: int) -> bool:
        """Whether a key group of so many bytes is to be read in portions."""
        portion_size = self.settings.portion_size
        is_shared = not self.settings.share.is_whole
        return is_shared or (portion_size is not None and size > portion_size)

    def portions(self, size: int, blocks: Callable[[], Iterator[Part]]) -> Iterator[Part]:
        """A large key group in portions.

        Args:
            size: The bytes of the key group.
            blocks: Reads it from its beginning, block by block.
        """
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
