"""Copies operators with their files into a new snapshot.

Each file must be of the kind that its handle says, because a savepoint could name any file of the
machine. Copies are relative files, even if originals have absolute paths, belong to several
checkpoints, or are ranges of merged files. So the new directory is complete and can be moved. A
file that several handles refer to is copied once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import StateFileNotFoundError, TruncatedError
from savepoint_formats.locations.state_file import DELETED
from savepoint_formats.metadata import (
    EmptySegment,
    FileStream,
    InlineStream,
    KeyGroupsStream,
    RelativeFile,
    SegmentStream,
)
from savepoint_formats.metadata.references import FileKind, stream_references, with_streams
from savepoint_formats.new_snapshot.new_file import LARGEST_COPY_SIZE
from savepoint_formats.state_files.recognition import expect_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.location import Location
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import OperatorState, PlainStream
    from savepoint_formats.new_snapshot.directory import NewSnapshot

Progress = Callable[[int], object]
"""Gets the number of bytes of each step; called from several threads."""

_Use = tuple[FileKind, str]
"""The kind of a file, and its role."""

_FileHandle = FileStream | RelativeFile | SegmentStream

_THREADS = 8
_CHUNK_SIZE = 8 << 20
_SHOWN = 3


def no_progress(_size: int) -> None:
    """Ignores progress."""


@dataclass(frozen=True, slots=True)
class _Range:
    """A range of a file, or a whole file."""

    path: str
    start: int
    size: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Original:
    """An existing file that a handle refers to; ``size`` is the size of the whole file."""

    file: StateFile
    location: Location
    size: int
    role: str

    @classmethod
    def of(
        cls, source: SnapshotDirectory, named: tuple[_FileHandle, frozenset[_Use]]
    ) -> Self | None:
        """The file of a handle, if its kind is right for all uses; None if it is gone."""
        handle, uses = named
        file = source.file(handle)
        size = None if file.location is None else file.location.file_size()
        if file.location is None or size is None:
            return None
        original = cls(file, file.location, size, min(role for _, role in uses))
        original.range()
        for kind, role in uses:
            expect_kind(file, kind, role)
        return original

    def range(self) -> _Range:
        """The range that the handle refers to."""
        start, size = self.file.start, self.file.size
        if size is None:
            return _Range(self.location.path, 0, self.size, is_whole=True)
        if start + size > self.size:
            message = f"the file ends here, expected {size} bytes from {start} on"
            raise TruncatedError(message, self.file.path, self.size)
        return _Range(self.location.path, start, size, is_whole=False)

    def copy(self, target: NewSnapshot, on_progress: Progress) -> str:
        """Copies the range, and returns the path of the copy below the directory."""
        is_near = self.location.filesystem.equals(target.location.filesystem)
        if is_near and self.file.size is None and self.size <= LARGEST_COPY_SIZE:
            path = target.copy_of(self.location, self.role)
            on_progress(self.size)
            return path
        with target.create(self.role) as copy:
            for chunk in self.file.chunks(_CHUNK_SIZE):
                copy.write(chunk)
                on_progress(chunk.size)
        return copy.path


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """Operators of a source and the ranges of files to copy; checked before anything is written."""

    operators: tuple[OperatorState, ...]
    _ranges: Mapping[_FileHandle, _Range] = field(default_factory=dict)
    _originals: Mapping[_Range, _Original] = field(default_factory=dict)

    @classmethod
    def of(cls, operators: Iterable[OperatorState], source: SnapshotDirectory) -> Self:
        """Checks the files of operators.

        Raises ``StateFileNotFoundError``, ``WrongFileError`` for a file of another kind, and
        ``TruncatedError`` if a file ends before a range of it.
        """
        operators = tuple(operators)
        uses = _uses(operators)
        with ThreadPoolExecutor(_THREADS) as pool:
            by_use = dict(
                zip(uses, pool.map(partial(_Original.of, source), uses.items()), strict=True)
            )
        _expect_all(by_use, source)
        originals = {handle: original for handle, original in by_use.items() if original}
        ranges = {handle: original.range() for handle, original in originals.items()}
        return cls(operators, ranges, {ranges[handle]: originals[handle] for handle in originals})

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each file that the copy will have."""
        return tuple(part.size for part in self._originals)

    def sizes_of(self, operator: OperatorState) -> tuple[int, ...]:
        """The size of each file that the copy of one operator refers to."""
        return tuple(part.size for part in {self._ranges[file] for file, _ in _files(operator)})

    def write(
        self, target: NewSnapshot, on_progress: Progress = no_progress
    ) -> tuple[OperatorState, ...]:
        """Copies the files, and returns the operators with handles of the copies."""
        pool = ThreadPoolExecutor(_THREADS)
        try:
            copies = pool.map(
                lambda original: original.copy(target, on_progress), self._originals.values()
            )
            paths = dict(zip(self._originals, copies, strict=True))
        finally:
            pool.shutdown(cancel_futures=True)

        def replacement(stream: PlainStream) -> PlainStream:
            if isinstance(stream, InlineStream | EmptySegment):
                return stream
            return RelativeFile(paths[self._ranges[stream]], stream.size)

        return tuple(with_streams(operator, replacement) for operator in self.operators)


def copied(
    operator: OperatorState, source: SnapshotDirectory, target: NewSnapshot
) -> OperatorState:
    """Copies the files of one operator; before that, raises the errors of ``CopyPlan.of``."""
    (copy,) = CopyPlan.of([operator], source).write(target)
    return copy


def _uses(operators: Iterable[OperatorState]) -> dict[_FileHandle, frozenset[_Use]]:
    """All uses of each handle; there is one unless ``_metadata`` is forged."""
    uses: dict[_FileHandle, frozenset[_Use]] = {}
    for operator in operators:
        for handle, use in _files(operator):
            uses[handle] = uses.get(handle, frozenset()) | {use}
    return uses


def _files(operator: OperatorState) -> Iterator[tuple[_FileHandle, _Use]]:
    """Handles of an operator's files, and the use of each."""
    for reference in stream_references(operator):
        stream = reference.stream
        plain = stream.stream if isinstance(stream, KeyGroupsStream) else stream
        if not isinstance(plain, InlineStream | EmptySegment):
            yield plain, (reference.kind, reference.role)


_PUT_BACK = " put the files beside _metadata, or where they were"


def _expect_all(
    originals: Mapping[_FileHandle, _Original | None], source: SnapshotDirectory
) -> None:
    missing = sorted({handle.path for handle, original in originals.items() if original is None})
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        problems = (
            source.file(handle).problem
            for handle, original in originals.items()
            if original is None
        )
        problem = next(filter(None, problems), "")
        raise StateFileNotFoundError(
            f"{source.uri} can't be copied because it lacks {', '.join(missing[:_SHOWN])}{more};"
            + (f" {problem};" if problem else "")
            + (f" {DELETED}" if source.is_deleted else _PUT_BACK)
        )
