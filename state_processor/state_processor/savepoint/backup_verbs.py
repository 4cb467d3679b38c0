"""Copies of a savepoint that outlive it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from savepoint_database.snapshot import Snapshot

if TYPE_CHECKING:
    from savepoint_extensions.backup.backing_up import Backup
    from savepoint_extensions.backup.replica import ReplicaCheck
    from savepoint_formats.locations import PathText


class BackupVerbs(Snapshot):
    """Backs a savepoint up, and compares copies."""

    def backup(
        self,
        onto: PathText,
        *,
        keep: str | None = None,
        check: bool = False,
        dry_run: bool = False,
    ) -> Backup:
        """Makes a backup beside earlier ones; files that are there already are not copied.

        A backup has everything that it needs below ``onto``, a directory of this machine or of a store
        that may be moved as a whole. It is a snapshot: this package opens it, and Flink restores it. It
        appears when it is complete. Several programs may write to ``onto`` at the same time.

        Args:
            onto: The directory of the backups of one job; made if it does not exist.
            keep: Which backups stay afterwards, such as ``7d,4w``: see ``prune_backups``. All by default.
            check: Whether files that are there already are read, and those with wrong bytes are copied
                again. By default, they only have to be of the right size.
            dry_run: Whether to tell what would be copied and removed, and write nothing. Nothing is read
                either, so a new file counts even if another one has its content. The rule is applied to
                the backups that are there.

        Returns:
            Where it is, and how many files and bytes were copied.

        Raises:
            NotASavepointError: A file, or a savepoint, is at ``onto``, or it lies in the snapshot.
            StateFileNotFoundError: The snapshot lacks files, perhaps because its job has deleted it.
            FormatError: A file is not of the size or kind that its handle says.
            SavepointExistsError: Others took this write for dead, because it was stopped for minutes.
            RefusedError: An earlier backup can't be read, so none is removed; the new one is complete.
            ValueError: ``keep`` can't be understood, or a dry run is to check files.

        Example:
            >>> Savepoint.open("s3://jobs/orders/chk-17").backup("s3://backups/orders", keep="7d,4w")
        """
        from savepoint_extensions.backup.backing_up import back_up, planned_backup  # noqa: PLC0415  # loads no extension before it is used

        if not dry_run:
            return back_up(self, onto, keep=keep, check=check)
        if check:
            raise ValueError("a dry run reads no files, so it checks none")
        return planned_backup(self, onto, keep=keep)

    def verify_replica(
        self, source: PathText | Snapshot, depth: Literal["quick", "deep"] = "deep"
    ) -> ReplicaCheck:
        """Checks that this is a complete copy of a snapshot, made by any program.

        Files of the copy are looked for in its own directories alone, and as by ``allow_paths``.

        Args:
            source: The snapshot, or its path.
            depth: ``deep`` compares each byte; ``quick`` only whether files exist, and their sizes.

        Returns:
            What is missing, and what differs; that raises nothing.

        Raises:
            SavepointNotFoundError: The snapshot does not exist.
            ValueError: There is no such depth.

        Example:
            >>> Savepoint.open(backup.path).verify_replica("s3://jobs/orders/chk-17").is_complete
        """
        from savepoint_extensions.backup.replica import replica_check  # noqa: PLC0415  # loads no extension before it is used

        snapshot = source if isinstance(source, Snapshot) else Snapshot.open(source)
        return replica_check(self, snapshot, depth)
