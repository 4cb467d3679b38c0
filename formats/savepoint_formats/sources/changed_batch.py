"""Batches of keyed state with changes applied to them.

The identities that are changed are laid behind a batch's bytes, in the form that the batch has,
and are found among its entries by their bytes. Entries of other identities are not touched.

| batch           | bytes of an identity                                          |
|-----------------|---------------------------------------------------------------|
| with a prefix   | key group, key, [size], namespace, [size]: ``state_entries``  |
| without         | namespace, key                                                |
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.key_rows import KeyRows
from savepoint_formats.layout import Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.sources.changed_state import StateEntries, apart, with_edits
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.sources.state_rows import StateRows
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_formats.sources.changed_state import NumberedEdit
    from savepoint_formats.sources.key_group_changes import KeyGroupChanges
    from savepoint_formats.values.kryo.dialect import KryoDialect


def changed_batch(batch: KeyedBatch, changes: Sequence[KeyGroupChanges]) -> KeyedBatch:
    """A batch after those changes whose identities are in it.

    Entries of identities that changes merge are taken out, and held back.

    Args:
        batch: All entries of some identities.
        changes: Those of its key groups.

    Raises:
        UndecodableError: A change cannot be applied.
    """
    numbered = _NumberedBatch(batch, changes)
    numbered.hold_merged()
    numbered.edit(numbered.is_found())
    return numbered.batch()


def remaining_batch(changes: KeyGroupChanges, kryo: KryoDialect | None) -> KeyedBatch:
    """What is there of the identities of a key group that no batch had, or that were held back.

    Args:
        changes: Those of the key group.
        kryo: What is known of the Kryo that wrote object graphs.

    Raises:
        UndecodableError: A change cannot be applied.
    """
    layouts = namespace_layout(changes.state), key_layout(changes.state)
    identity = program(Struct(("namespace", "key"), layouts), kryo)
    nothing = KeyedBatch(Chunk(np.empty(0, np.uint8)), identity, {}, changes.key_group)
    numbered = _NumberedBatch(nothing, [changes])
    numbered.put_back(changes)
    numbered.edit(np.ones(numbered.waiting, np.bool_))
    return numbered.batch()


class _NumberedBatch:
    """A batch whose identities have numbers, those first that wait for it to be changed."""

    def __init__(self, batch: KeyedBatch, changes: Sequence[KeyGroupChanges]) -> None:
        numbers = [(group, number) for group in changes for number in sorted(group.waiting)]
        self.waiting = len(numbers)
        self._batch = batch
        # By number in the key group: the number here, or -1.
        self._groups = [(group, np.full(len(group.identities), -1)) for group in changes]
        places = {group.key_group: here for group, here in self._groups}
        for index, (group, number) in enumerate(numbers):
            places[group.key_group][number] = index
        self._chunk, starts, ends = _extended(batch, numbers)
        self._rows = KeyRows(self._chunk, batch.prefix_size)
        self._rows.rows(starts, ends)
        self._states = {name: self._numbered(rows) for name, rows in batch.states.items()}

    def _numbered(self, rows: StateRows) -> StateEntries:
        numbers = self._rows.rows(rows.starts, rows.ends).astype(np.int64)
        return StateEntries(numbers, rows.values, rows.user_keys)

    def is_found(self) -> NDArray[np.bool_]:
        """For each of those that wait: whether the batch has any entries of it."""
        is_found = np.zeros(len(self._rows), np.bool_)
        for entries in self._states.values():
            is_found[entries.numbers] = True
        return is_found[: self.waiting]

    def hold_merged(self) -> None:
        """Takes out the entries of identities that changes merge."""
        for group, here in self._groups:
            merged = [number for number in group.merged if here[number] >= 0]
            number_there = np.full(len(self._rows), -1)
            number_there[here[merged]] = merged
            for name, entries in self._states.items() if merged else ():
                is_held = number_there[entries.numbers] >= 0
                if is_held.any():
                    group.hold(name, entries.chosen(is_held).numbered(number_there))
                    self._states[name] = entries.chosen(~is_held)

    def put_back(self, group: KeyGroupChanges) -> None:
        """Puts in what was taken out of other batches."""
        ((_, here),) = self._groups
        for name, held in group.held.items():
            self._states[name] = StateEntries.joined(held).numbered(here)

    def edit(self, is_wanted: NDArray[np.bool_]) -> None:
        """Applies the changes of some of those that wait."""
        edits: dict[str, list[NumberedEdit]] = {}
        for group, here in self._groups:
            waiting = np.flatnonzero(here >= 0)
            for edit in group.take(waiting[is_wanted[here[waiting]]].tolist()):
                sources = tuple(int(here[source]) for source in edit.sources)
                numbered = replace(edit, number=int(here[edit.number]), sources=sources)
                edits.setdefault(edit.state.name, []).append(numbered)
        for name, mine in edits.items():
            self._states[name] = _edited(self._states.get(name), mine)

    def batch(self) -> KeyedBatch:
        """The batch again, with the states that have any entries."""
        rows = {
            name: StateRows(
                self._rows.key_starts[entries.numbers],
                self._rows.key_ends[entries.numbers],
                entries.values,
                entries.user_keys,
            )
            for name, entries in self._states.items()
            if len(entries.numbers)
        }
        return replace(self._batch, chunk=self._chunk, states=rows)


def _edited(before: StateEntries | None, edits: list[NumberedEdit]) -> StateEntries:
    if before is None:
        return with_edits(None, edits)
    if edits[0].state.kind is StateKind.MAP:
        before = apart(before)
    is_edited = np.isin(before.numbers, [n for one in edits for n in (one.number, *one.sources)])
    after = with_edits(before.chosen(is_edited), edits)
    return StateEntries.joined([before.chosen(~is_edited), after])


def _extended(
    batch: KeyedBatch, numbers: list[tuple[KeyGroupChanges, int]]
) -> tuple[Chunk, NDArray[np.int64], NDArray[np.int64]]:
    """The bytes of a batch with identities behind them, and where these begin and end."""
    data = bytearray()
    starts, ends = [], []
    for group, number in numbers:
        identity = group.identities[number]
        if batch.prefix_size:
            data += group.key_group.to_bytes(batch.prefix_size, "big")
        starts.append(len(data))
        data += identity.as_in_entries() if batch.prefix_size else identity.as_in_heap_files()
        ends.append(len(data))
    chunk = batch.chunk
    whole = np.concatenate([chunk.data, np.frombuffer(data, np.uint8)])
    positions = np.array([starts, ends], np.int64) + len(chunk)
    return Chunk(whole, chunk.path, chunk.base), positions[0], positions[1]
