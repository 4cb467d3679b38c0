"""Faults of files that an operator refers to: existence, size and kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.errors import NotFoundError, SavepointError, TruncatedError, WrongFileError
from savepoint_formats.metadata.references import COORDINATOR, FileKind, stream_references
from savepoint_formats.state_files.recognition import expect_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.metadata.references import StreamReference


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
        # Flink does not count the flag in front, and others may have written behind.
        whole = replace(whole, declared_size=None)
    needed = whole.length() if file.size is None else file.start + file.size
    needed = max(needed, file.declared_size or 0)
    if there is None:
        # Raises if the file is missing; otherwise it has vanished meanwhile.
        there = whole.length()
    if there < needed:
        message = f"{there:,} bytes in the file, expected {needed:,} as its handle says"
        raise TruncatedError(message, file.path, there)
