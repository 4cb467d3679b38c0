"""The serializers of an operator's keyed state, as headers of canonical files have them."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import DamagedError, KeyTypeError, NotFoundError, StateNotFoundError
from savepoint_formats.python_state.stored_forms import is_python_state
from savepoint_formats.snapshots import ShownAs
from savepoint_formats.state_files import (
    VALUE_SERIALIZER,
    BackendStateType,
    as_synchronous,
    key_layout,
)
from savepoint_formats.tables import keyed_headers, raw_timers, registered_infos

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo


@dataclass(frozen=True)
class StoredTypes:
    """The serializers of existing keyed state, timers included; state V2 as ``as_synchronous``."""

    key: TypeSerializerSnapshot
    states: tuple[StateMetaInfo, ...]

    @property
    def serializers(self) -> tuple[TypeSerializerSnapshot, ...]:
        """The serializers of the keys and of all states."""
        return (self.key, *(entry for info in self.states for _, entry in info.serializers))

    @classmethod
    def of(cls, operator: Operator) -> Self:
        """The serializers of an operator, from all subtasks, which may differ in their states.

        Raises ``StateNotFoundError`` without keyed state, ``KeyTypeError`` if the type of its keys is unknown.
        """
        directory, subtasks = operator.directory, operator.record.subtasks
        headers = [header for subtask in subtasks for header in keyed_headers(directory, subtask)]
        states = {state.name: state for header in headers for state in header.states}
        for subtask in subtasks:
            for info in registered_infos(directory, subtask.managed_keyed_state):
                states.setdefault(info.name, info)
        timers = {
            info.name: info
            for subtask in subtasks
            for info in raw_timers(directory, subtask, operator.kryo)
        }
        if not states and not timers:
            raise StateNotFoundError(f"operator {operator.name} has no keyed state")
        infos = tuple(map(as_synchronous, {**states, **timers}.values()))
        key = headers[0].key_serializer if headers else _key_of_timers(infos)
        key = key or operator.key_type
        if key is None:
            raise _unknown_key_types([operator])
        return cls(key, infos)._as_told(operator)

    def _as_told(self, operator: Operator) -> Self:
        """The serializers with the layouts of the job, where the user or PyFlink tells them."""
        told = {state.name: state for state in operator.catalog.states if state.kind.is_keyed}
        has_types = operator.kryo is not None and bool(operator.kryo.python_types)
        is_told = has_types or operator.names is not None or any(map(is_python_state, told))
        if not is_told:
            return self
        infos = []
        for info in self.states:
            snapshot, state = info.serializer(VALUE_SERIALIZER), told[info.name]
            assert snapshot is not None  # every state has one
            infos.append(
                info.with_serializer(
                    VALUE_SERIALIZER, replace(snapshot, shown=ShownAs(state.stored))
                )
            )
        key = key_layout(next(iter(told.values())))
        return type(self)(replace(self.key, shown=ShownAs(key)), tuple(infos))


def expect_key_types(operators: Iterable[Operator]) -> None:
    """Raises one ``KeyTypeError`` for all of these operators whose key type is unknown."""
    unknown = []
    for operator in operators:
        # Writing reports a file that can't be read, with its place.
        with suppress(DamagedError, NotFoundError):
            try:
                StoredTypes.of(operator)
            except KeyTypeError:
                unknown.append(operator)
    if unknown:
        raise _unknown_key_types(unknown)


def _unknown_key_types(operators: Sequence[Operator]) -> KeyTypeError:
    names = [operator.name for operator in operators]
    which = f"operator {names[0]}" if len(names) == 1 else f"{len(names)} operators"
    # No real type as an example: users would copy it, and only the job knows the type.
    options = " ".join(f"--key-type {shlex.quote(f'{name}=TYPE')}" for name in names)
    types = ", ".join(f"{name!r}: TYPE" for name in names)
    return KeyTypeError(
        f"no file tells the type of the keys of {which}, but a new savepoint needs it: give the type"
        f" that keyBy has in the job, by {options}, or by key_types={{{types}}}"
    )


def _key_of_timers(states: tuple[StateMetaInfo, ...]) -> TypeSerializerSnapshot | None:
    """The serializer of keys: the first serializer inside that of timers."""
    for info in states:
        timer = info.serializer(VALUE_SERIALIZER)
        if info.type is BackendStateType.PRIORITY_QUEUE and timer is not None and timer.nested:
            return timer.nested[0]
    return None
