"""Whether a copy of a snapshot has all of it: the same ``_metadata``, and each byte of each file.

A copy may name its files otherwise: ``backup`` and ``copy`` do. So handles are compared in pairs, as they
follow each other in both ``_metadata``, and everything else in these must be equal. Files of the copy
are looked for in its own directories alone: an absolute path may lead to the files of the snapshot.
A link to a file of the snapshot is no copy: it vanishes or is damaged together with the file.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from savepoint_extensions.backup.backup_store import digest_of, is_one_store
from savepoint_extensions.backup.originals import THREADS, plain_handle
from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.errors import SavepointError, UnreachableError
from savepoint_formats.locations import METADATA_FILE, Location, SnapshotDirectory, real_path
from savepoint_formats.metadata import (
    FileKind,
    MetadataVersion,
    RelativeFile,
    stream_references,
    with_streams,
)
from savepoint_formats.printable import html_records, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_database.snapshot import Snapshot
    from savepoint_extensions.backup.originals import FileHandle
    from savepoint_formats.locations import StateFile
    from savepoint_formats.metadata import (
        CheckpointMetadata,
        OperatorState,
        PlainStream,
        StreamReference,
    )

    Depth = Literal["quick", "deep"]

_CHUNK_SIZE = 4 << 20

_OWN_FILE = "it is the snapshot's own file, or a link to it, expected a copy"
_ALL = "all of the snapshot that is not in the copy; its files are not compared"


@dataclass(frozen=True, slots=True)
class ReplicaCheck:
    """Whether a copy has all of a snapshot.

    Attributes:
        path: The copy.
        source: The snapshot.
        depth: ``deep`` if all bytes were compared; ``quick`` if only names and sizes.
        result: ``complete``, ``not read`` if a store does not answer, or ``damaged``.
        is_complete: Whether nothing is missing, and nothing differs.
        files: Number of compared files, and ranges of files.
        file_size: Bytes of these.
        extra: Files in the copy's directory that the copy does not need.
        faults: What is missing, and what differs.
    """

    path: str
    source: str
    depth: str
    result: str
    is_complete: bool
    files: int
    file_size: int
    extra: tuple[str, ...]
    faults: tuple[Fault, ...]

    def __repr__(self) -> str:
        return f"ReplicaCheck({without_secrets(self.path)!r}, {self.result}, {self.files} files)"

    def _repr_html_(self) -> str:
        return html_records(repr(self), self.faults, ("check", "operator", "file", "problem"))


@dataclass(frozen=True, slots=True)
class _Pair:
    """A file of the snapshot, its copy, and where a handle of it is."""

    operator: str
    reference: StreamReference
    original: FileHandle
    copy: FileHandle


def replica_check(copy: Snapshot, source: Snapshot, depth: Depth = "deep") -> ReplicaCheck:
    """Compares a copy with its snapshot; see ``Savepoint.verify_replica``."""
    if depth not in ("quick", "deep"):
        raise ValueError(f"depth is {depth!r}, expected 'quick' or 'deep'")
    faults = list(_metadata_faults(copy, source))
    own = copy.directory
    own = SnapshotDirectory(own.location, own.uri, replace(own.rules, is_strict=True))
    pairs = {} if faults else {(it.original, it.copy): it for it in _pairs(copy, source)}
    size = 0
    with ThreadPoolExecutor(THREADS) as pool:
        for pair, (length, fault) in zip(
            pairs.values(),
            pool.map(lambda it: _compared(it, own, source.directory, depth), pairs.values()),
            strict=True,
        ):
            size += length
            if fault is not None:
                subtask = pair.reference.subtask
                faults.append(
                    replace(
                        fault,
                        operator=pair.operator,
                        subtask=subtask if subtask >= 0 else None,
                        cost=fault.cost and f"{pair.reference.role}: {fault.cost}",
                    )
                )
    severities = {fault.severity for fault in faults}
    result = "damaged" if Severity.DAMAGE in severities else "not read" if faults else "complete"
    return ReplicaCheck(
        path=copy.path,
        source=source.path,
        depth=depth,
        result=result,
        is_complete=not faults,
        files=len(pairs),
        file_size=size,
        extra=_extra(own, [it.copy for it in pairs.values()]) if pairs else (),
        faults=tuple(faults),
    )


def _metadata_faults(copy: Snapshot, source: Snapshot) -> Iterator[Fault]:
    """What is wrong with ``_metadata``: names of files may differ, and nothing else."""
    own, other = (
        Location(it.location.filesystem, f"{it.location.path}/{METADATA_FILE}")
        for it in (copy.directory, source.directory)
    )
    if _is_same_file(own, other):
        yield Fault(
            Severity.DAMAGE, Check.METADATA, _OWN_FILE, file=copy.directory.metadata_path, cost=_ALL
        )
        return
    ours, theirs = _nameless(copy.metadata), _nameless(source.metadata)
    if ours == theirs:
        return
    problems = [
        f"{what} {getattr(ours, name)}, expected {getattr(theirs, name)} of the snapshot"
        for name, what in (("checkpoint_id", "checkpoint id"), ("version", "version"))
        if getattr(ours, name) != getattr(theirs, name)
    ]
    ids = [operator.operator_id for operator in ours.operators]
    expected = [operator.operator_id for operator in theirs.operators]
    if ids != expected:
        problems.append(f"{len(ids)} operators, expected the {len(expected)} of the snapshot")
    else:
        problems += [
            f"operator {operator.name} has other subtasks, handles or inline state"
            for operator, mine, other in zip(
                source.operators(), ours.operators, theirs.operators, strict=True
            )
            if mine != other
        ]
    if ours.master_states != theirs.master_states or ours.properties != theirs.properties:
        problems.append("other hooks or properties than the snapshot's")
    for problem in problems:
        yield Fault(
            Severity.DAMAGE,
            Check.METADATA,
            f"it is no copy of {without_secrets(source.path)}: {problem}",
            file=copy.directory.metadata_path,
            cost=_ALL,
        )


def _nameless(metadata: CheckpointMetadata) -> CheckpointMetadata:
    """``_metadata`` without names of files, and in a version that has relative ones."""

    def replacement(stream: PlainStream) -> PlainStream:
        return stream if _is_inline(stream) else RelativeFile("", stream.size)

    operators = tuple(with_streams(it, replacement) for it in metadata.operators)
    version = max(metadata.version, MetadataVersion.CHANNEL_STATE)
    return replace(metadata, operators=operators, version=version)


def _is_inline(stream: PlainStream) -> bool:
    return not hasattr(stream, "path")


def _pairs(copy: Snapshot, source: Snapshot) -> Iterator[_Pair]:
    """The handles of files in both, which follow each other in the same order."""
    for operator, ours in zip(source.operators(), copy.metadata.operators, strict=True):
        for theirs, mine in zip(_references(operator.record), _references(ours), strict=True):
            original, copied = plain_handle(theirs), plain_handle(mine)
            if original is not None and copied is not None:
                yield _Pair(operator.name, theirs, original, copied)


def _references(operator: OperatorState) -> Iterator[StreamReference]:
    # File merging writes handles without bytes, which copies don't have.
    yield from stream_references(with_streams(operator, lambda stream: stream))


def _compared(
    pair: _Pair, ours: SnapshotDirectory, theirs: SnapshotDirectory, depth: Depth
) -> tuple[int, Fault | None]:
    """Bytes of a file, and what is wrong with its copy."""
    mine, other = ours.file(pair.copy), theirs.file(pair.original)
    if mine.location is not None and _is_same_file(mine.location, other.location):
        return 0, _fault(mine, _OWN_FILE, max(pair.reference.stream.size, 0))
    try:
        expected = _size(other)
        size = _size(mine)
        if size != expected:
            return expected, _fault(mine, f"{size:,} bytes, expected {expected:,}", expected)
        is_log = pair.reference.kind is FileKind.CHANGELOG
        if not is_log and size < max(pair.reference.stream.size, 0):
            problem = f"{size:,} bytes in both, expected {pair.reference.stream.size:,}"
            return expected, _fault(mine, problem, expected)
        if depth == "quick":
            return expected, None
        digest, offset = _difference(mine, other)
    except UnreachableError as error:
        return 0, Fault.of(Check.FILES, error, file=mine.path)
    except SavepointError as error:
        return 0, Fault.of(Check.FILES, error, file=mine.path, cost="not copied, or not any more")
    if offset is not None:
        return expected, replace(
            _fault(mine, f"another byte than in {other.path}", expected), offset=offset
        )
    named = digest_of(mine.path)
    if named not in (None, digest):
        problem = f"its SHA-256 is {digest}, and its name says another one"
        return expected, _fault(mine, problem, expected)
    return expected, None


def _is_same_file(ours: Location, theirs: Location | None) -> bool:
    """Whether both are one file, by its name or by a link."""
    if theirs is None or ours == theirs:
        return theirs is not None
    if ours.is_local and theirs.is_local:
        with suppress(OSError):  # a missing file is a fault of its own
            return os.path.samefile(ours.path, theirs.path)
        return False
    return real_path(ours) == real_path(theirs) and is_one_store(ours.filesystem, theirs.filesystem)


def _fault(file: StateFile, problem: str, size: int) -> Fault:
    return Fault(
        Severity.DAMAGE,
        Check.FILES,
        problem,
        file=file.path,
        lost_bytes=size,
        cost=f"up to {size:,} bytes",
    )


def _size(file: StateFile) -> int:
    """Bytes of a file or range; raises ``SavepointError`` if it is missing, or shorter."""
    if file.size is not None:
        there = replace(file, start=0, size=None, declared_size=None).length()
        return min(file.size, max(there - file.start, 0))
    return replace(file, declared_size=None).length()


def _difference(mine: StateFile, other: StateFile) -> tuple[str, int | None]:
    """The SHA-256 of a file, and the first byte that differs from another file of its size."""
    digest, position = sha256(), 0
    for ours, theirs in zip(mine.chunks(_CHUNK_SIZE), other.chunks(_CHUNK_SIZE), strict=True):
        digest.update(ours)
        if not ours.equals(theirs):
            return "", position + _first_difference(ours, theirs)
        position += ours.size
    return digest.hexdigest(), None


def _first_difference(ours: pa.Buffer, theirs: pa.Buffer) -> int:
    low, high = 0, min(ours.size, theirs.size)
    while low < high:
        middle = (low + high + 1) // 2
        is_same = ours.slice(0, middle).equals(theirs.slice(0, middle))
        low, high = (middle, high) if is_same else (low, middle - 1)
    return low


def _extra(directory: SnapshotDirectory, handles: list[FileHandle]) -> tuple[str, ...]:
    """Files below the directory of a snapshot that it does not need."""
    needed = {METADATA_FILE}
    for handle in handles:
        location = directory.file(handle).location
        if location is not None:
            needed.add(directory.relative(location))
    return tuple(sorted(path for path in directory.list_files() if path not in needed))
