"""Makes a backup: copies the files that are not there yet, then puts ``_metadata`` in place."""

from __future__ import annotations

import posixpath
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.backup.backup_store import SHARED, WRITES, BackupStore, is_one_store
from savepoint_extensions.backup.originals import THREADS, originals_of
from savepoint_extensions.backup.pruning import prune_backups, swept
from savepoint_extensions.backup.retention import Retention
from savepoint_extensions.backup.shared_files import SharedFiles
from savepoint_extensions.backup.writes import METADATA, begun, has_sign, remove, taken_for_dead
from savepoint_formats.bytes import DataOutputView
from savepoint_formats.errors import (
    NotASavepointError,
    RefusedError,
    SavepointError,
    StateFileNotFoundError,
)
from savepoint_formats.locations import METADATA_FILE, is_below, real_path
from savepoint_formats.metadata import (
    EmptySegment,
    InlineStream,
    MetadataVersion,
    RelativeFile,
    with_streams,
)
from savepoint_formats.new_snapshot import (
    NewFile,
    no_progress,
    renames_files,
    sync_directories,
    unused_name,
    writing_errors,
)
from savepoint_formats.printable import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.snapshot import Snapshot
    from savepoint_extensions.backup.backup_store import SharedFile
    from savepoint_extensions.backup.originals import FileHandle
    from savepoint_extensions.backup.pruning import PrunedBackups
    from savepoint_formats.locations import PathText
    from savepoint_formats.metadata import CheckpointMetadata, PlainStream
    from savepoint_formats.new_snapshot import Progress


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made.

    Attributes:
        path: Its directory: a snapshot that this package and Flink open; empty after a dry run.
        snapshot: Path of the snapshot.
        checkpoint_id: The id of the snapshot.
        files: Number of files that it needs, except ``_metadata``.
        file_size: Bytes of these.
        copied_files: Number of files that were copied; the others were there already.
        copied_size: Bytes of these.
        metadata_size: Bytes of its ``_metadata``.
        read_size: Bytes of the snapshot's files that were read.
        seconds: How long it took.
        check: What was looked at in files that were there already: ``sizes`` or ``bytes``.
        damaged: Names of such files with wrong bytes, or that vanished or can't be read, and of files
            that earlier backups lack. An unreadable ``_metadata`` is named ``backup-…/_metadata``.
        repaired: Names of those that have the bytes of the snapshot's files again. Earlier backups
            that need the other ones are damaged.
        pruned: Which backups are kept and which were removed, if ``keep`` was given.
        incomplete: Names of directories without ``_metadata`` whose writes are dead, if files are checked:
            they were never completed, or have lost it.
    """

    path: str
    snapshot: str
    checkpoint_id: int
    files: int
    file_size: int
    copied_files: int
    copied_size: int
    metadata_size: int
    read_size: int
    seconds: float
    check: str = "sizes"
    damaged: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    pruned: PrunedBackups | None = None
    incomplete: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Backup({without_secrets(self.path)!r}, {self.copied_files} of {self.files} files"
            f" copied, {self.copied_size} bytes)"
        )


def back_up(
    snapshot: Snapshot,
    onto: PathText,
    *,
    keep: str | None = None,
    check: bool = False,
    on_progress: Progress = no_progress,
) -> Backup:
    """Makes a backup of a snapshot; see ``Savepoint.backup``."""
    if keep is not None:
        Retention.of(keep)  # a wrong rule is told before anything is copied
    start = time.monotonic()
    store = _store_for(snapshot, onto)
    originals = originals_of((it.record for it in snapshot.operators()), snapshot.directory)
    write_id = ""
    try:
        with begun(store) as write_id:
            shared = SharedFiles.begin(store, write_id, originals.values(), checks=check)
            distinct = list({original.origin: original for original in originals.values()}.values())
            pool = ThreadPoolExecutor(THREADS)
            try:
                files = pool.map(lambda it: shared.copy_of(it, on_progress), distinct)
                by_origin = {it.origin: file for it, file in zip(distinct, files, strict=True)}
            finally:
                pool.shutdown(cancel_futures=True)
            needed = {handle: by_origin[it.origin] for handle, it in originals.items()}
            name = store.new_name(snapshot.path, write_id)
            data = _bytes_of(snapshot.metadata, needed)
            _commit(store, write_id, name, data, needed.values())
            repaired = shared.repaired()
    except BaseException:
        # The user needs the first error; files that can't be removed go when backups are pruned.
        with suppress(SavepointError, OSError):
            swept(store, write_id)
        raise
    sizes = {file.name: file.size for file in needed.values()}
    return Backup(
        path=store.uri_of(name),
        snapshot=snapshot.path,
        checkpoint_id=snapshot.metadata.checkpoint_id,
        files=len(sizes),
        file_size=sum(sizes.values()),
        copied_files=shared.copied_files,
        copied_size=shared.copied_size,
        metadata_size=len(data),
        read_size=shared.read_size,
        seconds=round(time.monotonic() - start, 3),
        check="bytes" if check else "sizes",
        damaged=shared.damaged,
        repaired=repaired,
        pruned=None if keep is None else _pruned(onto, keep, store.uri_of(name)),
        incomplete=shared.incomplete,
    )


def _store_for(snapshot: Snapshot, onto: PathText) -> BackupStore:
    """The directory of backups; one in the snapshot's own directory would go with the snapshot."""
    store, directory = BackupStore.of(onto), snapshot.directory.location
    is_inside = is_below(real_path(store.location), real_path(directory))
    if is_inside and is_one_store(store.location.filesystem, directory.filesystem):
        raise NotASavepointError(
            f"{store.uri} lies in the snapshot, and is gone when that is: expected a directory of"
            " backups elsewhere"
        )
    return store


def _pruned(onto: PathText, keep: str, path: str) -> PrunedBackups:
    try:
        return prune_backups(onto, keep)
    except RefusedError as error:
        raise RefusedError(f"{path} is complete, but older backups stay: {error}") from error


def planned_backup(snapshot: Snapshot, onto: PathText, *, keep: str | None = None) -> Backup:
    """What a backup would copy, and which older ones would go; writes nothing."""
    if keep is not None:
        Retention.of(keep)
    start = time.monotonic()
    store = _store_for(snapshot, onto)
    originals = originals_of((it.record for it in snapshot.operators()), snapshot.directory)
    sizes = {it.origin: it.size for it in originals.values()}
    present = {file.origin for file in store.files().values() if file.is_whole}
    new = [size for origin, size in sizes.items() if origin not in present]
    has_backups = keep is not None and bool(store.names())
    return Backup(
        path="",
        snapshot=snapshot.path,
        checkpoint_id=snapshot.metadata.checkpoint_id,
        files=len(sizes),
        file_size=sum(sizes.values()),
        copied_files=len(new),
        copied_size=sum(new),
        metadata_size=0,
        read_size=sum(new),
        seconds=round(time.monotonic() - start, 3),
        pruned=prune_backups(onto, str(keep), dry_run=True) if has_backups else None,
    )


def _bytes_of(metadata: CheckpointMetadata, files: Mapping[FileHandle, SharedFile]) -> bytes:
    """The bytes of ``_metadata`` of the backup."""

    def replacement(stream: PlainStream) -> PlainStream:
        if isinstance(stream, InlineStream | EmptySegment):
            return stream
        file = files[stream]
        return RelativeFile(posixpath.join("..", SHARED, file.name), stream.size)

    operators = tuple(with_streams(operator, replacement) for operator in metadata.operators)
    # Releases that write version 2 know no relative files.
    version = max(metadata.version, MetadataVersion.CHANNEL_STATE)
    view = DataOutputView()
    replace(metadata, operators=operators, version=version).write(view)
    return view.to_bytes()


def _commit(
    store: BackupStore, write_id: str, name: str, data: bytes, files: Iterable[SharedFile]
) -> None:
    """Puts ``_metadata`` in place, if all files are there and nobody took the write for dead."""
    present = store.files()
    missing = {file.name for file in files if present.get(file.name) != file}
    if missing:
        raise StateFileNotFoundError(
            f"{store.uri} lacks {len(missing)} files that the backup needs, e.g. {min(missing)};"
            " something else changes files there"
        )
    filesystem, is_local = store.location.filesystem, store.location.is_local
    prepared = unused_name(METADATA, write_id)
    place = store.below(name, METADATA_FILE)
    with writing_errors(store.uri):
        with NewFile(prepared, store.below(WRITES, prepared)) as file:
            file.write(data)
        store.make(name)
        if is_local:
            sync_directories(store.below(SHARED).path)
        try:
            if not has_sign(store, write_id):
                raise FileNotFoundError(prepared)
            move = filesystem.move if renames_files(filesystem) else filesystem.copy_file
            move(store.below(WRITES, prepared).path, place.path)
        except FileNotFoundError as error:
            raise taken_for_dead(store) from error
        if is_local:
            sync_directories(store.below(name).path)
        with suppress(OSError):
            remove(store, WRITES, prepared)
