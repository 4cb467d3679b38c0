"""What one state has after changes: what it had before, and what the changes did to it.

Values are not moved about. Those of before and those of the changes lie in one array, and for
each identity (a key and a namespace) there is a table of which of them it has: by user key in a
map, one behind the other in a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated
from savepoint_formats.sources.state_edits import EditKind
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kinds.equality import comparable

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.sources.state_edits import Edit
    from savepoint_formats.values.kinds.codec import Value


@dataclass(frozen=True, slots=True, eq=False)
class StateEntries:
    """Values of a state, and what each is of.

    Attributes:
        numbers: The number of each one's identity.
        values: The values; of a map, lists and maps apart, those of its user keys.
        user_keys: The user keys of a map whose entries are apart.
    """

    numbers: NDArray[np.int64]
    values: pa.Array
    user_keys: pa.Array | None = None

    @classmethod
    def joined(cls, parts: Sequence[StateEntries]) -> StateEntries:
        """All entries of several parts, one at least."""
        user_keys = [part.user_keys for part in parts if part.user_keys is not None]
        return cls(
            np.concatenate([part.numbers for part in parts]),
            pa.concat_arrays([part.values for part in parts]),
            pa.concat_arrays(user_keys) if user_keys else None,
        )

    def chosen(self, is_chosen: NDArray[np.bool_]) -> StateEntries:
        """Some of the entries."""
        mask = pa.array(is_chosen)
        user_keys = None if self.user_keys is None else self.user_keys.filter(mask)
        return StateEntries(self.numbers[is_chosen], self.values.filter(mask), user_keys)

    def numbered(self, numbers: NDArray[np.int64]) -> StateEntries:
        """The same entries, of identities that now have other numbers."""
        return StateEntries(numbers[self.numbers], self.values, self.user_keys)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedEdit:
    """An edit of a state.

    Attributes:
        state: The state, as it was when it was changed.
        number: Of the identity that is changed.
        edit: What is done to it.
        sources: The numbers of the identities that are merged into it.
        view: Where the change is from.
    """

    state: State
    number: int
    edit: Edit
    sources: tuple[int, ...]
    view: DataInputView


def with_edits(before: StateEntries | None, edits: Sequence[NumberedEdit]) -> StateEntries:
    """What a state has after edits.

    Args:
        before: What the identities that are edited had.
        edits: Edits of one state in order; one at least.

    Returns:
        Whole lists; of maps, each user key apart.

    Raises:
        UndecodableError: Values were merged as only the job's function can.
    """
    state = edits[-1].state
    items = _no_items(state) if before is None else _items(state, before)
    return _collected(state, _EditedState(state, edits).applied(items))


def apart(before: StateEntries) -> StateEntries:
    """The entries of maps, each user key apart."""
    maps = before.values
    if before.user_keys is not None:
        return before
    offsets = maps.offsets.to_numpy()
    span = slice(int(offsets[0]), int(offsets[-1]))
    is_map = pa.types.is_map(maps.type)
    keys, values = (maps.keys, maps.items) if is_map else maps.values.flatten()
    return StateEntries(np.repeat(before.numbers, np.diff(offsets)), values[span], keys[span])


def _items(state: State, before: StateEntries) -> StateEntries:
    """Elements of lists and entries of maps, each apart."""
    match state.kind:
        case StateKind.MAP:
            return apart(before)
        case StateKind.LIST:
            counts = np.diff(before.values.offsets.to_numpy())
            return StateEntries(np.repeat(before.numbers, counts), before.values.flatten())
        case _:
            return before


def _no_items(state: State) -> StateEntries:
    user_key, value = _item_layouts(state)
    user_keys = None if user_key is None else pa.array([], arrow_type(user_key))
    return StateEntries(np.empty(0, np.int64), pa.array([], arrow_type(value)), user_keys)


def _collected(state: State, items: StateEntries) -> StateEntries:
    """Lists of the elements that belong together."""
    numbers = items.numbers
    if state.kind is not StateKind.LIST:
        return items
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    offsets = pa.array(np.append(starts, len(numbers)).astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, items.values, type=arrow_type(state.stored))
    return StateEntries(numbers[starts], lists)


def _item_layouts(state: State) -> tuple[Layout | None, Layout]:
    """The layouts of user keys and of values."""
    match state.kind, state.stored:
        case StateKind.LIST, Repeated(element):
            return None, element
        case StateKind.MAP, MapOf(key, Nullable(value)):
            return key, value
        case StateKind.MAP, MapOf(key, value):
            return key, value
        case _, stored:
            return None, stored


class _EditedState:
    """A state and edits of it."""

    def __init__(self, state: State, edits: Sequence[NumberedEdit]) -> None:
        self._state = state
        self._edits = edits

    def applied(self, before: StateEntries) -> StateEntries:
        """Items after the edits; those of one identity side by side."""
        user_key, value = _item_layouts(self._state)
        values = self._combined(
            before.values, [one for edit in self._edits for one in edit.edit.values], value
        )
        user_keys: pa.Array | None = None
        names: Sequence[Hashable] = range(len(values))
        if user_key is not None:
            added = [one for edit in self._edits for one in edit.edit.user_keys]
            user_keys = self._combined(before.user_keys, added, user_key)
            names = comparable(user_keys)
        contents = self._contents(before.numbers.tolist(), names)
        numbers = [number for number, found in contents.items() for _ in found]
        indices = [index for found in contents.values() for index in found.values()]
        chosen = pa.array(indices, pa.int64())
        return StateEntries(
            np.array(numbers, np.int64),
            values.take(chosen),
            None if user_keys is None else user_keys.take(chosen),
        )

    def _combined(self, before: pa.Array, added: list[Value], layout: Layout) -> pa.Array:
        """The values of before, and behind them those of the edits."""
        type_of_changes = arrow_type(layout)
        if before.type != type_of_changes:
            message = (
                f"state {self._state.name!r} was of type {before.type} when it was materialized,"
                f" and is of type {type_of_changes} in the changelog: take a savepoint of the job"
            )
            raise self._edits[0].view.error(message, UndecodableError)
        return pa.concat_arrays([before, pa.array(added, type_of_changes)])

    def _contents(
        self, before: list[int], names: Sequence[Hashable]
    ) -> dict[int, dict[Hashable, int]]:
        """Number of an identity -> name -> index of each item."""
        contents = _Contents(names)
        for index, number in enumerate(before):
            contents.add(number, [index])
        position = len(before)
        for one in self._edits:
            added = range(position, position + len(one.edit.values))
            position = added.stop
            contents.apply(one, added)
        self._check_merged(contents)
        return contents.items

    def _check_merged(self, contents: _Contents) -> None:
        if self._state.kind in (StateKind.LIST, StateKind.MAP):
            return
        for number, found in contents.items.items():
            if len(found) > 1:
                message = (
                    f"state {self._state.name!r} has {len(found)} values whose namespaces were"
                    " merged, which only the job's function can: take a savepoint of the job"
                )
                raise contents.merges[number].error(message, UndecodableError)


class _Contents:
    """What identities have.

    Attributes:
        items: Number of an identity -> name -> index of each item.
        merges: Number of an identity -> the last change that merged others into it.
    """

    def __init__(self, names: Sequence[Hashable]) -> None:
        self._names = names
        self.items: dict[int, dict[Hashable, int]] = {}
        self.merges: dict[int, DataInputView] = {}

    def add(self, number: int, indices: Sequence[int]) -> None:
        """Puts entries into a map, appends to a list."""
        found = self.items.setdefault(number, {})
        found.update((self._names[index], index) for index in indices)

    def apply(self, one: NumberedEdit, added: range) -> None:
        """Does what an edit does; its values have the indices ``added``."""
        match one.edit.kind:
            case EditKind.CLEAR:
                self.items.pop(one.number, None)
            case EditKind.REPLACE:
                self.items.pop(one.number, None)
                self.add(one.number, added)
            case EditKind.ADD:
                self.add(one.number, added)
            case EditKind.REMOVE:
                found = self.items.get(one.number, {})
                for index in added:
                    found.pop(self._names[index], None)
            case EditKind.MERGE:
                self.merges[one.number] = one.view
                for source in one.sources:
                    self.add(one.number, list(self.items.pop(source, {}).values()))
