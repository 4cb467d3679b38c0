"""A checkpoint of a streaming query as a database: its operators, positions, and tables.

Tables are read by Spark's own sources ``state-metadata`` and ``statestore``, for both of its providers of
state stores, at the last committed batch.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_extensions.spark_streams.checkpoint_files import (
    STATE,
    CommittedBatch,
    committed_batch,
    expect_facts,
    expect_partitions,
    fact_of,
    numbered,
)
from savepoint_extensions.spark_streams.import_words import ImportWords
from savepoint_extensions.spark_streams.moved_checkpoint import readable_path
from savepoint_extensions.spark_streams.operator_tables import OperatorTables, state_errors
from savepoint_extensions.spark_streams.stream_import import CarriedState, state_like
from savepoint_extensions.spark_streams.stream_operator import (
    AGGREGATIONS,
    LIMIT,
    StateForm,
    StoredOperator,
    StreamOperator,
)
from savepoint_formats.errors import OperatorNotFoundError, RefusedError
from savepoint_formats.locations import absolute, path_text
from savepoint_formats.printable import without_secrets
from savepoint_spark.session import expect_release, expect_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.spark_streams.new_types import EmptyOperator
    from savepoint_extensions.spark_streams.operator_tables import StoreSize
    from savepoint_extensions.spark_streams.stream_operator import TimeoutDomain
    from savepoint_formats.locations import PathText
    from savepoint_spark.writing import PlannedTransformation

_RELEASE = "4.0"


@dataclass(frozen=True, repr=False)
class SparkCheckpoint(CommittedBatch):
    """A checkpoint of a streaming query; holds no data.

    Operators have numbers; without one, the only operator is meant. ``OperatorNotFoundError`` lists those there
    are, if there is no such operator or none is chosen.

    Attributes:
        path: The query's ``checkpointLocation``.
        batch_id: The committed batch after which state, positions and watermark are read.
        spark: The session that reads it.
    """

    spark: SparkSession

    def __repr__(self) -> str:
        return f"SparkCheckpoint({without_secrets(self.path)!r}, batch {self.batch_id})"

    @classmethod
    def load(
        cls, spark: SparkSession, path: PathText, batch_id: int | None = None
    ) -> SparkCheckpoint:
        """Opens a checkpoint.

        Args:
            spark: The session.
            path: The query's ``checkpointLocation``, as text or ``Path``, or a URI.
            batch_id: The batch after which state is read; by default the last committed one. Spark
                cleans state of old batches up.

        Raises:
            SavepointNotFoundError: There is no checkpoint, or no committed batch.
            NotFoundError: The batch is not committed.
            MissingPackageError: PySpark is older than 4.0.
            FormatError: A file of its logs is damaged.

        Example:
            >>> checkpoint = SparkCheckpoint.load(spark, "s3://queries/orders")
            >>> checkpoint.operators
        """
        expect_session(spark, "load(spark, path)")
        expect_release(_RELEASE, "checkpoints of streaming queries")
        batch = committed_batch(absolute(path_text(path)), batch_id)
        return cls(batch.path, batch.batch_id, spark)

    @cached_property
    def operators(self) -> tuple[StreamOperator, ...]:
        """The stateful operators, from the sink back.

        Raises:
            UnsupportedVersionError: Only a Spark before 4.0 has written the checkpoint.
            SavepointError: Files are missing or damaged.
        """
        return tuple(self._tables(number).described() for number in self._stored)

    def operator(self, number: int | None = None) -> StreamOperator:
        """The operator with a number, or the only one.

        Raises:
            OperatorNotFoundError: There is none, or several to choose from; the message lists them.
        """
        stored = self._operator(number)
        return next(it for it in self.operators if it.id == stored.id)

    def aggregation(
        self, operator: int | None = None, *, key: Sequence[str] = (), **aggregates: str
    ) -> DataFrame:
        """The state of an aggregation, also over windows and session windows.

        Args:
            operator: Its number; not needed if there is but one operator.
            key: Names for the columns of the key, in order; by default Spark's.
            aggregates: Name of a column -> the aggregate, in the order of the query: ``sum``,
                ``count``, ``avg``, ``min``, ``max``, ``stddev``, ``first``, ``max_by`` and so on;
                ``collect_list`` and ``collect_set`` with the type of their elements, because
                Spark does not store it; ``sum`` and ``avg`` of decimals with the type of the query's
                column, as ``sum DECIMAL(5, 2)``, because Spark stores sums of up to 8 digits, and
                averages of up to 11, without the point: 40.00 as 4000. By default a column per
                buffer.

        Returns:
            The columns of the key, ``window`` or ``session_window`` among them if there is one, then
            a column per aggregate: ``avg`` is a struct of ``sum`` and ``count``, ``stddev`` of
            ``n``, ``avg`` and ``m2``.

        Raises:
            ColumnTypeError: The aggregates have other buffers; the message lists those there are.
            RefusedError: The operator does not aggregate.

        Example:
            >>> checkpoint.aggregation(0, total="sum", n="count", numbers="collect_list BIGINT")
        """
        return self._tables(operator, AGGREGATIONS).aggregation(key, aggregates)

    def joined(self, operator: int | None = None, *, key: Sequence[str] = ()) -> DataFrame:
        """The rows that a join of two streams has in its state.

        Returns:
            The columns of the key, ``side`` (``left`` or ``right``), the structs ``left`` and
            ``right``, of which one is null, and ``matched``: whether the row has met another;
            null where Spark does not store it.

        Raises:
            RefusedError: The operator does not join streams.

        Example:
            >>> checkpoint.joined(0).where("side = 'left' AND NOT matched").show()
        """
        return self._tables(operator, (StateForm.JOIN,)).joined(key)

    def deduplicated(self, operator: int | None = None, *, key: Sequence[str] = ()) -> DataFrame:
        """The keys that a deduplication has seen.

        Returns:
            The columns of the key; within a watermark also ``expires_at``: the watermark in ms at
            which the key is forgotten.

        Raises:
            RefusedError: The operator does not deduplicate.

        Example:
            >>> checkpoint.deduplicated(0).count()
        """
        forms = (StateForm.DEDUPLICATION, StateForm.DEDUPLICATION_WITHIN_WATERMARK)
        return self._tables(operator, forms).deduplicated(key)

    def state(
        self,
        operator: int | None = None,
        *,
        key: Sequence[str] = (),
        timeout: TimeoutDomain | None = None,
        ttl_ms: Mapping[str, int] | None = None,
    ) -> DataFrame:
        """The state of a function of the user: ``applyInPandasWithState`` or ``transformWithState``.

        Args:
            operator: Its number; not needed if there is but one operator.
            key: Names for the columns of the key, in order; by default Spark's.
            timeout: ``event_time`` or ``processing_time``, for ``applyInPandasWithState``: Spark does
                not store which one its timeouts are.
            ttl_ms: State variable -> its time to live in ms, which Spark does not store. Its values
                become structs of ``timestamp``, the last access as Flink stores it, and ``value``, which
                state with a time to live takes. Without it they are structs of ``expires_at``, in
                ms, and ``value``.

        Returns:
            A row per key: its columns, then a column per state: a list state is an array in its
            order, a map state a map. A struct with one field becomes that field. Timers are the
            column ``event_time`` or ``processing_time``, in ms, an array for
            ``transformWithState``; a timeout of unknown domain is ``timeout``.

        Raises:
            StateNotFoundError: ``ttl_ms`` names a state without time to live.
            RefusedError: The operator has no state of a function.

        Example:
            >>> checkpoint.state(0, ttl_ms={"sessions": 3_600_000}).show()
        """
        forms = (StateForm.GROUP_STATE, StateForm.STATE_VARIABLES)
        return self._tables(operator, forms).state(key, timeout, ttl_ms or {})

    def table(self, operator: int | None = None) -> DataFrame:
        """The table of an operator of any kind, without names that only the user knows.

        Raises:
            RefusedError: Spark can't read its state.

        Example:
            >>> checkpoint.table(0).createOrReplaceTempView("totals")
        """
        return self._tables(operator).table((), ImportWords())

    def key_columns(self, operator: int | None = None) -> list[str]:
        """The columns of an operator's key in its table, windows among them."""
        return self._tables(operator).key_names()

    def state_like(  # noqa: PLR0913  # what only the user knows of the query
        self,
        like: Operator | EmptyOperator,
        operator: int | None = None,
        *,
        key: Sequence[str] = (),
        aggregates: Mapping[str, str] | None = None,
        timeout: TimeoutDomain | None = None,
        ttl_ms: Mapping[str, int] | None = None,
        allowed_lateness_ms: int = 0,
        window_time: TimeoutDomain = "event_time",
        begin_empty: Sequence[str] = (),
        left: Sequence[str] = (),
        right: Sequence[str] = (),
        on: str | None = None,
    ) -> PlannedTransformation:
        """The state of an operator with the types of an operator of the new Flink job.

        Args:
            like: The operator of a savepoint of the new job, which may be empty; or that of a
                compiled plan, by ``OperatorTransformation.for_plan``.
            operator: The number of the query's operator; not needed if there is but one.
            key: The columns of the query's key, in the order of the new job's; needed if neither
                names nor types tell it.
            aggregates: State -> aggregate, in the order of the query, as for ``aggregation``.
            timeout: The time domain of the timeouts of ``applyInPandasWithState``.
            ttl_ms: State variable -> its time to live in ms; needed for each that has one.
            allowed_lateness_ms: How long after its end the new job keeps a window, in ms.
            window_time: Whether the watermark fires the windows of the new job, or the clock
                (``processing_time``); an empty savepoint doesn't tell.
            begin_empty: States of the new job that the query doesn't have, and that are wanted to
                begin empty.
            left: The columns of the left input of the new job's join, in order: those of the query's
                left side, or expressions of SQL over them. By default all of them.
            right: Those of the right input.
            on: What rows of equal keys must fulfil to match in an outer join, in SQL: ``left.`` and
                ``right.`` stand before columns of the query; ``true`` if the keys are all.

        Returns:
            A transformation for ``with_operator``. Columns go into the states of their names, or
            all into the only state. Windows get the timers that fire them.

        Raises:
            RefusedError: The state can't be carried, or not without more words.
            ColumnTypeError: A column has no state, or another type than it; or only its position
                tells which one it is.
            StateNotFoundError: ``begin_empty`` names no state without a column.
            ValueError: A state of the new job has a time to live, and ``ttl_ms`` lacks it.

        Warns:
            LostStateWarning: States of the new job have no column, and ``begin_empty`` does not name
                them.

        Example:
            >>> new_job = Savepoint.load(spark, "s3://jobs/empty")
            >>> state = checkpoint.state_like(new_job.operator("totals"))
            >>> new_job.with_operator("totals", state).write("s3://jobs/begun")
        """
        words = ImportWords(
            key=tuple(key),
            aggregates=aggregates or {},
            timeout=timeout,
            ttl_ms=ttl_ms or {},
            allowed_lateness_ms=allowed_lateness_ms,
            window_time=window_time,
            begin_empty=tuple(begin_empty),
            left=tuple(left),
            right=tuple(right),
            on=on,
        )
        described = self.operator(operator)
        planned = state_like(described, self._tables(described.id), like, words)
        return CarriedState(planned, self.path)

    def sizes(self, operator: int | None = None) -> list[StoreSize]:
        """The number of rows of each store or state variable of an operator, and their skew."""
        return self._tables(operator).sizes()

    @cached_property
    def _readable(self) -> str:
        return readable_path(self.path)

    @cached_property
    def _stored(self) -> dict[int, StoredOperator]:
        expect_facts(self.path, self.state_ids)
        rows = defaultdict(list)
        with state_errors(self.path):
            of_batch = self.spark.read.format("state-metadata").option("batchId", self.batch_id)
            metadata = of_batch.load(self._readable)
            for row in metadata.collect():
                rows[row["operatorId"]].append(row)
        return {number: self._whole(StoredOperator.of(rows[number])) for number in sorted(rows)}

    def _whole(self, stored: StoredOperator) -> StoredOperator:
        """The operator with the number of its partitions, all of which are there.

        Spark stores the number for shuffles, but a LIMIT and a total over all rows have a single partition.
        """
        number = len(fact_of(self.state_ids, str(stored.id), list, [], self.path))
        if not number:
            tables = OperatorTables(self.spark, self._readable, self, stored)
            is_single = numbered(f"{self.path}/{STATE}/{stored.id}") == [0] and (
                stored.name == LIMIT or not tables.key_names()
            )
            number = 1 if is_single else stored.partitions
        expect_partitions(self.path, stored.id, number)
        return replace(stored, partitions=number)

    def _operator(self, number: int | None) -> StoredOperator:
        stored = self._stored
        if number is None and len(stored) == 1:
            return next(iter(stored.values()))
        if number in stored:
            return stored[number]
        known = "; ".join(f"{it.id}: {it.form.value}" for it in stored.values())
        asked = "several operators: choose one" if number is None else f"no operator {number}"
        raise OperatorNotFoundError(
            f"{self.path} has {asked if stored else 'no stateful operator'}; it has {known or 'none'}"
        )

    def _tables(
        self, number: int | None, forms: Sequence[StateForm] = tuple(StateForm)
    ) -> OperatorTables:
        stored = self._operator(number)
        if stored.form not in forms:
            raise RefusedError(
                f"operator {stored.id} of {self.path} is a {stored.form.value}, which has another table:"
                f" expected {' or '.join(form.value for form in forms)}"
            )
        if self.has_ids:
            expect_release("4.1", "checkpoints of format 2")
        return OperatorTables(self.spark, self._readable, self, stored)
