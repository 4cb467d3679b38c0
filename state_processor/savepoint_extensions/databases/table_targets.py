"""Tables of databases: a DuckDB file, a Delta table, a table of an Iceberg catalog.

Rows come as Arrow tables of bounded size. A table appears when it is complete: its files first, then
one commit of the target. If an export fails, its files are removed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import deque
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import duckdb
import pyarrow as pa
from pyarrow import parquet

from savepoint_database.files import TableTarget
from savepoint_database.types import double_quoted
from savepoint_extensions.databases.target_schema import (
    COMMENT,
    DELTA,
    DUCKDB,
    ICEBERG,
    TargetTypes,
    table_comment,
    target_schema,
    target_table,
)
from savepoint_formats.errors import SavepointError, TableFileError
from savepoint_formats.extras import imported
from savepoint_formats.locations import Location, path_in_store, scheme_of
from savepoint_formats.new_snapshot import name_unused, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.scan import TableScan

    Tables = Iterator[pa.Table]

# Tables of rows per Parquet file of Delta, and per commit of data to Iceberg, which holds them in memory.
_TABLES_PER_DELTA_FILE = 32
_TABLES_PER_APPEND = 8

_ICEBERG_FILE = ".pyiceberg.yaml"

# DuckDB keeps written blocks in memory until the limit is full, and each thread has rows of its own.
_DUCKDB_MEMORY = "64MiB"
_LARGE_ROW = 4096
_DUCKDB_LARGE = 512 << 20
_COPIES = 8
_VECTOR_ROWS = 2048  # DuckDB writes, and reads, so many at once, with all their values in memory


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table to write.

    Attributes:
        place: The user's name of the place: a file, a directory or URI, or ``catalog.namespace.table``.
        operator: Name of the operator.
        name: Name of the table.
        comment: Comment of the table.
        schema: Columns with comments.
        is_overwritten: Whether an existing table is replaced.
    """

    place: str
    operator: str
    name: str
    comment: str
    schema: pa.Schema
    is_overwritten: bool

    def comments(self) -> dict[str, str]:
        """Comments of columns that have one."""
        return {
            field.name: field.metadata[COMMENT].decode() for field in self.schema if field.metadata
        }

    def exists(self) -> TableFileError:
        """The error about an existing table."""
        return TableFileError(
            f"{self.place} has the table {self.operator}.{self.name} already; write it elsewhere, or"
            " overwrite it"
        )


def write_duckdb(table: NewTable, rows: Tables) -> int:
    """Writes ``operator.name`` into a file; other tables in it stay. Returns the size of the file."""
    if scheme_of(table.place) != "file":
        raise TableFileError(
            f"{table.place} is not a local path, and DuckDB writes to no other: write a file here and copy it"
        )
    path = path_in_store(table.place)
    try:
        with nullcontext(path) if os.path.exists(path) else _new_database(path) as written:
            _add_to_database(written, table, rows)
    except duckdb.Error as error:
        if "memory_limit" not in str(error):
            raise
        raise TableFileError(
            f"{table.place} needs more memory for these rows than DuckDB gets; export them as Parquet"
        ) from error
    return os.path.getsize(path)


@contextmanager
def _new_database(path: str) -> Iterator[str]:
    """A path whose file gets the name ``path`` when the context ends without an exception."""
    folder, name = os.path.split(path)
    with tempfile.TemporaryDirectory(dir=folder or ".", prefix=f".{name}-") as aside:
        yield (written := os.path.join(aside, name))
        sync(written)
        name_unused(written, path)


def _add_to_database(path: str, table: NewTable, rows: Tables) -> None:
    with duckdb.connect(path, config={"memory_limit": _DUCKDB_MEMORY, "threads": 2}) as database:
        # With the name of the database, an operator may have the name of the file.
        ((catalog,),) = database.execute("SELECT current_database()").fetchall()
        schema = f"{double_quoted(catalog)}.{double_quoted(table.operator)}"
        full_name = f"{schema}.{double_quoted(table.name)}"
        database.begin()
        known = (
            "SELECT 1 FROM duckdb_tables() WHERE lower(schema_name) = ? AND lower(table_name) = ?"
        )
        names = [table.operator.lower(), table.name.lower()]
        is_there = bool(database.execute(known, names).fetchall())
        if is_there and not table.is_overwritten:
            raise table.exists()
        database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        database.execute(f"DROP TABLE IF EXISTS {full_name}")
        database.from_arrow(table.schema.empty_table()).create(full_name)
        limit, recent = 0, deque[tuple[int, int]]()
        for row_table in rows:
            if row_table.nbytes > _LARGE_ROW * row_table.num_rows:
                limit = max(limit, _memory_of_large(row_table, recent))
                database.execute(f"SET memory_limit = '{limit}B'")
            # A registered view would be kept, with its rows, until the end of the transaction.
            database.from_arrow(row_table).insert_into(full_name)
            del row_table
        database.execute(f"COMMENT ON TABLE {full_name} IS {_text(table.comment)}")
        for column, comment in table.comments().items():
            named = f"{full_name}.{double_quoted(column)}"
            database.execute(f"COMMENT ON COLUMN {named} IS {_text(comment)}")
        database.commit()


def _memory_of_large(table: pa.Table, recent: deque[tuple[int, int]]) -> int:
    """Bytes that DuckDB needs for large rows; ``recent`` has numbers of rows before, and their bytes."""
    while sum(count for count, _ in [*recent][1:]) >= _VECTOR_ROWS:
        recent.popleft()
    recent.append((table.num_rows, table.nbytes))
    together = sum(size for _, size in recent)
    return max(_DUCKDB_LARGE, _COPIES * recent[-1][1], together + together // 4)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write_delta(table: NewTable, rows: Tables) -> int:
    """Writes a Delta table to a directory or URI. Returns the size of its files."""
    delta = imported("deltalake")
    if "?" in table.place:
        raise TableFileError(
            f"{table.place} has options, which Delta takes from the environment, such as"
            " AWS_ENDPOINT_URL: leave them out"
        )
    location = Location.of(table.place)
    if not delta.DeltaTable.is_deltatable(table.place):
        _expect_empty(table, location)
    elif not table.is_overwritten:
        raise table.exists()
    if location.is_local:
        os.makedirs(location.path, exist_ok=True)
    names: list[str] = []
    try:
        actions = []
        for first in rows:
            names.append(f"part-{len(names):05}-{uuid4()}.parquet")
            tables = chain([first], islice(rows, _TABLES_PER_DELTA_FILE - 1))
            actions.append(_delta_file(location, names[-1], tables))
        imported("deltalake.transaction").create_table_with_add_actions(
            table.place,
            delta.Schema.from_arrow(table.schema),
            actions,
            mode="overwrite" if table.is_overwritten else "error",
            name=f"{table.operator}.{table.name}",
            description=table.comment,
        )
    except BaseException:
        # A commit may have been done although its answer is an error.
        if not _is_in_log(delta, table.place, names):
            _remove_delta_files(location, names)
        raise
    return sum(action.size for action in actions)


def _expect_empty(table: NewTable, location: Location) -> None:
    """Raises ``TableFileError`` if something other than a Delta table is there."""
    if location.file_size() is not None or location.infos():
        raise TableFileError(
            f"{table.place} exists, and is not a Delta table; name another directory"
        )


def _delta_file(location: Location, name: str, tables: Tables) -> Any:
    """Writes a Parquet file; returns the action that adds it to the log."""
    inside = Location(location.filesystem, f"{location.path}/{name}")
    first = next(tables)
    count = 0
    with (
        inside.filesystem.open_output_stream(inside.path, compression=None) as file,
        parquet.ParquetWriter(file, first.schema) as writer,
    ):
        for row_table in chain([first], tables):
            writer.write_table(row_table)
            count += row_table.num_rows
    if inside.is_local:
        sync(inside.path)
    return imported("deltalake.transaction").AddAction(
        path=name,
        size=inside.file_size(),
        partition_values={},
        modification_time=int(time.time() * 1000),
        data_change=True,
        stats=json.dumps({"numRecords": count}),
    )


def _is_in_log(delta: Any, place: str, names: list[str]) -> bool:
    if not names or not delta.DeltaTable.is_deltatable(place):
        return False
    return any(uri.endswith(names[0]) for uri in delta.DeltaTable(place).file_uris())


def _remove_delta_files(location: Location, names: list[str]) -> None:
    for name in names:
        with suppress(OSError):
            location.filesystem.delete_file(f"{location.path}/{name}")
    if location.is_local:
        # Only an empty directory, which this export made, can be removed.
        with suppress(OSError):
            os.rmdir(location.path)


def _expect_own_configuration() -> None:
    """Raises ``TableFileError`` if pyiceberg would obey a file of the current directory.

    Such a file may be a stranger's; it names classes to import, and hosts that get credentials.
    """
    own = [os.environ.get("PYICEBERG_HOME"), os.path.expanduser("~")]
    is_there = Path(_ICEBERG_FILE).is_file()
    if is_there and not any(Path(folder, _ICEBERG_FILE).is_file() for folder in own if folder):
        raise TableFileError(
            f"{_ICEBERG_FILE} of the current directory would choose the catalog: if it is yours, set"
            f" PYICEBERG_HOME to {os.getcwd()}"
        )


def write_iceberg(table: NewTable, rows: Tables) -> int:
    """Writes ``catalog.namespace.table``, a catalog of pyiceberg's configuration. Returns the size of its files."""
    catalog_name, _, identifier = table.place.partition(".")
    if "." not in identifier:
        raise TableFileError(
            f"{table.place!r} is not a table of Iceberg, expected a catalog, a namespace and a table:"
            " prod.flink.totals"
        )
    _expect_own_configuration()
    catalog = imported("pyiceberg.catalog").load_catalog(catalog_name)
    schema = pa.schema(
        [
            field.with_metadata({b"doc": field.metadata[COMMENT]} if field.metadata else None)
            for field in table.schema
        ]
    )
    before: set[int] = set()
    if not catalog.table_exists(identifier):
        transaction = catalog.create_table_transaction(
            identifier, schema, properties={"comment": table.comment}
        )
    elif not table.is_overwritten:
        raise table.exists()
    else:
        existing = catalog.load_table(identifier)
        _expect_columns(table, existing)
        before = {snapshot.snapshot_id for snapshot in existing.metadata.snapshots}
        transaction = existing.transaction()
    failures = imported("pyiceberg.exceptions")
    try:
        if before:
            transaction.delete(imported("pyiceberg.expressions").AlwaysTrue())
        # A reader of batches would be one snapshot, but pyiceberg holds all of its rows in memory.
        for first in rows:
            tables = [first, *islice(rows, _TABLES_PER_APPEND - 1)]
            transaction.append(pa.concat_tables(tables).cast(schema))
    except BaseException:
        _remove_iceberg_files(transaction, before)
        raise
    try:
        written = transaction.commit_transaction()
    except (failures.CommitFailedException, failures.TableAlreadyExistsError):
        # After other errors, the catalog may or may not have the table.
        _remove_iceberg_files(transaction, before)
        raise
    snapshot = written.current_snapshot()
    return int(snapshot.summary["total-files-size"]) if snapshot else 0


def _expect_columns(table: NewTable, existing: Any) -> None:
    names = [field.name for field in existing.schema().fields]
    if names != table.schema.names:
        raise TableFileError(
            f"{table.place} has other columns ({', '.join(names)}): drop it, or export to another table"
        )


def _remove_iceberg_files(transaction: Any, before: set[int]) -> None:
    """Removes the files of snapshots that a transaction has added to those ``before``."""
    # pyiceberg has no public API for the files of an uncommitted table.
    io = transaction._table.io
    with suppress(OSError):
        for snapshot in transaction.table_metadata.snapshots:
            if snapshot.snapshot_id in before:
                continue
            for manifest in snapshot.manifests(io):
                if manifest.added_snapshot_id != snapshot.snapshot_id:
                    continue
                for entry in manifest.fetch_manifest_entry(io):
                    if entry.snapshot_id == snapshot.snapshot_id:
                        io.delete(entry.data_file.file_path)
                io.delete(manifest.manifest_path)
            io.delete(snapshot.manifest_list)


class _Target(NamedTuple):
    """How tables are written to a target; ``modules`` have its exceptions."""

    types: TargetTypes
    write: Callable[[NewTable, Tables], int]
    modules: tuple[str, ...]


TARGETS = {
    TableTarget.DUCKDB: _Target(DUCKDB, write_duckdb, ("duckdb",)),
    TableTarget.DELTA: _Target(DELTA, write_delta, ("deltalake.exceptions",)),
    TableTarget.ICEBERG: _Target(
        ICEBERG,
        write_iceberg,
        ("pyiceberg.exceptions", "sqlalchemy.exc", "botocore.exceptions"),
    ),
}


def write_to_target(
    target: TableTarget,
    scan: TableScan,
    place: str,
    schema: pa.Schema,
    tables: Tables,
    *,
    is_overwritten: bool,
) -> int:
    """Writes the tables of a scan, which have this schema, as one table. Returns its size in bytes.

    Raises ``TableFileError`` if a table is there, or a value can't be written.
    """
    types, write, _ = TARGETS[target]
    wanted = target_schema(types, schema, scan, target)
    name = scan.table.name
    operator = scan.full_name.removesuffix(f".{name}")
    table = NewTable(place, operator, name, table_comment(scan), wanted, is_overwritten)
    try:
        # A loop would keep a table while the next one is gathered.
        return write(table, map(target_table, tables, repeat(wanted)))
    except SavepointError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, *_errors(target)) as error:
        first_line = str(error).partition("\n")[0]
        raise TableFileError(f"{place} can't be written as {target}: {first_line}") from error


def _errors(target: TableTarget) -> Iterator[type[Exception]]:
    """Exceptions of a target's packages, as far as they are loaded."""
    for name in TARGETS[target].modules:
        module = sys.modules.get(name)
        for member in vars(module).values() if module else ():
            if isinstance(member, type) and issubclass(member, Exception):
                yield member
