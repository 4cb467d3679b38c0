"""The files of a snapshot, and ranges of merged ones, as they lie where handles lead.

``origin`` identifies one by its place, size and time of change. Flink gives each file a name of its own
and never writes one again, so a file of the same origin has the same bytes.
"""

from __future__ import annotations

import posixpath
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, StateFileNotFoundError, TruncatedError
from savepoint_formats.locations import Location
from savepoint_formats.metadata import (
    EmptySegment,
    FileKind,
    FileStream,
    InlineStream,
    KeyGroupsStream,
    RelativeFile,
    SegmentStream,
    stream_references,
)
from savepoint_formats.state_files import expect_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyarrow import fs

    from savepoint_formats.locations import SnapshotDirectory, StateFile
    from savepoint_formats.metadata import OperatorState, StreamReference

    FileHandle = FileStream | RelativeFile | SegmentStream

THREADS = 8
_CHUNK_SIZE = 8 << 20
_ORIGIN_SIZE = 32
_SHOWN = 3

# A listing of a folder is one request for a thousand files.
_LISTED_FROM = 8


@dataclass(frozen=True, slots=True)
class Original:
    """A file, or a range of one, that handles refer to.

    Attributes:
        file: The file.
        location: Where it is.
        size: Bytes of the range, or of the whole file.
        origin: Identifies it.
        references: The references to it; there is one kind of them unless ``_metadata`` is forged.
    """

    file: StateFile
    location: Location
    size: int
    origin: str
    references: tuple[StreamReference, ...] = ()

    def expect_kind(self) -> None:
        """Raises ``WrongFileError`` if the file is not of the kind that its handles say."""
        for kind, role in {(it.kind, it.role) for it in self.references}:
            expect_kind(self.file, kind, role)

    def chunks(self) -> Iterator[pa.Buffer]:
        """Its bytes; raises ``TruncatedError`` if it has fewer than its handle says."""
        done = 0
        for chunk in self.file.chunks(_CHUNK_SIZE):
            done += chunk.size
            yield chunk
        if done != self.size:
            message = f"{done} bytes could be read, expected {self.size}: it was replaced meanwhile"
            raise TruncatedError(message, self.file.path, done)


def plain_handle(reference: StreamReference) -> FileHandle | None:
    """The handle of a file; None for state that is in ``_metadata`` itself."""
    stream = reference.stream
    plain = stream.stream if isinstance(stream, KeyGroupsStream) else stream
    return None if isinstance(plain, InlineStream | EmptySegment) else plain


def originals_of(
    operators: Iterable[OperatorState], directory: SnapshotDirectory
) -> dict[FileHandle, Original]:
    """The files of operators by their handles; reads none of them.

    Raises:
        StateFileNotFoundError: Files are missing.
        TruncatedError: A file is shorter than its handle says.
        FormatError: A file is longer than its handle says.
    """
    uses: dict[FileHandle, list[StreamReference]] = {}
    for operator in operators:
        for reference in stream_references(operator):
            handle = plain_handle(reference)
            if handle is not None:
                uses.setdefault(handle, []).append(reference)
    with ThreadPoolExecutor(THREADS) as pool:
        files = dict(zip(uses, pool.map(directory.file, uses), strict=True))
        _expect_all(files, directory)
        infos = _infos(pool, files.values())
    originals: dict[FileHandle, Original] = {}
    by_origin: dict[str, list[StreamReference]] = {}
    for handle, file in files.items():
        original = _original(file, infos, uses[handle])
        originals[handle] = original
        by_origin.setdefault(original.origin, []).extend(uses[handle])
    return {
        handle: replace(original, references=tuple(by_origin[original.origin]))
        for handle, original in originals.items()
    }


def _original(
    file: StateFile, infos: dict[str, fs.FileInfo], references: Iterable[StreamReference]
) -> Original:
    assert file.location is not None  # ``_expect_all`` has looked
    info = infos[file.location.path]
    size = info.size or 0
    expected = file.declared_size if file.size is None else file.start + file.size
    # Flink does not count the flag in front of a changelog, and other changes may follow.
    is_log = any(reference.kind is FileKind.CHANGELOG for reference in references)
    if expected is not None and size < expected:
        message = f"the file ends here, expected {expected} bytes as its handle says"
        raise TruncatedError(message, file.path, size)
    if file.size is None and not is_log and expected is not None and size > expected:
        message = f"{size} bytes in the file, expected {expected} as its handle says"
        raise FormatError(message, file.path, expected)
    length = size if file.size is None else file.size
    facts = (
        file.location.filesystem.type_name,
        *(file.location.path, file.start, length, size, info.mtime_ns),
    )
    origin = sha256("\0".join(map(str, facts)).encode(errors="surrogatepass")).hexdigest()
    return Original(file, file.location, length, origin[:_ORIGIN_SIZE])


def _infos(pool: ThreadPoolExecutor, files: Iterable[StateFile]) -> dict[str, fs.FileInfo]:
    """Size and time of each file by its path; of many files of a folder by a listing."""
    folders: dict[str, dict[str, Location]] = {}
    for file in files:
        if file.location is not None:
            folder = posixpath.dirname(file.location.path)
            folders.setdefault(folder, {})[file.location.path] = file.location

    def infos(folder: str) -> dict[str, fs.FileInfo]:
        wanted = folders[folder]
        known: dict[str, fs.FileInfo] = {}
        if len(wanted) >= _LISTED_FROM:
            filesystem = next(iter(wanted.values())).filesystem
            listed = Location(filesystem, folder).infos()
            known = {info.path: info for info in listed if info.path in wanted}
        return known | {path: wanted[path].info() for path in wanted.keys() - known.keys()}

    return {path: info for part in pool.map(infos, folders) for path, info in part.items()}


def _expect_all(files: dict[FileHandle, StateFile], directory: SnapshotDirectory) -> None:
    missing = {file.path: file for file in files.values() if file.location is None}
    if missing:
        paths = sorted(missing)
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        problem = next((file.problem for file in missing.values() if file.problem), "")
        gone = " it was deleted meanwhile: back up a newer one" if directory.is_deleted else ""
        raise StateFileNotFoundError(
            f"{directory.uri} can't be backed up because it lacks {', '.join(paths[:_SHOWN])}{more};"
            f"{gone or f' {problem}' if gone or problem else ' put the files where they were'}"
        )
