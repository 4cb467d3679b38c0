"""The directory of backups: ``_metadata`` of each, and the files that they share.

| path                                                 | content                                    |
|------------------------------------------------------|--------------------------------------------|
| ``backup-<time>-<µs>-<snapshot>-<id>/_metadata``     | a backup, complete as soon as it is there  |
| ``shared/<sha256>-<size>-<origin>-<id>``             | a file, or a range of a merged one         |
| ``writes/…``                                         | signs of what is under way, see ``writes`` |

``<id>`` is the write that made it. The names of files are the only index: ``<sha256>`` and ``<size>``
are of the content, and ``<origin>`` tells without reading it whether a file of a snapshot is here already. A name is used
once: a file that was removed comes back under another one.

``_metadata`` names files as ``../shared/…``, so the directory of backups can be moved or copied as a
whole. Flink resolves such a path as that of a URI.
"""

from __future__ import annotations

import posixpath
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from pyarrow import fs

from savepoint_extensions.backup.originals import THREADS
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import (
    DamagedError,
    NotASavepointError,
    SavepointNotFoundError,
    StateFileNotFoundError,
)
from savepoint_formats.locations import (
    METADATA_FILE,
    Location,
    SnapshotDirectory,
    path_text,
    reading_errors,
    uri_below,
)
from savepoint_formats.metadata import CheckpointMetadata, RelativeFile, streams_of
from savepoint_formats.new_snapshot import (
    claims,
    renames_files,
    writing_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from savepoint_formats.locations import PathText

SHARED = "shared"
WRITES = "writes"

_FILE = re.compile(r"([0-9a-f]{64})-(\d{1,19})-([0-9a-f]{32})-([0-9a-f]{16})")
_BACKUP = re.compile(r"backup-(\d{8}T\d{6}Z)-.+-([0-9a-f]{16})")
_TIME = "%Y%m%dT%H%M%SZ"
_LONGEST_NAME = 60

_OF_STORE = {
    "s3": ("endpoint_override",),
    "gcs": ("endpoint_override",),
    "abfs": ("account_name", "blob_storage_authority"),
}
"""Type of a file system -> its options that say which store it is; the path begins with the bucket."""


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file of backups.

    Attributes:
        digest: The SHA-256 of its bytes.
        size: Their number.
        origin: Identifies the file that it was copied from.
        write_id: The write that copied it.
        is_whole: Whether it has this size.
        time_ns: When it was written.
    """

    digest: str
    size: int
    origin: str
    write_id: str
    is_whole: bool = True
    time_ns: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.digest}-{self.size}-{self.origin}-{self.write_id}"

    @classmethod
    def of(cls, info: fs.FileInfo) -> SharedFile | None:
        """The file of a listing; None for others than those of backups."""
        file = cls.named(info.base_name)
        if file is None or info.type != fs.FileType.File:
            return None
        return replace(file, is_whole=info.size == file.size, time_ns=info.mtime_ns or 0)

    @classmethod
    def named(cls, name: str) -> SharedFile | None:
        """Parses the name of a file; None if it is not one of backups."""
        match = _FILE.fullmatch(name)
        return match and cls(match[1], int(match[2]), match[3], match[4])


def sha256_of(chunks: Iterable[bytes | pa.Buffer]) -> str:
    """The SHA-256 of a file, read chunk by chunk, as names have it."""
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def digest_of(path: str) -> str | None:
    """The SHA-256 in the path of a file of backups; None for other paths."""
    match = _FILE.fullmatch(posixpath.basename(path))
    return None if match is None else match[1]


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup that is complete: its path, and what its ``_metadata`` says.

    Attributes:
        name: The name of its directory.
        path: The path that opens it.
        time: When it was made, in UTC.
        checkpoint_id: Of the snapshot.
        job: The ids of its operators, which backups of one job have in common.
        files: Names of the files that it needs.
    """

    name: str
    path: str
    time: datetime
    checkpoint_id: int
    job: frozenset[bytes]
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class BackupStore:
    """A directory of backups; ``uri`` is the user's name for it."""

    uri: str
    location: Location

    @classmethod
    def of(cls, onto: PathText) -> Self:
        """The directory at ``onto``, which needn't exist.

        Raises:
            NotASavepointError: A file, or a savepoint, is there.
        """
        path = path_text(onto)
        uri = path.rstrip("/") or "/"
        store = cls(uri, Location.of(uri))
        with reading_errors(path):
            kind = store.location.info().type
            if kind == fs.FileType.File or store.below(METADATA_FILE).file_size() is not None:
                raise NotASavepointError(
                    f"{path} is a {'file' if kind == fs.FileType.File else 'savepoint'}, expected a"
                    " directory of backups, or none yet"
                )
        return store

    def below(self, *names: str) -> Location:
        """The location of something in the directory."""
        return Location(self.location.filesystem, posixpath.join(self.location.path, *names))

    def uri_of(self, name: str) -> str:
        """The path of something in the directory, in the user's spelling."""
        return uri_below(self.uri, name)

    def make(self, *names: str) -> None:
        """Makes a directory; an object store has none, and pyarrow would leave an empty object."""
        if renames_files(self.location.filesystem):
            with writing_errors(self.uri):
                self.location.filesystem.create_dir(self.below(*names).path, recursive=True)

    def new_name(self, source: str, write_id: str) -> str:
        """The name of a backup that a write makes now of the snapshot at ``source``."""
        name = posixpath.basename(source.partition("?")[0].rstrip("/"))
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:_LONGEST_NAME].strip("-.") or "snapshot"
        now = datetime.now(UTC)
        # Names tell which backup of a second is the newest.
        return f"backup-{now.strftime(_TIME)}-{now.microsecond:06}-{plain}-{write_id}"

    def files(self) -> dict[str, SharedFile]:
        """All files of backups by name, whether a backup needs them or not."""
        files = map(SharedFile.of, self.below(SHARED).infos())
        return {file.name: file for file in files if file is not None}

    def names(self) -> list[str]:
        """The names of directories of backups, the oldest first; a backup may not be complete."""
        infos = self.location.infos()
        return sorted(
            info.base_name
            for info in infos
            if info.type == fs.FileType.Directory and _BACKUP.fullmatch(info.base_name)
        )

    def backup(self, name: str) -> StoredBackup | None:
        """A backup; None if it is not complete. Raises ``DamagedError`` if it can't be read."""
        kind = self.below(name, METADATA_FILE).info().type
        if kind == fs.FileType.NotFound:
            return None
        if kind != fs.FileType.File:
            path = self.uri_of(posixpath.join(name, METADATA_FILE))
            raise NotASavepointError(f"{path} is a directory, expected a file")
        directory = SnapshotDirectory(self.below(name), self.uri_of(name))
        view = DataInputView(directory.read_metadata(), directory.metadata_path)
        metadata = CheckpointMetadata.read(view)
        match = _BACKUP.fullmatch(name)
        assert match is not None  # of ``names``
        return StoredBackup(
            name,
            self.uri_of(name),
            datetime.strptime(match[1], _TIME).replace(tzinfo=UTC),
            metadata.checkpoint_id,
            frozenset(bytes(operator.operator_id) for operator in metadata.operators),
            frozenset(_files_of(metadata)),
        )

    def backups(self) -> tuple[dict[str, StoredBackup], dict[str, str]]:
        """The backups that are complete, and why others can't be read, by name."""

        def read(name: str) -> StoredBackup | str | None:
            try:
                return self.backup(name)
            except (SavepointNotFoundError, StateFileNotFoundError):
                return None  # another one prunes, and has removed its ``_metadata``
            except DamagedError as error:
                return str(error)

        names, answers = self.names(), dict[str, StoredBackup | str | None]()
        while names != [*answers]:
            with ThreadPoolExecutor(THREADS) as pool:
                answers = dict(zip(names, pool.map(read, names), strict=True))
            if any(answers.values()):
                break
            # All that were listed may be gone by now, where others back up and prune.
            names = self.names()
        problems = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
        backups = {
            name: answer
            for name, answer in answers.items()
            if answer is not None and not isinstance(answer, str)
        }
        return backups, problems

    def living(self) -> frozenset[str]:
        """The ids of writes that show signs of life."""
        return frozenset(claims(self.below(WRITES).infos(), is_local=self.location.is_local))


def _files_of(metadata: CheckpointMetadata) -> Iterator[str]:
    for stream in streams_of(metadata):
        if isinstance(stream, RelativeFile):
            yield posixpath.basename(stream.path)


def is_one_store(ours: fs.FileSystem, theirs: fs.FileSystem) -> bool:
    """Whether two file systems lead to one store, although their options may differ.

    Without an endpoint for both, it is one: the environment may have the endpoint of the other.
    """
    if ours.equals(theirs):
        return True
    names = _OF_STORE.get(ours.type_name)
    if names is None or ours.type_name != theirs.type_name:
        return False
    options = [file_system.__reduce__()[1][0] for file_system in (ours, theirs)]
    return all(len({_host(own[name]) for own in options} - {""}) <= 1 for name in names)


def _host(endpoint: str) -> str:
    return endpoint.rpartition("://")[2].rstrip("/").lower()


def write_id_of(name: str) -> str:
    """The id of the write that made a backup of this name."""
    return name.rpartition("-")[2]
