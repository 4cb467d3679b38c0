"""What can be asked of a savepoint by those who look after a job; none of it needs Spark."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from savepoint_database import audit, checks, sql
from savepoint_database.checks.kafka_state import KafkaState
from savepoint_database.snapshot.snapshot import Snapshot
from savepoint_formats.errors import UnknownUidWarning
from savepoint_formats.scan.read_options import ReadOptions, UndescribedSubclasses

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    import pyarrow as pa

    from savepoint_database.audit.key_state import KeyState
    from savepoint_database.audit.statistics import SavepointStatistics
    from savepoint_database.checks.compatibility import Compatibility
    from savepoint_database.checks.savepoint_diff import SavepointDiff
    from savepoint_database.checks.verification import Depth, Verification
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.locations.location import PathText
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds


class AuditVerbs(Snapshot):
    """What judges, weighs, compares and queries a savepoint."""

    def verify(self, depth: Depth = "deep") -> Verification:
        """Whether the savepoint is whole: each file, header, offset, key and value of it.

        The first fault does not end it: what lies in other files, key groups and states is looked
        at all the same. Damaged state is an answer, and raises nothing.

        Args:
            depth: ``deep`` for everything; ``quick`` for files, their sizes, headers and offsets,
                which reads no bulk data.

        Returns:
            What was looked at, and what is wrong: where it is, and what it costs.

        Raises:
            ValueError: There is no such depth.

        Example:
            >>> found = savepoint.verify()
            >>> found.is_whole, [fault.problem for fault in found.faults]
            (True, [])
        """
        return checks.Verification.of(self, depth)

    def compatibility(
        self, target: str, *, written_by: str = "", backend: str = ""
    ) -> Compatibility:
        """Whether a release of Flink restores the savepoint, per operator and state, and why not.

        Follows rules, each of which names its source. Reads ``_metadata`` and the headers of files;
        from Flink 1 to 2 it looks at values of POJOs, too, up to 256 MiB of them, for subclasses that
        no header describes. It knows neither the code of the job nor which objects Kryo wrote.

        Args:
            target: The release that is to restore it: ``1.18`` to ``2.3``.
            written_by: The release that wrote it, where several may have; by default all that may.
            backend: The state backend of the job that is to restore it: ``hashmap``, ``rocksdb``
                or ``forst``. Without it, files of one backend are a condition, and no obstacle.

        Returns:
            A verdict of the whole, of each operator and of each state, the worst of what was found:
            ``silent corruption``, ``not restorable``, ``restorable after migration``, ``unknown``
            or ``restorable``; and the findings, with reason, advice and source.

        Raises:
            ValueError: There is no such release or backend, or the release has not written it.

        Example:
            >>> found = Savepoint.open("s3://jobs/orders/savepoint-1a2b").compatibility("2.2")
            >>> [(state.state, state.verdict) for state in found.states()]
        """
        return checks.Compatibility.of(self, target, written_by=written_by, backend=backend)

    def stats(
        self,
        table: str | None = None,
        *,
        at: datetime | None = None,
        ttl: Mapping[str, timedelta] | None = None,
        top: int = 10,
    ) -> SavepointStatistics:
        """What the state weighs: keys, entries, bytes, timers, skew, the largest keys.

        Reads some key groups at a time and decodes no values but where it must: variable lists,
        and values of rare types. Needs no Spark.

        Args:
            table: ``<operator>.<table>``; all by default.
            at: The time by which timers are overdue and values have expired, with its zone; now
                by default.
            ttl: Name of a state -> how long its values live after their last access. No savepoint
                knows that.
            top: How many of the largest keys of each operator are listed.

        Returns:
            Records of states, timers, skew, subtasks, key groups and keys; ``to_arrow`` makes
            tables of them. What could not be read is among its ``problems``.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: The operator has no such table; the message lists its tables.
            ValueError: ``at`` has no zone, or ``top`` is negative.

        Example:
            >>> report = Savepoint.open("s3://jobs/orders/savepoint-1a2b").stats()
            >>> report.to_arrow("states").to_pandas()
        """
        return audit.statistics_of(self, table, at=at, ttl=ttl, top=top)

    def sql(
        self,
        query: str,
        *,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        times: Times = "numbers",
        allow_files: bool = False,
        memory_limit: str = "50%",
    ) -> pa.Table:
        """The rows of a query over the tables of the savepoint, without Spark.

        A table is called ``<uid>.<table>``. What is no letter, digit or ``_`` in a name becomes
        ``_``; in double quotes a uid may be written as it is. Only the tables that the query names
        are read, of these only the columns, and only the key groups of the keys if the query says
        ``key = ...`` or ``key IN (...)``.

        A query reads the savepoint and nothing else, unless files are allowed. Rows that do not fit
        into memory go to a temporary directory.

        Args:
            query: One query in the SQL of DuckDB.
            nanoseconds: What becomes of times with more digits than microseconds.
            undescribed_subclasses: What becomes of POJOs of subclasses that no snapshot describes.
            times: ``dates`` makes the times of timers timestamps; ``numbers`` are milliseconds.
            allow_files: Whether the query may read files of this machine, as by ``read_csv``.
            memory_limit: How much memory DuckDB may take: ``4GB``, or a part of the machine's.

        Raises:
            QueryError: The query can't be understood, or fails.
            ValueError: ``memory_limit`` is none.
            TableNotFoundError: It names a table that there is not.
            SavepointError: A table that it names can't be read.

        Example:
            >>> savepoint.sql("SELECT key, total FROM summarize.keyed_state WHERE total > 100")
        """
        options = ReadOptions(
            nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses
        )
        with sql.SqlDatabase(
            self, options, times=times, allow_files=allow_files, memory_limit=memory_limit
        ) as database:
            return database.query(query).read_all()

    def key(
        self,
        key: Any,
        *,
        operator: str | None = None,
        undescribed_subclasses: UndescribedSubclasses = "refuse",
    ) -> KeyState:
        """All that one key has: its states, windows and timers, across operators.

        Reads the key group of the key alone, or all where its hash code is not known.

        Args:
            key: The key, as the column ``key`` of a table has it: a struct is a dict. Or as text:
                bytes in hexadecimal, structs and lists as JSON.
            operator: The uid or hash of the only operator to look into; by default all whose keys
                are of the type.
            undescribed_subclasses: What becomes of POJOs whose class no snapshot describes.

        Returns:
            The rows of each table that has the key, as tables of Arrow.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            KeyTypeError: No operator has keys of the type.
            SavepointError: The files can't be read.

        Example:
            >>> savepoint.key("customer-001").table("stateful.keyed_state").to_pandas()
        """
        return audit.KeyState.of(self, key, operator, undescribed_subclasses)

    def diff(
        self, other: Snapshot | PathText, table: str | None = None, *, with_times: bool = False
    ) -> SavepointDiff:
        """In what another savepoint differs from this one; its rows are read when asked for.

        State is compared as a reader sees it: neither backends, formats and versions of Flink nor
        parallelism and max parallelism make a difference. What can't be decoded is compared as
        bytes. Memory is bounded: some key groups are compared at a time.

        Args:
            other: The other savepoint, which came later; or its path.
            table: The full name of the only table to compare; all by default.
            with_times: Whether the times of last access of state with TTL count.

        Returns:
            ``is_equal``, ``differences`` (operators, states, types, settings), ``tables`` (how many
            rows were inserted, deleted, updated), and ``changes(table)``, the rows themselves.

        Raises:
            OperatorNotFoundError, StateNotFoundError: This savepoint has no such table.
            SavepointError: The other one can't be opened.

        Example:
            >>> found = savepoint.diff("s3://jobs/orders/savepoint-5e6f")
            >>> found.is_equal
            False
            >>> found.to_arrow("summarize.keyed_state").to_pandas()
        """
        if not isinstance(other, Snapshot):
            uids = [operator.uid for operator in self.operators() if operator.uid]
            with warnings.catch_warnings():
                # That an operator is gone is what the differences say.
                warnings.simplefilter("ignore", UnknownUidWarning)
                other = Snapshot.open(other, uids=uids, kryo_classes=self.kryo.classes)
        if table is not None:
            self.table(table)
        return checks.SavepointDiff(self, other, table, with_times)

    def kafka(self) -> KafkaState:
        """The state of Kafka sources and sinks: topics, partitions, offsets, transactions.

        Raises:
            SavepointError: A file of such an operator is gone or damaged.

        Example:
            >>> for one in savepoint.kafka().offsets:
            ...     print(one.operator, one.topic, one.partition, one.offset)
        """
        return KafkaState.of(self)
