"""Faults of headers of state files, and of offsets in them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.errors import (
    FormatError,
    NotFoundError,
    SavepointError,
    TruncatedError,
    WrongFileError,
)
from savepoint_formats.metadata import ChangelogHandle, IncrementalHandle
from savepoint_formats.metadata.references import COORDINATOR, FileKind, stream_references
from savepoint_formats.printable import printable
from savepoint_formats.state_files.canonical_file import (
    NOTHING_WRITTEN,
    NOTHING_WRITTEN_RAW,
    sections_of,
)
from savepoint_formats.state_files.header import (
    KEY_SERIALIZER,
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
)
from savepoint_formats.state_files.recognition import expect_kind
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.states import DEFAULT_FAMILY
from savepoint_formats.state_files.state import KINDS_BY_TYPE
from savepoint_formats.tables.catalog import base_handles, raw_keyed_handle, registered_infos

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import (
        KeyGroupsHandle,
        OperatorState,
        OperatorStateHandle,
        SubtaskState,
    )
    from savepoint_formats.metadata.keyed_handles import BaseHandle
    from savepoint_formats.metadata.references import StreamReference
    from savepoint_formats.state_files.header import StateMetaInfo

    Infos = tuple[StateMetaInfo, ...]
    Look = Callable[[], Infos | None]
    """Raises a ``SavepointError``, or returns the states of a header."""


SST_SUFFIX = ".sst"

_OF_KEYS = (VALUE_SERIALIZER, NAMESPACE_SERIALIZER)
_NEEDED = {
    BackendStateType.KEY_VALUE: _OF_KEYS,
    BackendStateType.KEY_VALUE_V2: _OF_KEYS,
    BackendStateType.PRIORITY_QUEUE: (VALUE_SERIALIZER,),
    BackendStateType.OPERATOR: (VALUE_SERIALIZER,),
    BackendStateType.BROADCAST: (VALUE_SERIALIZER, KEY_SERIALIZER),
}
"""Serializers that Flink needs to restore a state."""

_KEYED_TYPES = {*KINDS_BY_TYPE, "UNKNOWN", ""}
"""Types of keyed state in headers; old headers don't name the type."""


def header_faults(
    directory: SnapshotDirectory, subtask: SubtaskState, unreadable: frozenset[str]
) -> Iterator[Fault]:
    """Faults of a subtask's files, except the paths ``unreadable``."""
    is_log = isinstance(subtask.managed_keyed_state, ChangelogHandle)
    for path, check, look in _looks(directory, subtask):
        if path in unreadable:
            continue
        try:
            infos = look()
        except SavepointError as error:
            fault = Fault.of(check, error, file=path, cost=f"everything in {path}")
            yield replace(fault, subtask=subtask.index)
        else:
            for info in infos or ():
                yield from _info_faults(info, path, subtask.index)
            # A changelog registers the timers of a domain when the first one is set.
            for fault in () if is_log else _timer_faults(infos or ()):
                yield replace(fault, file=path, subtask=subtask.index)


def _info_faults(info: StateMetaInfo, path: str, subtask: int) -> Iterator[Fault]:
    """Facts about a state that Flink needs, but the header lacks."""
    problems = [
        f"the header doesn't name the {role.lower().replace('_', ' ')}, which Flink needs to"
        " restore the state"
        for role in _NEEDED[info.type]
        if info.serializer(role) is None
    ]
    state_type = info.option(KEYED_STATE_TYPE)
    if state_type not in _KEYED_TYPES:
        problems.append(f"the header says {printable(state_type)!r}, which is not a type of state")
    for problem in problems:
        yield Fault(
            Severity.DAMAGE,
            Check.HEADERS,
            problem,
            subtask=subtask,
            state=printable(info.name),
            file=path,
            cost="all of the state in this file",
        )


def _timer_faults(infos: Iterable[StateMetaInfo]) -> Iterator[Fault]:
    """Names of timers that no job looks for, and those that look misspelled.

    Flink's services have timers of both domains, and those that were written here may have one.
    """
    names = {info.name for info in infos if info.type is BackendStateType.PRIORITY_QUEUE}
    parts = {name: _TIMERS.fullmatch(name) for name in sorted(names)}
    alone = {
        name: match[1]
        for name, match in parts.items()
        if match and f"{_OTHER_DOMAIN[match[1]]}{match[2]}" not in names
    }
    for name, match in parts.items():
        problem, severity = f"timers named {printable(name)!r}", Severity.DAMAGE
        if match is None:
            problem += f", expected {_EVENT}… or {_PROCESSING}…"
        elif name in alone and len(set(alone.values())) > 1:
            problem += ", of one domain, and other timers of the other one: is the name right?"
            severity = Severity.UNCHECKED
        else:
            continue
        cost = "all timers of this name, unless a job has such a service"
        yield Fault(severity, Check.HEADERS, problem, state=printable(name), cost=cost)


_PROCESSING, _EVENT = "_timer_state/processing_", "_timer_state/event_"
_OTHER_DOMAIN = {_PROCESSING: _EVENT, _EVENT: _PROCESSING}
_TIMERS = re.compile(f"({_PROCESSING}|{_EVENT})(.*)", re.DOTALL)


def _looks(
    directory: SnapshotDirectory, subtask: SubtaskState
) -> Iterator[tuple[str, Check, Look]]:
    """The file, the subject and the function of each check."""
    handle = subtask.managed_keyed_state
    if isinstance(handle, ChangelogHandle):
        yield "", Check.HEADERS, partial(_registered, directory, handle)
    for base in base_handles(handle):
        stream = base.meta if isinstance(base, IncrementalHandle) else base.stream
        path = directory.file(stream).path
        yield path, Check.HEADERS, partial(_keyed_states, directory, base)
        if isinstance(base, IncrementalHandle):
            yield from _tables(directory, base)
        else:
            yield path, Check.OFFSETS, partial(_check_sections, directory, base, NOTHING_WRITTEN)
    if (raw := raw_keyed_handle(subtask)) is not None:
        path = directory.file(raw.stream).path
        yield path, Check.OFFSETS, partial(_check_sections, directory, raw, NOTHING_WRITTEN_RAW)
    managed, others = subtask.managed_operator_state, subtask.raw_operator_state
    if managed is not None and managed.states:
        path = directory.file(managed.stream).path
        yield path, Check.HEADERS, partial(_operator_states, directory, managed)
        yield path, Check.OFFSETS, partial(_check_elements, directory, managed)
    if others is not None:
        path = directory.file(others.stream).path
        yield path, Check.OFFSETS, partial(_check_elements, directory, others)


def _tables(
    directory: SnapshotDirectory, handle: IncrementalHandle
) -> Iterator[tuple[str, Check, Look]]:
    names: frozenset[str] | None = None
    with suppress(SavepointError):  # is already a fault
        names = frozenset(info.name for info in _keyed_states(directory, handle))
    for sst in (*handle.shared, *handle.private):
        if sst.name.endswith(SST_SUFFIX):
            file = directory.file(sst.stream)
            yield file.path, Check.HEADERS, partial(_check_table, file, sst.stream.size, names)


def _registered(directory: SnapshotDirectory, handle: ChangelogHandle) -> Infos:
    """States that a changelog registers; faults are reported where its changes are read."""
    with suppress(SavepointError):
        return tuple(registered_infos(directory, handle))
    return ()


def _keyed_states(directory: SnapshotDirectory, handle: BaseHandle) -> Infos:
    return KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle)).states


def _operator_states(directory: SnapshotDirectory, handle: OperatorStateHandle) -> Infos:
    header = OperatorBackendHeader.of_handle(directory, handle)
    return (*header.list_states, *header.broadcast_states)


def _check_table(file: StateFile, size: int, names: frozenset[str] | None) -> None:
    """``names`` are the names of states in the header; None if it can't be read."""
    table = Sst.open(file, size)
    table.read_index()
    if names is not None and table.column_family not in (*names, DEFAULT_FAMILY):
        message = f"entries of state {table.column_family!r}, which the header does not have"
        raise FormatError(message, file.path, -1)


def _check_sections(directory: SnapshotDirectory, handle: KeyGroupsHandle, nothing: int) -> None:
    file = directory.file(handle.stream)
    sections = sections_of(handle.groups, file, handle.key_groups, nothing)
    for section, following in pairwise(sections):
        if section.start == following.start:
            groups = f"key groups {section.key_group} and {following.key_group}"
            raise FormatError(f"{groups} begin at the same byte", file.path, section.start)


def _check_elements(directory: SnapshotDirectory, handle: OperatorStateHandle) -> None:
    file = directory.file(handle.stream)
    size = file.length()
    for state in handle.states:
        for before, offset in pairwise((0, *state.offsets)):
            if not before <= offset <= size:
                message = f"an element at {offset:,}, expected {before:,} to {size:,}"
                error = FormatError(message, file.path, min(max(offset, 0), size))
                raise error.within(f"state {state.name!r}")


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file, or a range of one; ``size`` is 0 if it does not exist."""

    file: StateFile
    size: int
    fault: Fault | None = None
    is_readable: bool = True


def checked_files(directory: SnapshotDirectory, operator: OperatorState) -> Iterator[CheckedFile]:
    """Each file of an operator, once."""
    seen: set[tuple[str, int, int | None]] = set()
    for reference in stream_references(operator):
        file = directory.file(reference.stream)
        place = file.path, file.start, file.size
        if file.data is not None or place in seen:
            continue
        seen.add(place)
        yield _checked(file, reference)


def _checked(file: StateFile, reference: StreamReference) -> CheckedFile:
    there: int | None = None
    try:
        there = None if file.location is None else file.location.file_size()
        _check_size(file, reference.kind, there)
        expect_kind(file, reference.kind, reference.role)
    except SavepointError as error:
        check = Check.HEADERS if isinstance(error, WrongFileError) else Check.FILES
        size = max(reference.stream.size, 0)
        subtask = None if reference.subtask == COORDINATOR else reference.subtask
        fault = Fault.of(
            check, error, file=file.path, lost_bytes=size, cost=_cost(reference, subtask, size)
        )
        is_readable = not isinstance(error, NotFoundError | WrongFileError)
        return CheckedFile(file, _size(file, there), replace(fault, subtask=subtask), is_readable)
    return CheckedFile(file, _size(file, there))


def _size(file: StateFile, there: int | None) -> int:
    return (there if file.size is None else file.size) or 0


def _cost(reference: StreamReference, subtask: int | None, size: int) -> str:
    whose = "the coordinator" if subtask is None else f"subtask {subtask}"
    return f"{reference.role} of {whose}, of up to {size:,} bytes"


def _check_size(file: StateFile, kind: FileKind, there: int | None) -> None:
    """Raises ``SavepointError`` if the file is missing, too short or too long."""
    whole = replace(file, start=0, size=None)
    if kind is FileKind.CHANGELOG:
        # Flink does not count the flag in front, and other changes may follow.
        whole = replace(whole, declared_size=None)
    needed = whole.length() if file.size is None else file.start + file.size
    needed = max(needed, file.declared_size or 0)
    if there is None:
        # Raises if the file is missing.
        there = whole.length()
    if there < needed:
        message = f"{there:,} bytes in the file, expected {needed:,} as its handle says"
        raise TruncatedError(message, file.path, there)
