"""A savepoint as a database of DuckDB; a query plans and reads only the tables that it names."""

from __future__ import annotations

import re
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import duckdb
import pyarrow as pa

from savepoint_database.snapshot.sql_tables import SqlTable, SqlTables
from savepoint_database.sql.scan_dataset import ScanDataset, SqlRows, counted_columns, scanned_keys
from savepoint_database.sql.sql_text import Dialect, listing, rewritten, without_explain
from savepoint_database.types.sql_names import distinct, double_quoted, nodes, parse_tree
from savepoint_formats.errors import QueryError, SavepointError
from savepoint_formats.lazy_names import named
from savepoint_formats.printable import did_you_mean
from savepoint_formats.savepoint_warnings import UnreadTableWarning
from savepoint_formats.scan import ReadOptions
from savepoint_formats.tables import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_database.sql.table_cache import TableCache
    from savepoint_database.types.timer_dates import Times

_FUNCTIONS = {"changes": "savepoint_extensions.change_feed.sql_function:define_changes"}
"""Table functions of extensions; each makes what its call in a query's tree needs."""

_BATCH_ROWS = 1 << 16
_QUERIES = {"SELECT", "EXPLAIN"}
_OWN_DATABASES = {"information_schema", "pg_catalog", "main", "temp", "system"}
_NO_TABLE = re.compile(r"Table with name (\S+) does not exist")
# The machine has refused memory to DuckDB, which is below its own limit.
_NO_MEMORY = "Allocation failure"
_NO_COLUMN = re.compile(r'(?:Referenced column "|does not have a column named ")([^"]+)"')


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Rows of a query, read when they are asked for."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]

    def read_all(self) -> pa.Table:
        return pa.Table.from_batches(self.batches, self.schema)

    def with_distinct_names(self) -> SqlResult:
        """The rows with distinct names of columns: repeated ones get numbers."""
        names = distinct(self.schema.names)
        schema = pa.schema(
            [field.with_name(name) for field, name in zip(self.schema, names, strict=True)]
        )
        batches = (
            pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in self.batches
        )
        return SqlResult(schema, batches)


class SqlDatabase:
    """Answers queries about a savepoint; opens nothing else unless ``allow_files``.

    ``options`` are those of all tables. DuckDB takes ``memory_limit``, such as ``4GB`` or ``50%``, before
    it uses the disk; ``ValueError`` if it is not an amount of memory. ``cache`` keeps tables as Parquet.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        options: ReadOptions | None = None,
        *,
        times: Times = "numbers",
        allow_files: bool = False,
        memory_limit: str = "50%",
        cache: TableCache | None = None,
    ) -> None:
        self._snapshot, self._cache = snapshot, cache
        self.tables = SqlTables(snapshot.operators())
        self._options, self._times = options or ReadOptions(), times
        self._datasets: dict[tuple[str, str], ScanDataset] = {}
        self._connection = _connected(memory_limit, allow_files=allow_files)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def query(self, sql: str) -> SqlResult:
        """The result of one query. Errors of the query are raised before any rows are read.

        Raises ``QueryError``, ``TableNotFoundError``, or the error of a table that can't be read.
        """
        if (listed := listing(sql, self.tables)) is not None:
            return SqlResult(listed.schema, iter(listed.to_batches()))
        text = rewritten(sql, self.tables, Dialect.DUCKDB)
        with self._query_errors():
            self._expect_query(text)
            tree = parse_tree(self._connection, without_explain(text))
            if tree.get("error_type") == "not implemented":
                # EXPLAIN ANALYZE runs what it explains.
                raise QueryError(
                    "EXPLAIN of something other than a query, expected EXPLAIN SELECT ..."
                )
            if any(map(_asks_for_tables, nodes(tree))):
                self._register_all()
            for call in (node["function"] for node in nodes(tree) if "function" in node):
                if place := _FUNCTIONS.get(call.get("function_name")):
                    named(place)(self._connection, self._snapshot, call)
            bases = (node for node in nodes(tree) if node.get("type") == "BASE_TABLE")
            for database, name in {(base["schema_name"], base["table_name"]) for base in bases}:
                self._register(database, name)
            self._plan_keys(text)
            relation = self._connection.sql(text)
            if any(str(kind) == "INTERVAL" for kind in relation.types):
                relation = _with_interval_texts(relation)
            reader = relation.to_arrow_reader(_BATCH_ROWS)
        return SqlResult(reader.schema, self._batches(reader))

    def _plan_keys(self, text: str) -> None:
        """Tells the tables which keys the query wants of them, and which columns it only counts."""
        ((_, plan),) = self._connection.execute(
            f"EXPLAIN (FORMAT json) {without_explain(text)}"
        ).fetchall()
        keys, counted = scanned_keys(plan, KEY), counted_columns(plan)
        for dataset in self._datasets.values():
            dataset.keys, dataset.counted = keys, counted

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            with self._query_errors():
                yield from reader
        finally:
            reader.close()

    def _expect_query(self, text: str) -> None:
        statements = [
            statement.type.name for statement in self._connection.extract_statements(text)
        ]
        if len(statements) != 1:
            raise QueryError(f"{len(statements)} statements, expected one query")
        if statements[0] not in _QUERIES:
            raise QueryError(f"a statement of type {statements[0]}, expected a query: SELECT ...")

    def _register_all(self) -> None:
        """Registers each table that can be read; warns of the others."""
        for table in self.tables:
            try:
                self._register(table.database, table.name)
            except SavepointError as error:
                message = f"table {table.sql} could not be read: {error}"
                warnings.warn(message, UnreadTableWarning, stacklevel=4)

    def _register(self, database: str, name: str) -> None:
        table = self.tables.find(database, name)
        if table is None:
            if database and database.casefold() not in _OWN_DATABASES:
                raise self.tables.unknown(database, name)
            return
        if table.problem is not None:
            table.operator.table(table.table)
        place = (table.database, table.name)
        if place not in self._datasets:
            self._datasets[place] = self._new_view(table)

    def _new_view(self, table: SqlTable) -> ScanDataset:
        scan = table.operator.scan(table.operator.table(table.table), self._options)
        scan.check()
        rows = SqlRows(scan, self._times)
        stored = None if self._cache is None else self._cache.stored(self._snapshot, rows)
        dataset = ScanDataset(rows, stored)
        source = double_quoted(f"savepoint {table.sql}")
        database = double_quoted(table.database)
        self._connection.register(f"savepoint {table.sql}", dataset)
        self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {database}")
        view = f"{database}.{double_quoted(table.name)}"
        self._connection.execute(f"CREATE VIEW {view} AS FROM {source}")
        return dataset

    @contextmanager
    def _query_errors(self) -> Iterator[None]:
        """Raises faults of the savepoint or of the query, or ``MemoryError``, instead of DuckDB's errors."""
        for dataset in self._datasets.values():
            dataset.errors.clear()
        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            # Arrow has OSError for errors of DuckDB behind the first rows.
            ours = [error for dataset in self._datasets.values() for error in dataset.errors]
            if not ours and _NO_MEMORY in str(error):
                raise MemoryError(_NO_MEMORY) from error
            raise ours[0] if ours else QueryError(self._reason(error)) from error

    def _reason(self, error: Exception) -> str:
        # The rest is a place in a text that differs from the user's.
        reason = " ".join(str(error).partition("\n\nLINE ")[0].split())
        if isinstance(error, duckdb.PermissionException):
            return f"{reason}; allow it to read files with --allow-files, allow_files=True"
        if isinstance(error, duckdb.OutOfMemoryException) or reason.startswith("Out of Memory"):
            # The rest names settings that no query may change.
            reason = reason.partition(" Possible solutions:")[0]
            return f"{reason}; give it more memory with --memory-limit, memory_limit"
        if unknown := _NO_TABLE.search(reason):
            return str(self.tables.unknown("", unknown[1]))
        unknown = _NO_COLUMN.search(reason)
        if unknown is None:
            return reason
        known = sorted(
            {name for dataset in self._datasets.values() for name in dataset.schema.names}
        )
        hint = did_you_mean(unknown[1], known)
        columns = f"; the tables of the query have: {', '.join(known)}" if known else ""
        return f"there is no column {unknown[1]!r}{columns}{hint}"


def _connected(memory_limit: str, *, allow_files: bool) -> duckdb.DuckDBPyConnection:
    """A database in this process whose settings no query can change."""
    spilled = Path(tempfile.gettempdir(), f"savepoint-query-{uuid4().hex}")
    try:
        connection = duckdb.connect(
            config={
                "temp_directory": str(spilled),
                "memory_limit": memory_limit,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
                # Variables of the program are not tables.
                "python_enable_replacements": False,
            }
        )
        # The zone of Spark sessions for savepoints, so that texts of times are equal.
        connection.execute("SET TimeZone = 'UTC'")
        if not allow_files:
            # As an option of connect, it would forbid the temporary directory.
            connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.OutOfMemoryException as error:
        raise MemoryError(_NO_MEMORY) from error
    except duckdb.Error as error:
        raise ValueError(
            f"memory_limit {memory_limit!r}, expected an amount such as 4GB or 50%"
        ) from error
    return connection


def _with_interval_texts(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Rows with intervals as texts, because no file has months, days and microseconds."""
    names = (double_quoted(name) for name in relation.columns)
    shown = (
        f"CAST({name} AS VARCHAR) AS {name}" if str(kind) == "INTERVAL" else name
        for name, kind in zip(names, relation.types, strict=True)
    )
    return relation.project(", ".join(shown))


def _asks_for_tables(node: dict[str, Any]) -> bool:
    """Whether a node of a query asks the engine for its tables."""
    match node:
        case {"type": "SHOW_REF", "query": None}:
            return True
        case {"type": "BASE_TABLE", "schema_name": "information_schema" | "pg_catalog"}:
            return True
        case {"class": "FUNCTION", "function_name": str(name)}:
            return name.startswith("duckdb_")
        case _:
            return False
