"""Copies files of a snapshot into the directory of backups, unless they are there."""

from __future__ import annotations

import errno
import posixpath
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_extensions.backup.backup_store import (
    SHARED,
    WRITES,
    SharedFile,
    sha256_of,
    write_id_of,
)
from savepoint_extensions.backup.originals import THREADS
from savepoint_extensions.backup.writes import (
    DOOMED,
    PART,
    REUSED,
    note,
    noted,
    remove,
    taken_for_dead,
)
from savepoint_formats.errors import SavepointError
from savepoint_formats.locations import METADATA_FILE, reading_errors
from savepoint_formats.new_snapshot import (
    LARGEST_COPY_SIZE,
    NewFile,
    renames_files,
    unused_name,
    writing_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from savepoint_extensions.backup.backup_store import BackupStore
    from savepoint_extensions.backup.originals import Original
    from savepoint_formats.new_snapshot import Progress

# An object store gets a file of at most this size in one request, and no second copy of it.
_IN_MEMORY = 16 << 20
_CHUNK_SIZE = 4 << 20

# Of a file, not of the place: what disks, and file systems with checksums, say of rotten blocks.
_UNREADABLE = {errno.EIO, errno.EBADMSG, errno.EUCLEAN}


@dataclass(slots=True)
class SharedFiles:
    """Files that a write may refer to, by origin and by content, and what it has copied so far.

    Attributes:
        copied_files: Number of files that were copied.
        copied_size: Bytes of these.
        read_size: Bytes that were read of the snapshot's files.
        damaged: Names of files that don't have the bytes that their names say, or that are gone.
        incomplete: Directories of backups without ``_metadata`` that no write is going to complete.
    """

    store: BackupStore
    write_id: str
    by_origin: dict[tuple[str, int], SharedFile]
    by_content: dict[tuple[str, int], SharedFile]
    damaged: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    copied_files: int = 0
    copied_size: int = 0
    read_size: int = 0
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def begin(
        cls, store: BackupStore, write_id: str, originals: Iterable[Original], *, checks: bool
    ) -> Self:
        """Finds out which files are there and stay; tells others that this write may need them.

        Files are of their sizes; with ``checks``, also each of their bytes is right, and files that
        other backups lack are looked for.
        """
        origins = {(original.origin, original.size) for original in originals}
        sizes = {size for _, size in origins}
        store.make(SHARED)
        # Files of the same content have the same size, which few files have by chance.
        wanted = [
            file.name
            for file in store.files().values()
            if file.size in sizes and (file.is_whole or checks)
        ]
        with writing_errors(store.uri):
            note(store, write_id, REUSED, wanted)
        # In this order: see ``writes``.
        doomed = frozenset().union(*noted(store, DOOMED).values())
        present = store.files()
        usable = [present[name] for name in wanted if name in present and name not in doomed]
        damaged = tuple(dict.fromkeys([*_damaged(store, usable), *_lost(store)])) if checks else ()
        # The newest of several copies is used: a check had it made, because the older one is rotten.
        usable = sorted(
            (file for file in usable if file.name not in damaged), key=lambda file: file.time_ns
        )
        return cls(
            store,
            write_id,
            {(file.origin, file.size): file for file in usable},
            {(file.digest, file.size): file for file in usable},
            damaged,
            _incomplete(store) if checks else (),
        )

    def copy_of(self, original: Original, on_progress: Progress) -> SharedFile:
        """The file in the directory of backups that has the bytes of ``original``."""
        known = self.by_origin.get((original.origin, original.size))
        if known is not None:
            on_progress(original.size)
            return known
        original.expect_kind()
        with self._lock:
            self.read_size += original.size
        with writing_errors(self.store.uri):
            if renames_files(self.store.location.filesystem):
                return self._by_part(original, on_progress)
            if original.size <= _IN_MEMORY:
                data = b"".join(original.chunks())
                file, is_new = self._placed(original, sha256(data).hexdigest())
                if is_new:
                    self._write(file, data)
                on_progress(original.size)
                return file
            if original.size <= LARGEST_COPY_SIZE:
                return self._by_part(original, on_progress)
            return self._read_twice(original, on_progress)

    def _by_part(self, original: Original, on_progress: Progress) -> SharedFile:
        """Copies a file under another name, which it has until its content is known."""
        name, digest = unused_name(PART, self.write_id), sha256()
        part = self.store.below(WRITES, name)
        with NewFile(name, part) as copy:
            for chunk in original.chunks():
                digest.update(chunk)
                copy.write(chunk)
                on_progress(chunk.size)
        file, is_new = self._placed(original, digest.hexdigest())
        filesystem, place = self.store.location.filesystem, self.store.below(SHARED, file.name)
        is_moved = is_new and renames_files(filesystem)
        try:
            if is_new:
                (filesystem.move if is_moved else filesystem.copy_file)(part.path, place.path)
        except FileNotFoundError as error:
            raise taken_for_dead(self.store) from error
        if is_moved:
            return file
        with suppress(OSError):
            remove(self.store, WRITES, name)
        return file

    def _read_twice(self, original: Original, on_progress: Progress) -> SharedFile:
        """Reads a file for its name, and again to copy it, because no store copies one so large."""
        file, is_new = self._placed(original, sha256_of(original.chunks()))
        if is_new:
            with NewFile(file.name, self.store.below(SHARED, file.name)) as copy:
                for chunk in original.chunks():
                    copy.write(chunk)
        on_progress(original.size)
        return file

    def _write(self, file: SharedFile, data: bytes) -> None:
        with NewFile(file.name, self.store.below(SHARED, file.name)) as copy:
            copy.write(data)

    def repaired(self) -> tuple[str, ...]:
        """Puts the bytes of new copies into damaged files of the same content; returns their names.

        Earlier backups need these files. Other writers leave them alone, because this write noted them.
        The backup itself is complete, so a file that can't be repaired is no error.
        """
        return tuple(filter(self._is_repaired, self.damaged))

    def _is_repaired(self, name: str) -> bool:
        wanted = SharedFile.named(name)
        good = None if wanted is None else self.by_content.get((wanted.digest, wanted.size))
        if good is None:
            return False  # no file of the snapshot
        try:
            if _is_damaged(self.store, good):
                return False
            with writing_errors(self.store.uri):
                self._overwrite(name, good)
        except (SavepointError, OSError):
            return False
        return True

    def _overwrite(self, name: str, good: SharedFile) -> None:
        filesystem, place = self.store.location.filesystem, self.store.below(SHARED, name)
        source, is_moved = self.store.below(SHARED, good.name), renames_files(filesystem)
        if not is_moved and good.size <= LARGEST_COPY_SIZE:
            filesystem.copy_file(source.path, place.path)
            return
        part = unused_name(PART, self.write_id) if is_moved else name
        new = self.store.below(WRITES, part) if is_moved else place
        with NewFile(part, new) as copy, filesystem.open_input_stream(source.path) as stream:
            while data := stream.read(_CHUNK_SIZE):
                copy.write(data)
        if is_moved:
            filesystem.move(new.path, place.path)

    def _placed(self, original: Original, digest: str) -> tuple[SharedFile, bool]:
        """The file of a content, and whether it must still be put there."""
        new = SharedFile(digest, original.size, original.origin, self.write_id)
        with self._lock:
            file = self.by_content.setdefault((digest, original.size), new)
            if file is new:
                self.copied_files += 1
                self.copied_size += original.size
        return file, file is new


def _damaged(store: BackupStore, files: list[SharedFile]) -> tuple[str, ...]:
    """Names of files whose bytes are others than their names say, or that have vanished meanwhile."""
    with ThreadPoolExecutor(THREADS) as pool:
        flags = pool.map(lambda file: not file.is_whole or _is_damaged(store, file), files)
        return tuple(file.name for file, flag in zip(files, flags, strict=True) if flag)


def _lost(store: BackupStore) -> tuple[str, ...]:
    """Files that are missing or cut in other backups, and ``_metadata`` that can't be read."""
    backups, unread = store.backups()
    whole = {name for name, file in store.files().items() if file.is_whole}
    lacking = {name: files for name, it in backups.items() if (files := it.files - whole)}
    # A backup that goes meanwhile lacks files, too: its ``_metadata`` goes first.
    lost = {
        file
        for name, files in lacking.items()
        if store.below(name, METADATA_FILE).file_size() is not None
        for file in files
    }
    return (*sorted(lost), *(posixpath.join(name, METADATA_FILE) for name in sorted(unread)))


def _incomplete(store: BackupStore) -> tuple[str, ...]:
    """Directories of backups without ``_metadata`` that no write is going to complete."""
    names = store.names()
    # Before ``_metadata`` is looked for: a write that is done has put it there.
    living = store.living()
    return tuple(
        name
        for name in names
        if write_id_of(name) not in living
        and store.below(name, METADATA_FILE).info().type == fs.FileType.NotFound
    )


def _is_damaged(store: BackupStore, file: SharedFile) -> bool:
    """Reads a file; one that a local disk can't read is damaged, too, so others are checked all the same."""
    place = store.below(SHARED, file.name)
    with reading_errors(store.uri):
        try:
            with place.filesystem.open_input_stream(place.path) as stream:
                chunks = iter(lambda: stream.read(_CHUNK_SIZE), b"")
                return sha256_of(chunks) != file.digest
        except OSError as error:
            if store.location.is_local and error.errno in _UNREADABLE:
                return True
            # A store that opens files late has another error than FileNotFoundError.
            if place.file_size() is not None:
                raise
            return True
