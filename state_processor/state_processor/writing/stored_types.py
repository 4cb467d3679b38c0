"""The serializers of an operator's keyed state, as the headers of its files have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import KeyTypeError, StateNotFoundError
from savepoint_formats.metadata import ChangelogHandle
from savepoint_formats.state_files.changelog import read_registrations
from savepoint_formats.state_files.header import (
    VALUE_SERIALIZER,
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
)
from savepoint_formats.state_files.raw_timers import raw_timer_infos
from savepoint_formats.tables.catalog import base_handles, raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo
    from state_processor.snapshot.operator import Operator


@dataclass(frozen=True)
class StoredTypes:
    """What writing more of the same needs to know.

    Attributes:
        key: The serializer of the keys.
        states: What the headers say of each state, timers among them.
    """

    key: TypeSerializerSnapshot
    states: tuple[StateMetaInfo, ...]

    @classmethod
    def of(cls, operator: Operator) -> Self:
        """Those of an operator; subtasks may differ in the states that they have.

        Raises:
            StateNotFoundError: It has no keyed state.
            KeyTypeError: Nobody tells the type of its keys.
            FormatError: A header is damaged.
        """
        headers = [KeyedBackendHeader.parse(found) for found in _headers(operator)]
        states = {state.name: state for header in headers for state in header.states}
        for info in _registered(operator):
            states.setdefault(info.name, info)
        timers = {info.name: info for info in _raw_timers(operator)}
        if not states and not timers:
            raise StateNotFoundError(f"operator {operator.name} has no keyed state")
        infos = tuple({**states, **timers}.values())
        if headers:
            return cls(headers[0].key_serializer.snapshot, infos)
        key = _key_of_timers(infos) or operator.key_type
        if key is None:
            raise KeyTypeError(
                f"no file of operator {operator.name} tells the type of its keys, which a new"
                f" savepoint has to: tell it, as key_types={{{operator.name!r}: Types.STRING()}}"
                f" or --key-type {operator.name}=STRING"
            )
        return cls(key, infos)


def _key_of_timers(states: tuple[StateMetaInfo, ...]) -> TypeSerializerSnapshot | None:
    """The serializer of keys, if there are timers: theirs begins with it."""
    for info in states:
        timer = info.serializer(VALUE_SERIALIZER)
        if info.type is BackendStateType.PRIORITY_QUEUE and timer is not None and timer.nested:
            return timer.nested[0]
    return None


def _registered(operator: Operator) -> Iterator[StateMetaInfo]:
    """The states that changelogs register."""
    for subtask in operator.record.subtasks:
        handle = subtask.managed_keyed_state
        if isinstance(handle, ChangelogHandle):
            for registration in read_registrations(operator.directory, handle):
                yield registration.info


def _raw_timers(operator: Operator) -> Iterator[StateMetaInfo]:
    """The queues that timers among raw keyed state become."""
    for subtask in operator.record.subtasks:
        handle = raw_keyed_handle(subtask)
        if handle is not None:
            yield from raw_timer_infos(operator.directory, handle, operator.kryo)


def _headers(operator: Operator) -> Iterator[HeaderBytes]:
    """The header of each file of keyed state."""
    for subtask in operator.record.subtasks:
        handle = subtask.managed_keyed_state
        for base in base_handles(handle):
            yield HeaderBytes.of_keyed_state(operator.directory, base)
