"""The serializers of an operator's keyed state, as the headers of its files have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.catalog import base_handles, raw_keyed_handle
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.metadata import ChangelogHandle
from savepoint_formats.scan.stored_raw_timers import raw_timer_infos
from savepoint_formats.state_files.changelog import read_registrations
from savepoint_formats.state_files.header import (
    VALUE_SERIALIZER,
    HeaderBytes,
    KeyedBackendHeader,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo
    from state_processor.savepoint import Operator


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
            FormatError: A header is damaged.
        """
        headers = [KeyedBackendHeader.parse(found) for found in _headers(operator)]
        states = {state.name: state for header in headers for state in header.states}
        for info in _registered(operator):
            states.setdefault(info.name, info)
        timers = {info.name: info for info in _raw_timers(operator)}
        if not states and not timers:
            raise StateNotFoundError(f"operator {operator.name} has no keyed state")
        if headers:
            key = headers[0].key_serializer.snapshot
        else:
            timer = next(iter(timers.values())).serializer(VALUE_SERIALIZER)
            assert timer is not None  # every queue has one
            key = timer.nested[0]
        return cls(key, tuple({**states, **timers}.values()))


def _registered(operator: Operator) -> Iterator[StateMetaInfo]:
    """The states that changelogs register."""
    for subtask in operator.record.subtasks:
        handle = subtask.managed_keyed_state
        if isinstance(handle, ChangelogHandle):
            for one in read_registrations(operator.directory, handle):
                yield one.info


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
