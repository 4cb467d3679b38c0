"""Tables of savepoints as Parquet in a folder, converted once, for many queries.

The name of a file follows from the content of ``_metadata``, the table with its layouts, the options of the read
and the version of this package. A savepoint never changes, so a file is never out of date: a new savepoint at the
same path has other names. Nothing is removed; to free the space, remove the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from pyarrow import dataset

from savepoint_database import files
from savepoint_formats.locations import Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_database.sql.scan_dataset import SqlRows


def silent(_line: str) -> None:
    """Reports nothing."""


@dataclass(frozen=True, slots=True)
class TableCache:
    """A folder, local or a URI, with converted tables. ``tell`` gets a line per conversion."""

    folder: str
    tell: Callable[[str], None] = silent

    def path(self, snapshot: Snapshot, rows: SqlRows) -> str:
        """Path of the rows of a table, without an ending, whether they are there or not."""
        scan = rows.scan
        layouts = (scan.table.columns, scan.table.states, scan.kryo)
        read = (scan.full_name, layouts, scan.options, rows.times, _version())
        content = sha256(snapshot.metadata_bytes)
        content.update(repr(read).encode())
        return f"{self.folder.rstrip('/')}/{content.hexdigest()[:40]}"

    def stored(self, snapshot: Snapshot, rows: SqlRows) -> dataset.Dataset:
        """Rows of a table in Parquet, converted now if they were not yet; holds a few batches in memory."""
        path = f"{self.path(snapshot, rows)}.parquet"
        location = Location.of(path)
        if location.file_size() is None:
            folder = Location.of(self.folder)
            folder.filesystem.create_dir(folder.path, recursive=True)
            form = files.TableFormat.PARQUET
            size = files.write_table_file(
                path, form, rows.schema, rows.batches(), is_overwritten=True
            )
            self.tell(f"{rows.scan.full_name} is now cached as {size:,} bytes of Parquet: {path}")
        return dataset.dataset(location.path, filesystem=location.filesystem, format="parquet")


def _version() -> str:
    try:
        return version("savepoint-state-processor")
    except PackageNotFoundError:
        # An unpacked archive on a cluster has no version.
        return ""
