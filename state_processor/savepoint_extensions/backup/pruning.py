"""Removes backups that a rule doesn't keep, and the files that no backup needs any more.

First ``_metadata`` of each such backup goes, then files. So a prune that dies leaves files that the next
one removes, and no backup without its files. A backup that lacks files is not the newest of anything:
otherwise a torn one would replace a whole one.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from savepoint_extensions.backup.backup_store import SHARED, WRITES, BackupStore, write_id_of
from savepoint_extensions.backup.originals import THREADS
from savepoint_extensions.backup.retention import Retention
from savepoint_extensions.backup.writes import (
    DOOMED,
    REUSED,
    begun,
    note,
    noted,
    remove,
    signed,
)
from savepoint_formats.errors import RefusedError, SavepointNotFoundError
from savepoint_formats.locations import METADATA_FILE
from savepoint_formats.new_snapshot import writing_errors
from savepoint_formats.printable import html_records, without_secrets

if TYPE_CHECKING:
    from savepoint_extensions.backup.backup_store import SharedFile, StoredBackup
    from savepoint_formats.locations import PathText


@dataclass(frozen=True, slots=True)
class PrunedBackup:
    """A backup that a rule was applied to.

    Attributes:
        path: Its directory.
        time: When it was made, in UTC, as ISO 8601.
        checkpoint_id: The id of the snapshot.
        kept: Why it is kept; empty if it is not.
        missing: Number of files that it lacks.
        is_deleted: Whether it was removed.
    """

    path: str
    time: str
    checkpoint_id: int
    kept: str
    missing: int
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class PrunedBackups:
    """Backups of a directory, after a rule was applied to them.

    Attributes:
        path: The directory.
        rule: The rule.
        backups: All backups, the oldest first.
        deleted_files: Number of files that were removed, except ``_metadata``.
        deleted_size: Bytes of these.
    """

    path: str
    rule: str
    backups: tuple[PrunedBackup, ...]
    deleted_files: int
    deleted_size: int

    def __repr__(self) -> str:
        deleted = sum(backup.is_deleted for backup in self.backups)
        return f"PrunedBackups({without_secrets(self.path)!r}, {deleted} of {len(self.backups)} removed)"

    def _repr_html_(self) -> str:
        names = ("path", "time", "checkpoint_id", "kept", "missing", "is_deleted")
        return html_records(repr(self), self.backups, names)


def prune_backups(
    onto: PathText, keep: str, *, now: datetime | None = None, dry_run: bool = False
) -> PrunedBackups:
    """Removes the backups of a directory that a rule doesn't keep, and files that no other one needs.

    Backups whose snapshots have the same operators are of one job, and the rule applies to each job by
    itself. The newest whole backup of a job always stays. Files that a backup needs never go, even if
    others make backups or prune at the same time.

    Args:
        onto: The directory of backups.
        keep: Such as ``7d,4w``: the newest of each of the last 7 days and of each of the last 4 weeks.
            Units are h, d, w, m and y: hours, days, weeks, months and years, in UTC.
        now: The time with zone from which the rule counts; now by default.
        dry_run: Whether to tell what would be removed, and remove nothing; files are not counted then.

    Returns:
        Each backup with the reason why it is kept, and what was removed.

    Raises:
        ValueError: The rule can't be understood, or ``now`` has no zone.
        SavepointNotFoundError: The directory has no backup.
        RefusedError: A backup can't be read: nothing is removed, because its files are unknown.

    Example:
        >>> prune_backups("s3://backups/orders", "7d,4w").deleted_size
    """
    rule = Retention.of(keep)
    if now is not None and now.tzinfo is None:
        raise ValueError(f"now is {now}, expected a time with zone")
    store = BackupStore.of(onto)
    backups, problems = store.backups()
    if problems:
        raise _unread(store, problems)
    if not backups:
        raise SavepointNotFoundError(f"{store.uri} has no backup")
    rows = _judged(backups, store.files(), rule, now or datetime.now(UTC))
    if dry_run:
        return PrunedBackups(store.uri, keep, tuple(rows), 0, 0)
    for name, row in zip(sorted(backups), rows, strict=True):
        if row.is_deleted:
            _remove_backup(store, name)
    deleted = swept(store)
    return PrunedBackups(
        store.uri,
        keep,
        tuple(rows),
        len(deleted),
        sum(file.size for file in deleted),
    )


def _judged(
    backups: dict[str, StoredBackup], files: dict[str, SharedFile], rule: Retention, now: datetime
) -> list[PrunedBackup]:
    """Each backup, and why it is kept; the oldest first."""
    missing = {
        name: sum(name not in files or not files[name].is_whole for name in backup.files)
        for name, backup in backups.items()
    }
    jobs: dict[frozenset[bytes], list[StoredBackup]] = {}
    for name, backup in backups.items():
        if not missing[name]:
            jobs.setdefault(backup.job, []).append(backup)
    kept = {name: why for of_job in jobs.values() for name, why in rule.kept(of_job, now).items()}
    return [
        PrunedBackup(
            backup.path,
            backup.time.strftime("%Y-%m-%d %H:%M:%SZ"),
            backup.checkpoint_id,
            why := f"it lacks {missing[name]} files: look at it, and remove its directory"
            if missing[name]
            else kept.get(name, ""),
            missing[name],
            is_deleted=not why,
        )
        for name, backup in sorted(backups.items())
    ]


def _remove_backup(store: BackupStore, name: str) -> None:
    with writing_errors(store.uri):
        remove(store, name, METADATA_FILE)
    _remove_folder(store, name)


def _remove_folder(store: BackupStore, name: str) -> None:
    """Removes the directory of a backup that is gone, if there is nothing else in it."""
    if store.location.is_local:
        with suppress(OSError):
            os.rmdir(store.below(name).path)


def swept(store: BackupStore, only: str = "") -> list[SharedFile]:
    """Removes files that no backup and no write needs, ``only`` those of one write; returns them.

    Raises ``RefusedError`` if a backup can't be read; then nothing is removed.
    """
    with begun(store) as write_id, writing_errors(store.uri):
        needed, living = _needed(store), signed(store)
        spare = {
            name
            for name, file in store.files().items()
            if name not in needed and file.write_id not in living and only in ("", file.write_id)
        }
        removed = _removed(store, write_id, spare) if spare else []
        left = store.files().keys()
        for name, doomed in noted(store, DOOMED).items():
            if doomed.isdisjoint(left):
                remove(store, WRITES, name)
        for name in store.names():
            if write_id_of(name) not in living:
                _remove_folder(store, name)
    return removed


def _removed(store: BackupStore, write_id: str, spare: set[str]) -> list[SharedFile]:
    """Removes spare files, except those that turn out to be needed after all."""
    doomed = note(store, write_id, DOOMED, spare)
    # In this order: see ``writes``.
    reused = frozenset[str]().union(*noted(store, REUSED).values())
    living = signed(store)
    try:
        needed = _needed(store)
    except RefusedError:
        remove(store, WRITES, doomed)
        raise
    files = store.files()
    going = [
        files[name]
        for name in sorted(spare & files.keys())
        if name not in needed and name not in reused and files[name].write_id not in living
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        # Each is awaited, so that the list stays if one of them can't be removed.
        for _ in pool.map(lambda file: remove(store, SHARED, file.name), going):
            pass
    remove(store, WRITES, doomed)
    return going


def _needed(store: BackupStore) -> frozenset[str]:
    """Names of the files that backups need."""
    backups, problems = store.backups()
    if problems:
        raise _unread(store, problems)
    return frozenset[str]().union(*(backup.files for backup in backups.values()))


def _unread(store: BackupStore, problems: dict[str, str]) -> RefusedError:
    return RefusedError(
        f"nothing is removed below {store.uri}, because the files of a backup that can't be read are"
        f" unknown: {problems[min(problems)]}; mend it, or remove its directory"
    )
