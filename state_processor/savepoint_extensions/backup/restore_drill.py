"""Tries out a backup as far as that goes without Flink: opened, checked, read to the last row."""

from __future__ import annotations

import posixpath
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_database.checks.verification import Verification
from savepoint_database.snapshot import Snapshot
from savepoint_extensions.backup.backup_store import digest_of, sha256_of
from savepoint_extensions.backup.originals import THREADS, plain_handle
from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import stream_references
from savepoint_formats.printable import html_records, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.snapshot import GivenType, StateTypes
    from savepoint_database.types import DescribedClasses
    from savepoint_formats.locations import PathText, StateFile

_CHUNK_SIZE = 8 << 20


@dataclass(frozen=True, slots=True)
class DrilledTable:
    """A table that was read to its last row; ``problem`` says why it could not be."""

    table: str
    rows: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RestoreDrill:
    """How a backup was tried out.

    Attributes:
        path: The backup.
        result: ``passed`` or ``failed``.
        is_passed: Whether everything is there, and could be read.
        checkpoint_id: The id of its snapshot.
        files: Number of files that it needs.
        file_size: Bytes of these.
        checksums: Number of these whose bytes were compared with the checksum in their names; only
            files of ``backup`` have one.
        entries: Number of decoded entries and elements.
        rows: Number of rows of all tables.
        seconds: How long it took.
        tables: The tables.
        faults: What is wrong with it.
    """

    path: str
    result: str
    is_passed: bool
    checkpoint_id: int
    files: int
    file_size: int
    checksums: int
    entries: int
    rows: int
    seconds: float
    tables: tuple[DrilledTable, ...]
    faults: tuple[Fault, ...]

    def __repr__(self) -> str:
        return f"RestoreDrill({without_secrets(self.path)!r}, {self.result}, {self.rows} rows)"

    def _repr_html_(self) -> str:
        return html_records(repr(self), self.tables, ("table", "rows", "problem"))


def restore_drill(  # as Snapshot.open
    path: PathText,
    *,
    uids: Iterable[str] = (),
    kryo_classes: DescribedClasses = (),
    allow_paths: Iterable[PathText] = (),
    key_types: Mapping[str, GivenType] | None = None,
    plan: PathText | None = None,
    types: StateTypes | None = None,
) -> RestoreDrill:
    """Tries out a backup as far as that goes without Flink.

    It is opened with strict paths, so that files elsewhere can't stand in for missing ones. The bytes of
    files of ``Savepoint.backup`` are compared with the checksums in their names. Then it is verified as
    by ``Savepoint.verify``, and each table is read to its last row.

    Args:
        path: The backup, or any other snapshot.
        uids: As for ``Savepoint.open``.
        kryo_classes: As for ``Savepoint.open``.
        allow_paths: As for ``Savepoint.open``.
        key_types: As for ``Savepoint.open``.
        plan: As for ``Savepoint.open``.
        types: As for ``Savepoint.open``.

    Returns:
        Whether it passed, numbers of files, entries and rows, and what is wrong. Damage of state is part
        of the answer and raises nothing.

    Raises:
        SavepointNotFoundError: Nothing is there, or a directory without ``_metadata``.
        NotASavepointError: A file of another kind is there.
        FormatError: The ``_metadata`` file is damaged.

    Example:
        >>> restore_drill("s3://backups/orders").is_passed
    """
    start = time.monotonic()
    snapshot = Snapshot.open(
        path,
        uids=uids,
        kryo_classes=kryo_classes,
        allow_paths=allow_paths,
        strict_paths=True,
        key_types=key_types,
        plan=plan,
        types=types,
    )
    named = {
        file.path: file
        for operator in snapshot.operators()
        for reference in stream_references(operator.record)
        if (handle := plain_handle(reference)) is not None
        and digest_of((file := snapshot.directory.file(handle)).path) is not None
    }
    with ThreadPoolExecutor(THREADS) as pool:
        torn = [fault for fault in pool.map(_checksum_fault, named.values()) if fault is not None]
    verification = Verification.of(snapshot)
    tables = tuple(_read(snapshot, table.table) for table in snapshot.tables())
    faults = (*torn, *verification.faults)
    is_passed = verification.is_whole and not torn and not any(table.problem for table in tables)
    return RestoreDrill(
        path=snapshot.path,
        result="passed" if is_passed else "failed",
        is_passed=is_passed,
        checkpoint_id=snapshot.metadata.checkpoint_id,
        files=verification.files,
        file_size=verification.file_size,
        checksums=len(named),
        entries=verification.entries,
        rows=sum(table.rows or 0 for table in tables),
        seconds=round(time.monotonic() - start, 3),
        tables=tables,
        faults=faults,
    )


def _checksum_fault(file: StateFile) -> Fault | None:
    """What is wrong with a file whose name has its checksum, except that it is missing."""
    if file.location is None:
        return None  # ``verify`` tells that it is missing
    try:
        digest = sha256_of(file.chunks(_CHUNK_SIZE))
    except SavepointError as error:
        return Fault.of(Check.CHECKSUMS, error, file=file.path)
    if digest == digest_of(file.path):
        return None
    name = posixpath.basename(file.path)
    return Fault(
        Severity.DAMAGE,
        Check.CHECKSUMS,
        f"its SHA-256 is {digest}, expected that of its name",
        file=file.path,
        cost=f"any of the bytes of {name}",
    )


def _read(snapshot: Snapshot, table: str) -> DrilledTable:
    try:
        return DrilledTable(table, snapshot.scan(table).count())
    except SavepointError as error:
        return DrilledTable(table, None, str(error))
