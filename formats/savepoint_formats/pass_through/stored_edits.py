"""What a change of a changelog does to stored entries: ``state_edits`` with bytes for values.

| part of a change          | bytes in an entry                                             |
|---------------------------|---------------------------------------------------------------|
| key and namespace         | key, [size], namespace, [size]                                |
| a value, an element       | as it lies                                                    |
| a user key                | as it lies                                                    |
| a value in a map          | as it lies, with its flag of null                             |
| a value put into a map    | 00, for it is no null, and the value                          |
| a timer                   | as it lies; it is the key of an entry without a value         |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.sources.key_group_changes import Identity
from savepoint_formats.sources.state_edits import Edit, EditKind, EditReader
from savepoint_formats.state_files.changelog import StateChangeOperation
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values.state_entries import is_ambiguous

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.values.kryo.dialect import KryoDialect

_NO_NULL = b"\0"


@dataclass(frozen=True, slots=True, eq=False)
class StoredEdit:
    """An edit of stored entries.

    Attributes:
        key_group: The key group of the key.
        identity: Key and namespace as they are stored, or a timer.
        edit: What is done, with bytes for user keys and values.
        sources: The identities that are merged into this one.
        view: Where the change is from.
    """

    key_group: int
    identity: bytes
    edit: Edit
    sources: tuple[bytes, ...]
    view: DataInputView


class StoredEditReader(EditReader):
    """Reads the changes of one state, of which it decodes no more than where anything ends.

    Args:
        state: The state.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        super().__init__(state, kryo)
        self._has_suffixes = is_ambiguous(key_layout(state), namespace_layout(state))

    def edits(self, change: KeyedChange) -> Iterator[StoredEdit]:
        """What a change does.

        Raises:
            FormatError: It is damaged, or of an operation that the state has not.
            UndecodableError: It cannot be told where a key, a value or a timer ends.
        """
        if self.state.kind is StateKind.TIMERS:
            yield from self._timers(change)
            return
        found = self.read(change.operation, change.body)
        identity, *sources = (
            Identity(found.key, namespace, self._has_suffixes).as_in_entries()
            for namespace in (found.namespace, *found.edit.namespaces)
        )
        yield StoredEdit(change.key_group, identity, found.edit, tuple(sources), change.body)

    def _timers(self, change: KeyedChange) -> Iterator[StoredEdit]:
        view, operation = change.body, change.operation
        is_added = operation is StateChangeOperation.ADD_ELEMENT
        if not is_added and operation is not StateChangeOperation.REMOVE_ELEMENT:
            raise view.error(f"a change {operation.name} of the timers {self.state.name!r}")
        kind = EditKind.REPLACE if is_added else EditKind.CLEAR
        for _ in range(view.read_count() if is_added else 1):
            timer = self._value(self.state.stored, view)
            yield StoredEdit(change.key_group, timer, Edit(kind, (None,), (b"",)), (), view)
        view.expect_end()

    def _value(self, layout: Layout, view: DataInputView, *, is_last: bool = False) -> bytes:
        start = view.position
        super()._value(layout, view, is_last=is_last)
        return bytes(view.buffer[start : view.position])

    def _elements(self, element: Layout, view: DataInputView) -> Sequence[bytes]:
        return [self._value(element, view) for _ in range(view.read_count())]

    def _pairs(
        self, key: Layout, value: Layout, view: DataInputView
    ) -> Sequence[tuple[bytes, bytes]]:
        return [
            (self._value(key, view), self._value(value, view)) for _ in range(view.read_count())
        ]

    def _plain_value(self, value: Layout, view: DataInputView) -> bytes:
        return _NO_NULL + bytes(super()._plain_value(value, view))
