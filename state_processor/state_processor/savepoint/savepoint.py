"""A savepoint as users meet it: read without Spark, or with it, and written anew."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import UnknownUidWarning
from savepoint_formats.scan.read_options import ReadOptions, UndescribedSubclasses
from state_processor.savepoint.changes import SavepointChanges
from state_processor.savepoint.writer import SavepointWriter
from state_processor.snapshot.session import tasks_at_once
from state_processor.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from savepoint_formats.layout import KryoClass
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds
    from state_processor.audit.key_state import KeyState
    from state_processor.audit.statistics import SavepointStatistics
    from state_processor.checks.kafka_state import KafkaState
    from state_processor.checks.savepoint_diff import SavepointDiff
    from state_processor.checks.verification import Depth, Verification
    from state_processor.savepoint.spark_savepoint import SparkSavepoint
    from state_processor.snapshot.key_types import GivenType
    from state_processor.types.timer_dates import Times


@dataclass(frozen=True, repr=False)
class Savepoint(Snapshot, SavepointChanges):
    """A savepoint or checkpoint; holds no data, and needs no Spark.

    ``open`` and ``load`` open one; ``describe``, ``tables``, ``schema``, ``files`` and ``scan`` say
    and read what is in it. All methods of ``SavepointChanges`` give a writer of another savepoint.
    """

    @classmethod
    def load(
        cls,
        spark: SparkSession,
        path: str,
        *,
        uids: Iterable[str] = (),
        kryo_classes: Iterable[KryoClass] = (),
        allow_paths: Iterable[str] = (),
        strict_paths: bool = False,
        key_types: Mapping[str, GivenType] | None = None,
    ) -> SparkSavepoint:
        """Opens a savepoint whose tables are to be DataFrames.

        Args:
            spark: The session.
            path: As for ``open``.
            uids: As for ``open``.
            kryo_classes: As for ``open``.
            allow_paths: As for ``open``.
            strict_paths: As for ``open``.
            key_types: As for ``open``.

        Raises:
            SavepointError: As ``open`` does.

        Example:
            >>> savepoint = Savepoint.load(spark, "sample_savepoints/currency-2.2.1-rocksdb-native")
            >>> savepoint.read_keyed_state("summarize").show()
        """
        from state_processor.savepoint.spark_savepoint import SparkSavepoint  # noqa: PLC0415  # Spark is slow

        options = {
            "allow_paths": allow_paths,
            "strict_paths": strict_paths,
            "key_types": key_types,
        }
        return SparkSavepoint.of(spark, path, uids, kryo_classes, options)

    @staticmethod
    def create(
        spark: SparkSession, *, max_parallelism: int = 128, parallelism: int | None = None
    ) -> SavepointWriter:
        """Begins a savepoint that is based on no other.

        Args:
            spark: The session that makes its state.
            max_parallelism: The number of key groups, as the job is to have it. A job that sets
                none takes that of the savepoint.
            parallelism: The number of files that keyed state is spread over, which is not that
                of the job; by default as many as the session runs tasks at once.

        Raises:
            ValueError: They are not 1 <= parallelism <= max parallelism <= 32768.

        Example:
            >>> writer = Savepoint.create(spark).with_operator("summarize", transformation)
            >>> writer.write("s3://jobs/bootstrapped")
        """
        if parallelism is None:
            parallelism = min(tasks_at_once(spark), max_parallelism)
        return SavepointWriter(spark, None, (), parallelism, max_parallelism)

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
        from state_processor.checks.verification import Verification  # noqa: PLC0415  # numba is slow

        return Verification.of(self, depth)

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
            top: How many of the largest keys of each operator are told.

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
        # Whoever only inspects does not wait for numba.
        from state_processor.audit.weighing import statistics_of  # noqa: PLC0415

        return statistics_of(self, table, at=at, ttl=ttl, top=top)

    def sql(
        self,
        query: str,
        *,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        times: Times = "numbers",
    ) -> pa.Table:
        """The rows of a query over the tables of the savepoint, without Spark.

        A table is called ``<uid>.<table>``. What is no letter, digit or ``_`` in a name becomes
        ``_``; in double quotes a uid may be written as it is. Only the tables that the query names
        are read, of these only the columns, and only the key groups of the keys if the query says
        ``key = ...`` or ``key IN (...)``.

        Args:
            query: One query in the SQL of DuckDB.
            nanoseconds: What becomes of times with more digits than microseconds.
            undescribed_subclasses: What becomes of POJOs of subclasses that no snapshot describes.
            times: ``dates`` makes the times of timers timestamps; ``numbers`` are milliseconds.

        Raises:
            QueryError: The query can't be understood, or fails.
            TableNotFoundError: It names a table that there is not.
            SavepointError: A table that it names can't be read.

        Example:
            >>> savepoint.sql("SELECT key, total FROM summarize.keyed_state WHERE total > 100")
        """
        from state_processor.sql.sql_database import SqlDatabase  # noqa: PLC0415  # so is DuckDB

        options = ReadOptions(
            nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses
        )
        with SqlDatabase(self, options, times=times) as database:
            return database.query(query).read_all()

    def key(
        self,
        key: Any,
        *,
        operator: str | None = None,
        undescribed_subclasses: UndescribedSubclasses = "refuse",
    ) -> KeyState:
        """All that one key has: its states, windows and timers, across operators.

        Reads the key group of the key alone, or all where its hash code can't be told.

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
        from state_processor.audit.key_state import key_state  # noqa: PLC0415  # numba is slow

        return key_state(self, key, operator, undescribed_subclasses)

    def diff(
        self, other: Snapshot | str, table: str | None = None, *, with_times: bool = False
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
        from state_processor.checks.savepoint_diff import SavepointDiff  # noqa: PLC0415  # numba is slow

        if isinstance(other, str):
            uids = [operator.uid for operator in self.operators() if operator.uid]
            with warnings.catch_warnings():
                # That an operator is gone is what the differences say.
                warnings.simplefilter("ignore", UnknownUidWarning)
                other = Savepoint.open(other, uids=uids, kryo_classes=self.kryo.classes)
        if table is not None:
            self.table(table)
        return SavepointDiff(self, other, table, with_times)

    def kafka(self) -> KafkaState:
        """The state of Kafka sources and sinks: topics, partitions, offsets, transactions.

        Raises:
            SavepointError: A file of such an operator is gone or damaged.

        Example:
            >>> for one in savepoint.kafka().offsets:
            ...     print(one.operator, one.topic, one.partition, one.offset)
        """
        from state_processor.checks.kafka_state import KafkaState  # noqa: PLC0415  # numba is slow

        return KafkaState.of(self)

    def set_kafka_offsets(
        self, offsets: Iterable[Mapping[str, Any]], *, operator: str | None = None
    ) -> SavepointWriter:
        """A savepoint whose Kafka sources go on elsewhere.

        Args:
            offsets: Of each partition that moves a dict of ``topic``, ``partition`` and ``offset``:
                that of the next record, or ``earliest``, ``latest`` or ``committed``; and
                ``stopping_offset``, if the source has an end. Other partitions stay.
            operator: The uid or hash of the source; by default all that read the partition.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: There is no Kafka source that has partitions.
            RefusedError: No source reads a partition, or its state is compressed.
            ValueError: An offset lacks something, or is none.

        Example:
            >>> moved = savepoint.set_kafka_offsets([{"topic": "t", "partition": 0, "offset": 42}])
            >>> moved.write("s3://jobs/earlier")
        """
        from state_processor.checks.kafka_state import with_offsets  # noqa: PLC0415  # numba is slow

        operators = with_offsets(self, offsets, operator)
        records = tuple(one.record for one in operators)
        metadata = replace(self.metadata, operators=records)
        return replace(self, metadata=metadata, _operators=operators).writer()

    def writer(self) -> SavepointWriter:
        """What writes a savepoint that is based on this one; as yet a copy of it."""
        return SavepointWriter.of(self, None)
