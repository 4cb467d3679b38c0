"""Copies of operators: their files go into a new snapshot, their handles name these copies.

Not a byte of state is looked at, but that a file is what its handle says: a savepoint may name any
file of the machine, and a copy would carry that away. Every file becomes a relative one, whatever it was: one of an
absolute path, one that other checkpoints share, or a piece of a merged file. So the copy needs
nothing but its directory, and can be moved. What several handles refer to is copied once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import StateFileNotFoundError, TruncatedError
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
"""Is called with the bytes of each step, from several threads."""

_Use = tuple[FileKind, str]
"""What a file is, and what it is for."""

_FileHandle = FileStream | RelativeFile | SegmentStream

_THREADS = 8
_CHUNK_SIZE = 8 << 20
_SHOWN = 3


def no_progress(_size: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A file, or a piece of one; two are equal if their bytes are the same ones."""

    path: str
    start: int
    size: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Original:
    """A file that is there, as a handle names it.

    Attributes:
        file: What the handle means.
        location: Where the file is.
        size: The bytes of the whole file, even if the handle means but a piece of it.
        role: What it is for.
    """

    file: StateFile
    location: Location
    size: int
    role: str

    @classmethod
    def of(
        cls, source: SnapshotDirectory, named: tuple[_FileHandle, frozenset[_Use]]
    ) -> Self | None:
        """What a handle means, if that is what it is used for; None if it is gone."""
        handle, uses = named
        file = source.file(handle)
        size = None if file.location is None else file.location.file_size()
        if file.location is None or size is None:
            return None
        original = cls(file, file.location, size, min(role for _, role in uses))
        original.piece()
        for kind, role in uses:
            expect_kind(file, kind, role)
        return original

    def piece(self) -> _Piece:
        """The bytes that the handle means."""
        start, size = self.file.start, self.file.size
        if size is None:
            return _Piece(self.location.path, 0, self.size, is_whole=True)
        if start + size > self.size:
            message = f"the file ends here, expected {size} bytes from {start} on"
            raise TruncatedError(message, self.file.path, self.size)
        return _Piece(self.location.path, start, size, is_whole=False)

    def copy(self, target: NewSnapshot, on_progress: Progress) -> str:
        """Copies these bytes; gives the path of the copy below the directory."""
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
    """What a copy of some operators consists of; made before anything is written.

    Attributes:
        operators: Their records, as the source has them.
    """

    operators: tuple[OperatorState, ...]
    _pieces: Mapping[_FileHandle, _Piece] = field(default_factory=dict)
    _originals: Mapping[_Piece, _Original] = field(default_factory=dict)

    @classmethod
    def of(cls, operators: Iterable[OperatorState], source: SnapshotDirectory) -> Self:
        """How operators of the snapshot in ``source`` are copied.

        Raises:
            StateFileNotFoundError: Some of their files are gone.
            WrongFileError: One is not what the savepoint says that it is.
            TruncatedError: A merged file ends before a piece of it does.
        """
        operators = tuple(operators)
        uses = _uses(operators)
        with ThreadPoolExecutor(_THREADS) as pool:
            by_use = dict(
                zip(uses, pool.map(partial(_Original.of, source), uses.items()), strict=True)
            )
        _expect_all(by_use, source)
        originals = {handle: original for handle, original in by_use.items() if original}
        pieces = {handle: original.piece() for handle, original in originals.items()}
        return cls(
            operators, pieces, {pieces[original]: originals[original] for original in originals}
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The bytes of each file that the copy will have."""
        return tuple(piece.size for piece in self._originals)

    def sizes_of(self, operator: OperatorState) -> tuple[int, ...]:
        """The bytes of each file that the copy of one of the operators refers to."""
        return tuple(piece.size for piece in {self._pieces[file] for file, _ in _files(operator)})

    def write(
        self, target: NewSnapshot, on_progress: Progress = no_progress
    ) -> tuple[OperatorState, ...]:
        """Copies the files.

        Args:
            target: Where to.
            on_progress: Is called with the progress.

        Returns:
            The operators, with handles that name the copies.

        Raises:
            SavepointError: A file can't be read or written.
        """
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
            return RelativeFile(paths[self._pieces[stream]], stream.size)

        return tuple(with_streams(operator, replacement) for operator in self.operators)


def copied(
    operator: OperatorState, source: SnapshotDirectory, target: NewSnapshot
) -> OperatorState:
    """An operator whose files were copied from ``source`` to ``target``.

    Raises:
        StateFileNotFoundError: Some of its files are gone; nothing was written.
        WrongFileError: One is not what the savepoint says that it is; nothing was written.
        TruncatedError: A merged file ends before a piece of it does; nothing was written.
        SavepointError: A file can't be read or written.
    """
    (copy,) = CopyPlan.of([operator], source).write(target)
    return copy


def _uses(operators: Iterable[OperatorState]) -> dict[_FileHandle, frozenset[_Use]]:
    """All that each handle is used for, which is one thing unless ``_metadata`` is made up."""
    uses: dict[_FileHandle, frozenset[_Use]] = {}
    for operator in operators:
        for handle, use in _files(operator):
            uses[handle] = uses.get(handle, frozenset()) | {use}
    return uses


def _files(operator: OperatorState) -> Iterator[tuple[_FileHandle, _Use]]:
    """The handles of an operator that name files, and what each is and is for."""
    for reference in stream_references(operator):
        stream = reference.stream
        plain = stream.stream if isinstance(stream, KeyGroupsStream) else stream
        if not isinstance(plain, InlineStream | EmptySegment):
            yield plain, (reference.kind, reference.role)


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
            f"{source.uri} can't be copied, for it lacks {', '.join(missing[:_SHOWN])}{more};"
            + (f" {problem};" if problem else "")
            + " put the files beside _metadata, or where they were"
        )
