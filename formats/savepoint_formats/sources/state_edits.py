"""What a change of a changelog does to the values of a state, read from its payload.

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

Flink: ``KvStateChangeApplier`` and its subclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, opaque_parts
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values.arrow_types import is_nullable_key
from savepoint_formats.values.map_entries import pairs_of
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect


class EditKind(Enum):
    """What an edit does to what the state has under a key and a namespace."""

    CLEAR = auto()
    REPLACE = auto()
    ADD = auto()
    REMOVE = auto()
    MERGE = auto()


@dataclass(frozen=True, slots=True)
class Edit:
    """A change, with Python values.

    Attributes:
        kind: What it does.
        user_keys: To put or to remove; as many nulls as values for what is no map.
        values: Values, or elements.
        namespaces: The bytes of the namespaces to merge into this one.
    """

    kind: EditKind
    user_keys: tuple[Value, ...] = ()
    values: tuple[Value, ...] = ()
    namespaces: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class IdentifiedEdit:
    """An edit and what it is of: the bytes of a key, and of a namespace."""

    key: bytes
    namespace: bytes
    edit: Edit


_CLEAR = Edit(EditKind.CLEAR)
_SETS = (Operation.SET, Operation.SET_INTERNAL)
_PUTS = (Operation.ADD_ELEMENT, Operation.ADD_OR_UPDATE_ELEMENT)


class EditReader:
    """Reads the changes of one state.

    Args:
        state: The state.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        self.state = state
        self._kryo = kryo
        self._key = key_layout(state)
        self._namespace = namespace_layout(state)
        self._has_unknown_key = any(opaque_parts(self._key))

    def read(self, operation: Operation, view: DataInputView) -> IdentifiedEdit:
        """The change whose key begins where the view does; it ends where the view does.

        Raises:
            FormatError: It is damaged, or of an operation that the state has not.
            UndecodableError: It cannot be told where its key, or a value in it, ends.
        """
        try:
            if self._has_unknown_key:
                return self._behind_unknown_key(operation, view)
            key = self._bytes_of(self._key, view)
            return self._behind_key(key, operation, view)
        except FormatError as error:
            error.add_note(f"in a change of state {self.state.name!r}")
            error.within(f"state {self.state.name!r}")
            raise

    def _behind_key(self, key: bytes, operation: Operation, view: DataInputView) -> IdentifiedEdit:
        namespace = self._bytes_of(self._namespace, view)
        edit = self._payload(operation, view)
        view.expect_end()
        return IdentifiedEdit(key, namespace, edit)

    def _behind_unknown_key(self, operation: Operation, view: DataInputView) -> IdentifiedEdit:
        """The change, if all but one end of the key make it impossible to read."""
        start, found = view.position, []
        for end in range(start, view.end):
            view.position = end
            try:
                key = bytes(view.buffer[start:end])
                found.append(self._behind_key(key, operation, view))
            except UndecodableError:
                break
            except FormatError:
                continue
        else:
            if len(found) == 1:
                return found[0]
        view.position = start
        reason = next(part.reason for part in opaque_parts(self._key))
        message = f"a change of state {self.state.name!r} has a key of unknown size: {reason}"
        raise view.error(message, UndecodableError)

    def _bytes_of(self, layout: Layout, view: DataInputView) -> bytes:
        start = view.position
        self._value(layout, view)
        return bytes(view.buffer[start : view.position])

    def _value(self, layout: Layout, view: DataInputView, *, is_last: bool = False) -> Value:
        """A value, which may end in bytes that cannot be decoded only if it is the last."""
        reader = ValueReader(view, self._kryo)
        value = reader.read(layout)
        if reader.is_lost and not is_last:
            raise self._undecodable(reader.reason, view)
        return value

    def _payload(self, operation: Operation, view: DataInputView) -> Edit:
        kind, stored = self.state.kind, self.state.stored
        if operation is Operation.CLEAR:
            return _CLEAR
        if operation is Operation.MERGE_NS and kind is not StateKind.VALUE:
            return self._merge(view)
        match kind, stored:
            case StateKind.LIST, Repeated(element):
                return self._list(element, operation, view)
            case StateKind.MAP, MapOf(key, value):
                return self._map(key, value, operation, view)
            case ((StateKind.LIST | StateKind.MAP), _):
                reason = next((part.reason for part in opaque_parts(stored)), "no such collection")
                raise self._undecodable(reason, view)
            case _:
                return self._single(operation, view)

    def _unknown(self, operation: Operation, view: DataInputView) -> FormatError:
        state = f"state {self.state.name!r}, a {self.state.kind} state"
        return view.error(f"a change {operation.name} of {state}, which has no such change")

    def _undecodable(self, reason: str, view: DataInputView) -> UndecodableError:
        message = f"a change of state {self.state.name!r} cannot be read: {reason}"
        return view.error(message, UndecodableError)

    def _single(self, operation: Operation, view: DataInputView) -> Edit:
        is_internal = self.state.kind is not StateKind.VALUE
        if operation is Operation.SET or (is_internal and operation is Operation.SET_INTERNAL):
            value = self._value(self.state.stored, view, is_last=True)
            return Edit(EditKind.REPLACE, (None,), (value,))
        raise self._unknown(operation, view)

    def _list(self, element: Layout, operation: Operation, view: DataInputView) -> Edit:
        if operation in (*_SETS, Operation.ADD):
            kind = EditKind.ADD if operation is Operation.ADD else EditKind.REPLACE
            values = self._elements(element, view)
            return Edit(kind, (None,) * len(values), tuple(values))
        if operation is Operation.ADD_ELEMENT:
            value = self._value(element, view, is_last=True)
            return Edit(EditKind.ADD, (None,), (value,))
        raise self._unknown(operation, view)

    def _map(self, key: Layout, value: Layout, operation: Operation, view: DataInputView) -> Edit:
        if operation is Operation.ADD:
            pairs = self._pairs(key, value, view)
            keys, values = zip(*pairs, strict=True) if pairs else ((), ())
            return Edit(EditKind.ADD, keys, values)
        if operation in _PUTS:
            user_key = self._user_key(key, view)
            return Edit(EditKind.ADD, (user_key,), (self._plain_value(value, view),))
        if operation is Operation.REMOVE_ELEMENT:
            return Edit(EditKind.REMOVE, (self._user_key(key, view),), (None,))
        raise self._unknown(operation, view)

    def _elements(self, element: Layout, view: DataInputView) -> Sequence[Value]:
        return list(self._value(Repeated(element), view))

    def _pairs(
        self, key: Layout, value: Layout, view: DataInputView
    ) -> Sequence[tuple[Value, Value]]:
        return pairs_of(self._value(MapOf(key, value), view))

    def _plain_value(self, value: Layout, view: DataInputView) -> Value:
        """The value of a map, which has no flag of null here."""
        plain = value.inner if isinstance(value, Nullable) else value
        return self._value(plain, view, is_last=True)

    def _user_key(self, layout: Layout, view: DataInputView) -> Value:
        start = view.position
        key = self._value(layout, view)
        if key is None and not is_nullable_key(layout):
            view.position = start
            raise view.error("a null key, which Arrow's maps have not", UndecodableError)
        return key

    def _merge(self, view: DataInputView) -> Edit:
        # The change is of the target already, which its payload names once more.
        self._bytes_of(self._namespace, view)
        count = view.read_count()
        return Edit(
            EditKind.MERGE,
            namespaces=tuple(self._bytes_of(self._namespace, view) for _ in range(count)),
        )
