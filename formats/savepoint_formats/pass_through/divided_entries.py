"""Entries of keyed state, divided by keys: those of some keys are taken, the rest passes through.

Of an entry nothing is decoded but its key. Keys are compared by the bytes that they are encoded to,
which need not be those that are stored: a serializer may have several ways to write a key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.pass_through.deleted_keys import encoded_keys
from savepoint_formats.pass_through.divided_block import is_in, timestamps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from savepoint_formats.pass_through.divided_block import DividedBlock
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect


class DueKeys(NamedTuple):
    """Keys with timers that are due.

    Attributes:
        keys: As ``Encoder`` encodes them, each once.
        key_groups: That of each.
    """

    keys: pa.LargeBinaryArray
    key_groups: NDArray[np.uint16]


class DividedEntries:
    """Entries of some key groups, of which those of some keys are taken out.

    Args:
        pieces: The entries.
        kryo: What is known of the Kryo that wrote object graphs.
        blocks: More entries, of canonical files.

    Raises:
        UnstableHashError: Nobody can tell where a key ends.
        FormatError: A key is damaged.
    """

    def __init__(
        self,
        pieces: Iterable[StatePiece],
        kryo: KryoDialect | None,
        blocks: Iterable[DividedBlock] = (),
    ) -> None:
        self._parts = [_Part.of(piece, kryo) for piece in pieces if len(piece.entries)]
        self._blocks = list(blocks)

    def take(self, keys: pa.LargeBinaryArray) -> list[StatePiece]:
        """The entries of these keys that have not been taken yet: a piece for each state that has any."""
        taken: dict[str, list[StatePiece]] = {}
        for part in self._parts:
            wanted = is_in(part.keys, keys) & ~part.is_taken
            if wanted.any():
                part.is_taken[wanted] = True
                taken.setdefault(part.piece.state.name, []).append(_chosen(part.piece, wanted))
        for block in self._blocks:
            for piece in block.take(keys):
                taken.setdefault(piece.state.name, []).append(piece)
        return [_joined(pieces) for pieces in taken.values()]

    def due(self, reached: Mapping[str, int]) -> DueKeys:
        """The keys that have a timer which is due, but those that have been taken.

        Args:
            reached: State of timers -> the time in ms with which its timers up to it are due.
        """
        keys, key_groups = [pa.array([], pa.large_binary())], [np.empty(0, np.uint16)]
        for part in self._parts:
            if part.piece.state.name in reached:
                until = reached[part.piece.state.name]
                wanted = (timestamps(part.piece.entries.keys) <= until) & ~part.is_taken
                keys.append(part.keys.filter(pa.array(wanted)))
                key_groups.append(part.piece.key_groups[wanted])
        for block in self._blocks:
            for of_block, groups_of_block in block.due(reached):
                keys.append(of_block)
                key_groups.append(groups_of_block)
        due_keys, groups = pa.concat_arrays(keys), np.concatenate(key_groups)
        distinct = pc.unique(due_keys)
        firsts = pc.index_in(distinct, due_keys).to_numpy(zero_copy_only=False)
        return DueKeys(distinct, groups[firsts])

    def rest(self, ids: Mapping[str, int], max_parallelism: int) -> Iterator[pa.RecordBatch]:
        """What has not been taken, as runs of a new savepoint; see ``stored_entries.runs``.

        Args:
            ids: Name of a state -> its index in the header of the new file.
            max_parallelism: That of the operator.
        """
        for part in self._parts:
            piece = _chosen(part.piece, ~part.is_taken) if part.is_taken.any() else part.piece
            if len(piece.entries):
                state_id = ids[piece.state.name]
                prefix = prefix_size(max_parallelism)
                yield runs(piece.entries, piece.key_groups, state_id, prefix)
        for block in self._blocks:
            yield from block.rest(ids)


class _Part(NamedTuple):
    """Entries of a state, the key of each, and whether it has been taken."""

    piece: StatePiece
    keys: pa.LargeBinaryArray
    is_taken: NDArray[np.bool_]

    @classmethod
    def of(cls, piece: StatePiece, kryo: KryoDialect | None) -> _Part:
        return cls(piece, encoded_keys(piece, kryo), np.zeros(len(piece.entries), np.bool_))


def _chosen(piece: StatePiece, wanted: NDArray[np.bool_]) -> StatePiece:
    mask = pa.array(wanted)
    entries = StoredEntries(piece.entries.keys.filter(mask), piece.entries.values.filter(mask))
    return replace(piece, entries=entries, key_groups=piece.key_groups[wanted])


def _joined(pieces: list[StatePiece]) -> StatePiece:
    if len(pieces) == 1:
        return pieces[0]
    keys = pa.concat_arrays([piece.entries.keys for piece in pieces])
    values = pa.concat_arrays([piece.entries.values for piece in pieces])
    groups = np.concatenate([piece.key_groups for piece in pieces])
    return replace(pieces[0], entries=StoredEntries(keys, values), key_groups=groups)
