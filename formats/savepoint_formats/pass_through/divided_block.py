"""Entries of a block of a canonical file, divided by keys where they lie: nothing is copied but what is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.entries.entry_spans import EntrySpans
from savepoint_formats.entries.stored_entries import RUN_SCHEMA
from savepoint_formats.errors import within
from savepoint_formats.pass_through.new_key_groups import KeyPlaces
from savepoint_formats.pass_through.run_cuts import RunCuts, cut_runs
from savepoint_formats.pass_through.stored_canonical import DROPPED
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.spans import Spans, bytes_of, spans_in
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.state_files.state_piece import pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.state_files.canonical_entries import EntryBlock
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect

_AS_STORED = (layouts.Byte, layouts.Short, layouts.Int, layouts.Long, layouts.Text)
"""Keys whose bytes are the same whoever wrote them."""

_NUMBERS: dict[int, type[np.unsignedinteger[Any]]] = {
    1: np.uint8,
    2: np.uint16,
    4: np.uint32,
    8: np.uint64,
}
_TIMESTAMP_SIZE = 8
_SIGN = np.uint64(1 << 63)


class DividedBlock:
    """The entries of some states of a block, and which of them have been taken.

    Args:
        block: The block.
        states: The states of the file, by id; None for those that stay where they are.
        prefix_size: The bytes of the key groups in front of keys.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self,
        block: EntryBlock,
        states: Sequence[State | None],
        prefix_size: int,
        kryo: KryoDialect | None,
    ) -> None:
        self._block = block
        self._states = states
        self._prefix_size = prefix_size
        self._kryo = kryo
        frames = block.frames
        lengths = np.diff(np.append(frames.run_starts, len(frames)))
        of_entries = np.repeat(frames.run_states, lengths)
        self._entries = {
            number: np.flatnonzero(of_entries == number)
            for number in np.unique(frames.run_states).tolist()
            if states[number] is not None
        }
        self._is_taken = np.zeros(len(frames), np.bool_)
        self._keys: dict[int, pa.LargeBinaryArray] = {}

    def take(self, keys: pa.LargeBinaryArray) -> Iterator[StatePiece]:
        """The entries of these keys that have not been taken yet."""
        for number, entries in self._entries.items():
            wanted = is_in(self._keys_of(number), keys) & ~self._is_taken[entries]
            if wanted.any():
                chosen = entries[wanted]
                self._is_taken[chosen] = True
                yield self._piece(number, chosen)

    def due(
        self, reached: Mapping[str, int]
    ) -> Iterator[tuple[pa.LargeBinaryArray, NDArray[np.uint16]]]:
        """The keys, and key groups, of timers that are due and have not been taken."""
        for number, entries in self._entries.items():
            state = self._states[number]
            if state is not None and state.name in reached:
                piece = self._piece(number, entries)
                is_due = timestamps(piece.entries.keys) <= reached[state.name]
                wanted = is_due & ~self._is_taken[entries]
                yield self._keys_of(number).filter(pa.array(wanted)), piece.key_groups[wanted]

    def rest(self, ids: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
        """What has not been taken, as runs of each key group.

        Args:
            ids: Name of a state -> its index in the header of the new file.
        """
        new_ids = np.full(len(self._states), DROPPED, np.int32)
        is_kept = np.zeros(len(self._is_taken), np.bool_)
        for number, entries in self._entries.items():
            state = self._states[number]
            assert state is not None  # or it would have no entries here
            new_ids[number] = ids[state.name]
            is_kept[entries] = ~self._is_taken[entries]
        cuts = RunCuts.of(self._block, new_ids, is_kept)
        for key_group in np.unique(cuts.key_groups).tolist():
            run = cut_runs(self._block.chunk, cuts.ranges[cuts.key_groups == key_group])
            whole = pa.array([run.tobytes()], pa.large_binary())
            columns = [pa.array([key_group], pa.int32()), whole]
            yield pa.RecordBatch.from_arrays(columns, schema=RUN_SCHEMA)

    def _piece(self, number: int, entries: NDArray[np.int64]) -> StatePiece:
        state = self._states[number]
        assert state is not None  # or it would have no entries here
        spans = EntrySpans(*self._block.frames.spans[:, entries])
        part = self._block.chunk, {state.name: spans}
        (piece,) = pieces_of(part, [state], self._prefix_size)
        return piece

    def _keys_of(self, number: int) -> pa.LargeBinaryArray:
        """The keys of a state's entries, as ``Encoder`` encodes them."""
        if number not in self._keys:
            state = self._states[number]
            assert state is not None  # or it would have no entries here
            with within(f"state {state.name!r}"):
                self._keys[number] = self._encoded(state, self._entries[number])
        return self._keys[number]

    def _encoded(self, state: State, entries: NDArray[np.int64]) -> pa.LargeBinaryArray:
        chunk, layout = self._block.chunk, key_layout(state)
        starts, ends = self._block.frames.spans[:2]
        stored = Spans(starts[entries] + self._prefix_size, ends[entries])
        keys = KeyPlaces.of(state, self._kryo).keys(chunk, stored)
        if isinstance(layout, _AS_STORED):
            return bytes_of(chunk, keys)
        decoded = decode(program(layout, self._kryo), chunk, keys.starts, keys.ends)
        return Encoder(layout).encode(decoded)


def is_in(keys: pa.LargeBinaryArray, wanted: pa.LargeBinaryArray) -> NDArray[np.bool_]:
    """Whether each key is one of those that are wanted."""
    if not len(keys) or not len(wanted):
        return np.zeros(len(keys), np.bool_)
    sizes = _sizes(keys) | _sizes(wanted)
    number = _NUMBERS.get(min(sizes)) if len(sizes) == 1 else None
    if number is not None:
        among = pc.is_in(_as(keys, number), _as(wanted, number))
    else:
        among = pc.is_in(keys, wanted)
    is_among: NDArray[np.bool_] = among.to_numpy(zero_copy_only=False)
    return is_among


def timestamps(keys: pa.LargeBinaryArray) -> NDArray[np.int64]:
    """The timestamps with which stored timers begin, in ms; their sign bits are flipped."""
    data, spans = spans_in(keys)
    words = data[spans.starts[:, None] + np.arange(_TIMESTAMP_SIZE)]
    flipped = np.ascontiguousarray(words).view(">u8")[:, 0].astype(np.uint64)
    return (flipped ^ _SIGN).view(np.int64)


def _sizes(keys: pa.LargeBinaryArray) -> set[int]:
    """The least and the greatest size of a key."""
    sizes = spans_in(keys)[1].sizes
    return {int(sizes.min()), int(sizes.max())}


def _as(keys: pa.LargeBinaryArray, number: type[np.unsignedinteger[Any]]) -> pa.Array:
    """Keys of one size as numbers, which are compared faster."""
    data, spans = spans_in(keys)
    return pa.array(data[spans.starts[0] : spans.ends[-1]].view(number))
