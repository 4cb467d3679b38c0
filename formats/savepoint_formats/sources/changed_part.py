"""The changes of a changelog, applied to entries that lie in a chunk.

The identities that are changed are laid behind the bytes of a chunk, and are found among its entries
by their bytes. What changes touch is taken out, and laid behind the rest as it is after them.
Nothing else is touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_spans import EntrySpans, key_group_prefix
from savepoint_formats.entries.key_rows import KeyRows, row_numbers
from savepoint_formats.layout import Byte, Framed, Opaque
from savepoint_formats.state_files.state import State, StateKind, key_layout

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.sources.entry_decoders import EntryDecoders
    from savepoint_formats.sources.key_group_changes import KeyGroupChanges

    Entries = dict[str, list[tuple[bytes, bytes]]]
    """Name of a state -> keys with their key groups, and values."""


_NO_VALUE = b"\0"


@dataclass(frozen=True, slots=True, eq=False)
class ChangedPart:
    """Entries after changes, all in one chunk.

    Attributes:
        chunk: Where they lie.
        untouched: Those that no change concerns, as the materialized state has them.
        changed: Those that are there instead of others, as the changelog has them.
        values: The values of untouched states of which there are but the keys in the chunk.
    """

    chunk: Chunk
    untouched: dict[str, EntrySpans]
    changed: dict[str, EntrySpans]
    values: Mapping[str, pa.Array] = field(default_factory=dict)


def changed_part(
    part: Part,
    decoders: EntryDecoders,
    changes: Sequence[KeyGroupChanges],
    values: Mapping[str, pa.Array],
) -> ChangedPart:
    """Entries after those changes whose identities are among them.

    Entries of identities that changes merge are taken out, and held back.

    Args:
        part: All entries of some identities.
        decoders: Of the states that they are of.
        changes: Those of their key groups.
        values: See ``ChangedPart``; of states that no change concerns.

    Raises:
        UndecodableError: A change cannot be applied.
    """
    numbered = _NumberedPart(part, decoders, changes, values)
    untouched = {name: numbered.taken_from(name) for name in part[1]}
    changed = _with_entries(
        part[0],
        {name: spans for name, spans in untouched.items() if len(spans)},
        numbered.applied(),
    )
    return replace(changed, values=values)


def remaining_part(changes: KeyGroupChanges, prefix_size: int) -> ChangedPart:
    """What is there of the identities of a key group that no part had, or that were held back.

    Raises:
        UndecodableError: A change cannot be applied.
    """
    entries: Entries = {}
    _add(entries, changes, list(changes.waiting), prefix_size)
    return _with_entries(Chunk(np.empty(0, np.uint8)), {}, entries)


def undecided_parts(
    changes: KeyGroupChanges, prefix_size: int
) -> Iterator[tuple[State, ChangedPart]]:
    """Changes of which nobody can tell the key, as entries of states that have but rows."""
    prefix = key_group_prefix(changes.key_group, prefix_size)
    for (name, operation), wholes in changes.undecided.items():
        key = key_layout(changes.states[name])
        assert isinstance(key, Opaque)  # else its end is known
        reason = (
            f"{key.reason}; these bytes are a change {operation} of state {name!r}, with its key in"
            " front, which has several possible ends: all that this state has in the key group is"
            " shown so"
        )
        shown = Framed(Opaque(key.class_name, reason))
        state = State(f"{name}: {operation}", StateKind.VALUE, Byte(), shown)
        entries = {state.name: [(prefix + whole, _NO_VALUE) for whole in wholes]}
        yield state, _with_entries(Chunk(np.empty(0, np.uint8)), {}, entries)


class _NumberedPart:
    """A part whose identities have numbers, those first that wait for it to be changed."""

    def __init__(
        self,
        part: Part,
        decoders: EntryDecoders,
        changes: Sequence[KeyGroupChanges],
        keys_only: Container[str],
    ) -> None:
        self._decoders = decoders
        self._waiting = [(group, identity) for group in changes for identity in group.waiting]
        chunk, spans = part
        prefix = decoders.prefix_size
        keys = [
            key_group_prefix(group.key_group, prefix) + identity
            for group, identity in self._waiting
        ]
        self._chunk, waiting = _laid_behind(chunk, [(key, b"") for key in keys])
        rows = KeyRows(self._chunk, prefix)
        rows.rows(waiting.key_starts + prefix, waiting.key_ends)
        self._spans = spans
        self._identities = {
            name: (of_state.key_starts + prefix, of_state.key_ends)
            if name in keys_only
            else decoders.identities(name, self._chunk, of_state)
            for name, of_state in spans.items()
        }
        self._numbers = {
            name: row_numbers(rows.rows(*identities))
            for name, identities in self._identities.items()
        }
        self._is_found = np.zeros(len(rows), np.bool_)
        for numbers in self._numbers.values():
            self._is_found[numbers] = True

    def taken_from(self, name: str) -> EntrySpans:
        """Gives changes the entries of a state that they concern; the others are returned."""
        state, spans, numbers = self._decoders.states[name], self._spans[name], self._numbers[name]
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
            *(positions[taken].tolist() for positions in spans.arrays()[1:]),
            strict=True,
        ):
            key_end, value_start, value_end = places
            group, identity = self._waiting[number]
            user_key = data[identity_end:key_end].tobytes()
            group.put(state, identity, user_key, data[value_start:value_end].tobytes())
        return spans.chosen(~of_entries) if len(taken) else spans

    def applied(self) -> Entries:
        """What there is after the changes of the identities that were found."""
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
    """Adds what a key group has of some identities after its changes."""
    prefix = key_group_prefix(changes.key_group, prefix_size)
    for name, changed in changes.applied(identities):
        entries.setdefault(name, []).extend((prefix + key, value) for key, value in changed)


def _with_entries(chunk: Chunk, untouched: dict[str, EntrySpans], entries: Entries) -> ChangedPart:
    changed: dict[str, EntrySpans] = {}
    whole = [item for items in entries.values() for item in items]
    if whole:
        chunk, spans = _laid_behind(chunk, whole)
        first = 0
        for name, of_state in entries.items():
            changed[name] = spans.chosen(slice(first, first + len(of_state)))
            first += len(of_state)
    return ChangedPart(chunk, untouched, changed)


def _laid_behind(chunk: Chunk, entries: Sequence[tuple[bytes, bytes]]) -> tuple[Chunk, EntrySpans]:
    """A chunk with entries behind it, and where these lie in it."""
    data = b"".join(part for entry in entries for part in entry)
    sizes = np.array([(len(key), len(value)) for key, value in entries], np.int64).reshape(-1, 2)
    ends = len(chunk) + np.cumsum(sizes).reshape(-1, 2)
    starts: NDArray[np.int64] = ends - sizes
    whole = np.concatenate([chunk.data, np.frombuffer(data, np.uint8)])
    spans = EntrySpans(starts[:, 0], ends[:, 0], starts[:, 1], ends[:, 1])
    return Chunk(whole, chunk.path, chunk.base), spans
