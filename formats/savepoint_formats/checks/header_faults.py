"""Whether the headers of state files can be read, and whether offsets lie where they must."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.metadata import IncrementalHandle
from savepoint_formats.state_files.header import (
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
)
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import UnsupportedSstError
from savepoint_formats.state_files.sections import (
    NOTHING_WRITTEN,
    NOTHING_WRITTEN_RAW,
    sections_of,
)
from savepoint_formats.tables.catalog import base_handles, raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle, OperatorStateHandle, SubtaskState
    from savepoint_formats.metadata.keyed_handles import BaseHandle

SST_SUFFIX = ".sst"


def header_faults(
    directory: SnapshotDirectory, subtask: SubtaskState, unreadable: frozenset[str]
) -> Iterator[Fault]:
    """What is wrong with the headers and offsets of the files of a subtask.

    Args:
        directory: Where the savepoint is.
        subtask: The subtask.
        unreadable: The paths of files that are known to be no such files.
    """
    for path, check, look in _looks(directory, subtask):
        if path in unreadable:
            continue
        try:
            look()
        except SavepointError as error:
            fault = Fault.of(check, error, file=path, cost=f"all that {path} has")
            yield replace(fault, subtask=subtask.index)


def _looks(
    directory: SnapshotDirectory, subtask: SubtaskState
) -> Iterator[tuple[str, Check, Callable[[], object]]]:
    """Each thing to look at: its file, what is looked at, and what raises if it is wrong."""
    for handle in base_handles(subtask.managed_keyed_state):
        stream = handle.meta if isinstance(handle, IncrementalHandle) else handle.stream
        path = directory.file(stream).path
        yield path, Check.HEADERS, partial(_check_header, directory, handle)
        if isinstance(handle, IncrementalHandle):
            yield from _tables(directory, handle)
        else:
            yield path, Check.OFFSETS, partial(_check_sections, directory, handle, NOTHING_WRITTEN)
    if (raw := raw_keyed_handle(subtask)) is not None:
        path = directory.file(raw.stream).path
        yield path, Check.OFFSETS, partial(_check_sections, directory, raw, NOTHING_WRITTEN_RAW)
    managed, others = subtask.managed_operator_state, subtask.raw_operator_state
    if managed is not None and managed.states:
        path = directory.file(managed.stream).path
        yield path, Check.HEADERS, partial(OperatorBackendHeader.of_handle, directory, managed)
        yield path, Check.OFFSETS, partial(_check_elements, directory, managed)
    if others is not None:
        path = directory.file(others.stream).path
        yield path, Check.OFFSETS, partial(_check_elements, directory, others)


def _tables(
    directory: SnapshotDirectory, handle: IncrementalHandle
) -> Iterator[tuple[str, Check, Callable[[], object]]]:
    """The footers, indexes and properties of the tables of RocksDB."""
    for sst in (*handle.shared, *handle.private):
        if sst.name.endswith(SST_SUFFIX):
            file = directory.file(sst.stream)
            yield file.path, Check.HEADERS, partial(_check_table, file, sst.stream.size)


def _check_header(directory: SnapshotDirectory, handle: BaseHandle) -> None:
    KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))


def _check_table(file: StateFile, size: int) -> None:
    with suppress(UnsupportedSstError):  # RocksDB itself will read it
        Sst.open(file, size).read_index()


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
