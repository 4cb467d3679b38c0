"""Reads the edits that a change of a changelog makes to the values of a state.

| state                 | operation                          | payload                             |
|-----------------------|------------------------------------|-------------------------------------|
| all                   | CLEAR                              |                                     |
| value                 | SET                                | the value                           |
| reducing, aggregating | SET, SET_INTERNAL                  | the value, or the accumulator       |
| list                  | SET, SET_INTERNAL                  | the list                            |
|                       | ADD                                | a list to append                    |
|                       | ADD_ELEMENT                        | an element to append                |
| map                   | ADD                                | a map to put                        |
|                       | ADD_ELEMENT, ADD_OR_UPDATE_ELEMENT | user key and value, without a flag  |
|                       |                                    | of null                             |
|                       | REMOVE_ELEMENT                     | a user key                          |
| all but value         | MERGE_NS                           | the namespace to merge into; i32 n; |
|                       |                                    | n namespaces to merge               |
| timers                | ADD_ELEMENT                        | i32 n, n timers to add              |
|                       | REMOVE_ELEMENT                     | a timer to remove                   |

A queue of timers is a set: a timer that is added twice is there once. Bytes are the same in
changes and in entries, except for:

| in a change               | in an entry                                                   |
|---------------------------|---------------------------------------------------------------|
| key and namespace         | key, [size], namespace, [size]                                |
| a value put into a map    | 00, because it is not null, and the value                     |
| a timer                   | the key of an entry without a value                           |

Flink: ``KvStateChangeApplier`` and its subclasses, ``PriorityQueueStateChangeApplier``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Layout, Opaque, nodes_of
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values.state_entries import is_ambiguous, length_suffix
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.values.kryo.dialect import KryoDialect


class EditKind(Enum):
    """Effect of an edit on the state of a key and a namespace."""

    CLEAR = auto()
    REPLACE = auto()
    ADD = auto()
    REMOVE = auto()
    MERGE = auto()
    UNDECIDED = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """Effect of a change on the entries of an identity.

    An identity is key and namespace as canonical files store them, or a timer. There is a user key
    per value; it is null if the state is no map. ``sources`` are merged into the identity.
    """

    identity: bytes
    kind: EditKind
    view: DataInputView
    user_keys: tuple[bytes | None, ...] = ()
    values: tuple[bytes, ...] = ()
    sources: tuple[bytes, ...] = ()


_SETS = (Operation.SET, Operation.SET_INTERNAL)
_PUTS = (Operation.ADD_ELEMENT, Operation.ADD_OR_UPDATE_ELEMENT)
_NO_NULL = b"\0"
_VOID = b"\0"


class EditReader:
    """Reads the changes of one state; it decodes only to find ends."""

    def __init__(
        self,
        state: State,
        kryo: KryoDialect | None,
        *,
        has_framed_keys: bool = False,
        shows_undecided: bool = False,
    ) -> None:
        self.state = state
        self._kryo = kryo
        self._key = key_layout(state)
        self._namespace = namespace_layout(state)
        self._has_framed_keys = has_framed_keys
        key = layouts.Framed(self._key) if has_framed_keys else self._key
        self._has_suffixes = is_ambiguous(key, self._namespace)
        self._has_unknown_key = any(nodes_of(self._key, Opaque))
        is_all_unknown = isinstance(self._key, layouts.Opaque)
        has_no_namespace = isinstance(self._namespace, layouts.VoidNamespace)
        self._shows_undecided = shows_undecided and is_all_unknown and has_no_namespace

    def edits(self, change: KeyedChange) -> Iterator[Edit]:
        """Edits of a change.

        Raises ``FormatError`` for an operation that the state doesn't have, and
        ``UndecodableError`` if the end of a key, a value or a timer is unknown.
        """
        operation, view = change.operation, change.body
        try:
            if self.state.kind is StateKind.TIMERS:
                yield from self._timers(operation, view)
            elif self._has_unknown_key:
                yield self._behind_unknown_key(operation, view)
            else:
                yield self._behind_key(self._value(self._key, view), operation, view)
        except FormatError as error:
            error.add_note(f"in a change of state {self.state.name!r}")
            error.within(f"state {self.state.name!r}")
            raise

    def _timers(self, operation: Operation, view: DataInputView) -> Iterator[Edit]:
        is_added = operation is Operation.ADD_ELEMENT
        if not is_added and operation is not Operation.REMOVE_ELEMENT:
            raise view.error(f"a change {operation.name} of the timers {self.state.name!r}")
        kind = EditKind.REPLACE if is_added else EditKind.CLEAR
        for _ in range(view.read_count() if is_added else 1):
            yield Edit(self._value(self.state.stored, view), kind, view, (None,), (b"",))
        view.expect_end()

    def _behind_key(self, key: bytes, operation: Operation, view: DataInputView) -> Edit:
        namespace = self._value(self._namespace, view)
        edit = self._payload(self._identity(key, namespace), operation, view)
        view.expect_end()
        if edit.kind is EditKind.MERGE:
            sources = tuple(self._identity(key, source) for source in edit.sources)
            return replace(edit, sources=sources)
        return edit

    def _identity(self, key: bytes, namespace: bytes) -> bytes:
        if self._has_framed_keys:
            key = len(key).to_bytes(4, "big") + key
        if not self._has_suffixes:
            return key + namespace
        return key + length_suffix(len(key)) + namespace + length_suffix(len(namespace))

    def _behind_unknown_key(self, operation: Operation, view: DataInputView) -> Edit:
        """The edit, if the change can be read with exactly one end of the key."""
        start, edits = view.position, []
        for end in range(start, view.end):
            view.position = end
            try:
                key = bytes(view.buffer[start:end])
                edits.append(self._behind_key(key, operation, view))
            except UndecodableError:
                break
            except FormatError:
                continue
        else:
            if len(edits) == 1:
                return edits[0]
            if edits and self._shows_undecided:
                return Edit(self.whole(view, start), EditKind.UNDECIDED, view)
        view.position = start
        reason = next(part.reason for part in nodes_of(self._key, Opaque))
        message = f"a change of state {self.state.name!r} has a key of unknown size: {reason}"
        raise view.error(message, UndecodableError)

    def whole(self, view: DataInputView, start: int) -> bytes:
        """Identity of a change with an unknown key: all its bytes are the key."""
        return self._identity(bytes(view.buffer[start : view.end]), _VOID)

    def _value(self, layout: Layout, view: DataInputView, *, is_last: bool = False) -> bytes:
        """Bytes of a value; only the last one may end in undecodable bytes."""
        start, reader = view.position, ValueReader(view, self._kryo)
        reader.read(layout)
        if reader.is_lost and not is_last:
            raise self._undecodable(reader.reason, view)
        return bytes(view.buffer[start : view.position])

    def _payload(self, identity: bytes, operation: Operation, view: DataInputView) -> Edit:
        kind, stored = self.state.kind, self.state.stored
        if operation is Operation.CLEAR:
            return Edit(identity, EditKind.CLEAR, view)
        if operation is Operation.MERGE_NS and kind is not StateKind.VALUE:
            return self._merge(identity, view)
        match kind, stored:
            case StateKind.LIST, layouts.Repeated(element):
                return self._list(identity, element, operation, view)
            case StateKind.MAP, layouts.MapOf(key, value):
                return self._map(identity, key, value, operation, view)
            case ((StateKind.LIST | StateKind.MAP), _):
                reason = next(
                    (part.reason for part in nodes_of(stored, Opaque)), "no such collection"
                )
                raise self._undecodable(reason, view)
            case _:
                return self._single(identity, operation, view)

    def _unknown(self, operation: Operation, view: DataInputView) -> FormatError:
        state = f"state {self.state.name!r}, a {self.state.kind} state"
        return view.error(f"a change {operation.name} of {state}, which can't be made there")

    def _undecodable(self, reason: str, view: DataInputView) -> UndecodableError:
        message = f"a change of state {self.state.name!r} cannot be read: {reason}"
        return view.error(message, UndecodableError)

    def _single(self, identity: bytes, operation: Operation, view: DataInputView) -> Edit:
        is_internal = self.state.kind is not StateKind.VALUE
        if operation is Operation.SET or (is_internal and operation is Operation.SET_INTERNAL):
            value = self._value(self.state.stored, view, is_last=True)
            return Edit(identity, EditKind.REPLACE, view, (None,), (value,))
        raise self._unknown(operation, view)

    def _list(
        self, identity: bytes, element: Layout, operation: Operation, view: DataInputView
    ) -> Edit:
        if operation in (*_SETS, Operation.ADD):
            kind = EditKind.ADD if operation is Operation.ADD else EditKind.REPLACE
            values = tuple(self._value(element, view) for _ in range(view.read_count()))
            return Edit(identity, kind, view, (None,) * len(values), values)
        if operation is Operation.ADD_ELEMENT:
            value = self._value(element, view, is_last=True)
            return Edit(identity, EditKind.ADD, view, (None,), (value,))
        raise self._unknown(operation, view)

    def _map(
        self, identity: bytes, key: Layout, value: Layout, operation: Operation, view: DataInputView
    ) -> Edit:
        if operation is Operation.ADD:
            pairs = [
                (self._value(key, view), self._value(value, view)) for _ in range(view.read_count())
            ]
            keys, values = zip(*pairs, strict=True) if pairs else ((), ())
            return Edit(identity, EditKind.ADD, view, keys, values)
        if operation in _PUTS:
            # The value has no flag of null here.
            user_key, plain = self._value(key, view), value
            if isinstance(value, layouts.Nullable):
                plain = value.inner
            stored = _NO_NULL + self._value(plain, view, is_last=True)
            return Edit(identity, EditKind.ADD, view, (user_key,), (stored,))
        if operation is Operation.REMOVE_ELEMENT:
            return Edit(identity, EditKind.REMOVE, view, (self._value(key, view),))
        raise self._unknown(operation, view)

    def _merge(self, identity: bytes, view: DataInputView) -> Edit:
        # The payload repeats the target, which the change has already.
        self._value(self._namespace, view)
        namespaces = (self._value(self._namespace, view) for _ in range(view.read_count()))
        return Edit(identity, EditKind.MERGE, view, sources=tuple(namespaces))
