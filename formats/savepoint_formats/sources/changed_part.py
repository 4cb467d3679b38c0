"""Applies the changes of a changelog to entries that lie in a chunk.

Changed identities are appended to the bytes of a chunk, and found among its entries by their bytes.
Entries that changes touch are taken out, and appended again after the changes. All other entries
stay untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges, key_group_prefix
from savepoint_formats.layout import Byte, Framed, Opaque
from savepoint_formats.sources.keyed_batch import KeyRows, row_numbers
from savepoint_formats.state_files.state import State, StateKind, key_layout

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.sources.key_group_changes import KeyGroupChanges
    from savepoint_formats.sources.state_rows import EntryDecoders

    Entries = dict[str, list[tuple[bytes, bytes]]]
    """Name of a state -> keys with their key groups, and values."""

_NO_VALUE = b"\0"


@dataclass(frozen=True, slots=True, eq=False)
class ChangedPart:
    """Entries after changes, in one chunk: untouched ones, and entries from the changelog.

    ``values`` has the values of untouched states that have only their keys in the chunk.
    """

    chunk: Chunk
    untouched: dict[str, EntryRanges]
    changed: dict[str, EntryRanges]
    values: Mapping[str, pa.Array] = field(default_factory=dict)


def changed_part(
    part: Part,
    decoders: EntryDecoders,
    changes: Sequence[KeyGroupChanges],
    values: Mapping[str, pa.Array],
) -> ChangedPart:
    """Applies those changes whose identities are among the entries.

    Entries whose identities are merged with others are taken out, and wait. ``values`` are those of
    ``ChangedPart``; their states have no changes. Raises ``UndecodableError`` for a change that
    can't be applied.
    """
    numbered = _NumberedPart(part, decoders, changes, values)
    untouched = {name: numbered.taken_from(name) for name in part[1]}
    changed = _with_entries(
        part[0],
        {name: ranges for name, ranges in untouched.items() if len(ranges)},
        numbered.applied(),
    )
    return replace(changed, values=values)


def remaining_part(changes: KeyGroupChanges, prefix_size: int) -> ChangedPart:
    """Entries of a key group that are new in the changelog, or waited for a merge."""
    entries: Entries = {}
    _add(entries, changes, list(changes.waiting), prefix_size)
    return _with_entries(Chunk(np.empty(0, np.uint8)), {}, entries)


def undecided_parts(
    changes: KeyGroupChanges, prefix_size: int
) -> Iterator[tuple[State, ChangedPart]]:
    """Changes with unknown keys, as entries of states of their own."""
    prefix = key_group_prefix(changes.key_group, prefix_size)
    for (name, operation), wholes in changes.undecided.items():
        key = key_layout(changes.states[name])
        assert isinstance(key, Opaque)  # the end of any other key is known
        reason = (
            f"{key.reason}; these bytes are a change {operation} of state {name!r}, whose key in"
            " front has several possible ends, so all that this state has in the key group is"
            " shown like this"
        )
        shown = Framed(Opaque(key.class_name, reason))
        state = State(f"{name}: {operation}", StateKind.VALUE, Byte(), shown)
        entries = {state.name: [(prefix + whole, _NO_VALUE) for whole in wholes]}
        yield state, _with_entries(Chunk(np.empty(0, np.uint8)), {}, entries)


class _NumberedPart:
    """Entries whose identities have numbers; those with waiting changes come first."""

    def __init__(
        self,
        part: Part,
        decoders: EntryDecoders,
        changes: Sequence[KeyGroupChanges],
        keys_only: Container[str],
    ) -> None:
        self._decoders = decoders
        self._waiting = [(group, identity) for group in changes for identity in group.waiting]
        chunk, ranges = part
        prefix = decoders.prefix_size
        keys = [
            key_group_prefix(group.key_group, prefix) + identity
            for group, identity in self._waiting
        ]
        self._chunk, waiting = _laid_behind(chunk, [(key, b"") for key in keys])
        rows = KeyRows(self._chunk, prefix)
        rows.rows(waiting.key_starts + prefix, waiting.key_ends)
        self._ranges = ranges
        self._identities = {
            name: (of_state.key_starts + prefix, of_state.key_ends)
            if name in keys_only
            else decoders.identities(name, self._chunk, of_state)
            for name, of_state in ranges.items()
        }
        self._numbers = {
            name: row_numbers(rows.rows(*identities))
            for name, identities in self._identities.items()
        }
        self._is_found = np.zeros(len(rows), np.bool_)
        for numbers in self._numbers.values():
            self._is_found[numbers] = True

    def taken_from(self, name: str) -> EntryRanges:
        """Hands changed entries of a state to their changes; returns the others."""
        state, ranges, numbers = (
            self._decoders.states[name],
            self._ranges[name],
            self._numbers[name],
        )
        is_taken = np.zeros(len(self._is_found), np.bool_)
        for number, (group, identity) in enumerate(self._waiting):
            is_taken[number] = self._is_found[number] and group.takes(name, identity)
        for group in {id(group): group for group, _ in self._waiting}.values():
            if name in group.states:
                group.expect_type(state)
        of_entries = is_taken[numbers]
        taken = np.flatnonzero(of_entries)
        data, ends = self._chunk.data, self._identities[name][1]
        for number, identity_end, *places in zip(
            numbers[taken].tolist(),
            ends[taken].tolist(),
            *(positions[taken].tolist() for positions in ranges.arrays()[1:]),
            strict=True,
        ):
            key_end, value_start, value_end = places
            group, identity = self._waiting[number]
            user_key = data[identity_end:key_end].tobytes()
            group.put(state, identity, user_key, data[value_start:value_end].tobytes())
        return ranges.chosen(~of_entries) if len(taken) else ranges

    def applied(self) -> Entries:
        """Entries after the changes of the identities that are in the chunk."""
        entries: Entries = {}
        done: dict[int, tuple[KeyGroupChanges, list[bytes]]] = {}
        for number, (group, identity) in enumerate(self._waiting):
            if self._is_found[number] and identity not in group.merged:
                done.setdefault(group.key_group, (group, []))[1].append(identity)
        for group, identities in done.values():
            _add(entries, group, identities, self._decoders.prefix_size)
        return entries


def _add(
    entries: Entries, changes: KeyGroupChanges, identities: Iterable[bytes], prefix_size: int
) -> None:
    """Adds the entries of some identities after their changes."""
    prefix = key_group_prefix(changes.key_group, prefix_size)
    for name, changed in changes.applied(identities):
        entries.setdefault(name, []).extend((prefix + key, value) for key, value in changed)


def _with_entries(chunk: Chunk, untouched: dict[str, EntryRanges], entries: Entries) -> ChangedPart:
    changed: dict[str, EntryRanges] = {}
    whole = [item for items in entries.values() for item in items]
    if whole:
        chunk, ranges = _laid_behind(chunk, whole)
        first = 0
        for name, of_state in entries.items():
            changed[name] = ranges.chosen(slice(first, first + len(of_state)))
            first += len(of_state)
    return ChangedPart(chunk, untouched, changed)


def _laid_behind(chunk: Chunk, entries: Sequence[tuple[bytes, bytes]]) -> tuple[Chunk, EntryRanges]:
    """Chunk with entries behind it, and their borders."""
    data = b"".join(part for entry in entries for part in entry)
    sizes = np.array([(len(key), len(value)) for key, value in entries], np.int64).reshape(-1, 2)
    ends = len(chunk) + np.cumsum(sizes).reshape(-1, 2)
    starts: NDArray[np.int64] = ends - sizes
    whole = np.concatenate([chunk.data, np.frombuffer(data, np.uint8)])
    ranges = EntryRanges(starts[:, 0], ends[:, 0], starts[:, 1], ends[:, 1])
    return Chunk(whole, chunk.path, chunk.base), ranges
