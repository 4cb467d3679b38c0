"""Questions about a savepoint that need no Spark."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from savepoint_database import audit, checks, sql
from savepoint_database.snapshot import Snapshot, with_old_keywords
from savepoint_formats.locations import path_text
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from savepoint_formats.scan import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from savepoint_database.audit import KeyState
    from savepoint_database.checks import SavepointDiff, Verification
    from savepoint_database.checks.verification import Depth
    from savepoint_database.types import Times
    from savepoint_formats.locations import PathText


class AuditVerbs(Snapshot):
    """Checks, compares and queries a savepoint."""

    def verify(self, depth: Depth = "deep") -> Verification:
        """Checks that the savepoint is whole: each file, header, offset, key and value.

        A fault does not end the check; all other files, key groups and states are still checked.
        Damaged state is part of the answer and raises nothing.

        Args:
            depth: ``deep`` checks everything; ``quick`` checks files, their sizes, headers and
                offsets, and reads no bulk data.

        Returns:
            Counts of what was checked, and the faults with their places and effects.

        Raises:
            ValueError: There is no such depth.

        Example:
            >>> found = savepoint.verify()
            >>> found.is_whole, [fault.problem for fault in found.faults]
            (True, [])
        """
        return checks.Verification.of(self, depth)

    @with_old_keywords
    def sql(
        self,
        query: str,
        *,
        times: Times = "numbers",
        allow_files: bool = False,
        memory_limit: str = "50%",
        cache: PathText | None = None,
    ) -> pa.Table:
        """Runs a query over the tables of the savepoint, without Spark.

        A table is called ``<uid>.<table>``. In a name, ``_`` stands for each character other than
        letters, digits and ``_``; in double quotes a uid may be written as it is. A query reads only
        the tables and columns that it names. With ``key = ...`` or ``key IN (...)`` it reads only the
        key groups of these keys.

        A query reads nothing but the savepoint, unless files are allowed. Rows that do not fit into
        memory go to a temporary directory.

        Args:
            query: One query in DuckDB's SQL.
            times: ``dates`` turns the times of timers into timestamps; ``numbers`` are milliseconds.
            allow_files: Whether the query may read files of this machine, for example by ``read_csv``.
            memory_limit: Memory for DuckDB: ``4GB``, or a fraction of the machine's such as ``50%``.
            cache: Folder or URI. Tables of the query are converted to Parquet there, as a whole and
                once; later queries read those files. Nothing in it is ever removed.

        Raises:
            QueryError: The query can't be understood, or fails.
            ValueError: ``memory_limit`` is not an amount of memory.
            TableNotFoundError: The query names an unknown table.
            SavepointError: A table of the query can't be read.

        Example:
            >>> savepoint.sql("SELECT key, total FROM summarize.keyed_state WHERE total > 100")
        """
        options = ReadOptions(**self.forms.options())
        stored = None if cache is None else sql.TableCache(path_text(cache))
        with sql.SqlDatabase(
            self,
            options,
            times=times,
            allow_files=allow_files,
            memory_limit=memory_limit,
            cache=stored,
        ) as database:
            return database.query(query).read_all()

    @with_old_keywords
    def key(
        self,
        key: Any,
        *,
        operator: str | None = None,
    ) -> KeyState:
        """All state of one key: its states, windows and timers, across operators.

        Reads only the key group of the key, or all key groups if its hash code is unknown.

        Args:
            key: The key as in the column ``key`` of a table, where a struct is a dict. Or the key as
                text: bytes in hexadecimal, structs and lists as JSON.
            operator: The uid or hash of the only operator to search; by default all operators whose
                keys have the type.

        Returns:
            The rows of each table that has the key, as tables of Arrow.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            KeyTypeError: No operator has keys of the type.
            SavepointError: The files can't be read.

        Example:
            >>> savepoint.key("customer-001").table("stateful.keyed_state").to_pandas()
        """
        return audit.KeyState.of(self, key, operator, self.forms.undescribed_subclasses)

    def diff(
        self,
        other: Snapshot | PathText,
        table: str | None = None,
        *,
        with_times: bool = False,
        full: bool = False,
    ) -> SavepointDiff:
        """Compares the savepoint with a later one; rows are read when they are asked for.

        State is compared as a reader sees it: backends, formats, versions of Flink, parallelism and
        max parallelism make no difference. State that can't be decoded is compared as bytes. Memory
        is bounded because a few key groups are compared at a time.

        Args:
            other: The later savepoint, or its path.
            table: The full name of the only table to compare; all by default.
            with_times: Whether the times of last access of state with TTL count.
            full: Whether to read and decode all rows of both savepoints. By default, files that
                both have are not read, nor are rows decoded whose bytes are the same; the changes
                are the same, but ``unchanged`` may be None.

        Returns:
            ``is_equal``, ``differences`` (operators, states, types, settings), ``tables`` (numbers of
            inserted, deleted and updated rows), and ``changes(table)``, the rows themselves.

        Raises:
            OperatorNotFoundError, StateNotFoundError: This savepoint has no such table.
            SavepointError: The other savepoint can't be opened.

        Example:
            >>> found = savepoint.diff("s3://jobs/orders/savepoint-5e6f")
            >>> found.is_equal
            False
            >>> found.to_arrow("summarize.keyed_state").to_pandas()
        """
        if not isinstance(other, Snapshot):
            uids = [operator.uid for operator in self.operators() if operator.uid]
            with warnings.catch_warnings():
                # The differences name missing operators.
                warnings.simplefilter("ignore", UnknownUidWarning)
                rules = self.directory.rules
                other = Snapshot.open(
                    other,
                    uids=uids,
                    kryo_classes=self.kryo.classes,
                    allow_paths=rules.allowed,
                    strict_paths=rules.is_strict,
                )
        if table is not None:
            self.table(table)
        return checks.SavepointDiff(self, other, table, with_times, full=full)
