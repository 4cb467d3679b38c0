"""The state of a savepoint by key as DataFrames: keyed, local and window state, and timers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from savepoint_database.snapshot import with_old_keywords
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.key_groups import CHUNK_SIZE
from savepoint_formats.scan import bytes_of_splits, mergeable_states
from savepoint_formats.tables import KEYED_STATE, TIMERS, WINDOW_STATE
from savepoint_spark.changing import TableRows, merge_instances
from savepoint_spark.reading import (
    KeyedReaderJob,
    ReaderPlan,
    SourceOptions,
    WindowReaderJob,
    keys_of_function,
    row_types,
)
from savepoint_spark.session import rows_of_tasks
from state_processor.savepoint.spark_tables import SparkTables, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_spark.changing import Merge
    from savepoint_spark.reading import (
        KeyedStateReaderFunction,
        ReaderFunction,
        WindowReaderFunction,
    )

    ReadMerge = Merge | Column


@dataclass(frozen=True, repr=False)
class SparkSavepoint(SparkTables):
    """A savepoint whose tables are read as DataFrames.

    Attributes:
        spark: The session.
        uids: The uids that the user gave and the savepoint lacks.
    """

    @with_old_keywords
    def read_keyed_state(  # noqa: PLR0913  # the options of a read
        self,
        uid: str,
        reader: KeyedStateReaderFunction | None = None,
        *,
        schema: StructType | str | None = None,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        where: str | None = None,
        flat: str | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        with_times: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
        split_size: int | None = None,
    ) -> DataFrame:
        """All keyed state of an operator, a row per key; or the rows of a function.

        Local state has a row per subtask and key: see ``read_local_state``.

        Args:
            uid: The operator's uid, or its hash.
            reader: A function that is called for each key. It says itself what it reads, so the
                only other option is ``keys``.
            schema: The columns of the function's rows, as DDL or a ``StructType``.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only rows of these keys, from their key groups. A key is written as
                in Python: a struct is a dict.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them. It may
                use columns that are not wanted. It sees times as timestamps, whatever
                ``with_forms`` says.
            flat: The name of a list or map state. A row is then an element (``list_index``,
                ``list_value``) or an entry (``map_key``, ``map_value``), not a key.
            with_key_group: Adds the column ``key_group``, also to ``columns``.
            with_subtask: Adds the column ``subtask``.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            with_times: Makes values with TTL a struct of ``timestamp``, the time of their last
                access, and ``value``.
            chunk_size: A larger key group is decoded this many bytes at a time; None
                never divides one.
            split_size: The approximate size in bytes of a Spark partition; None lets the scan
                choose it.

        Returns:
            Column ``key``, then a column per state: a value, reducing or aggregating state has
            its value's (accumulator's) type, a list state is an array, a map state a map. Null
            if a key has nothing in that state. With a function: the columns of ``schema``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists all operators.
            StateNotFoundError: The operator has no keyed state, or none that the function asks for.
            KeyTypeError: A key has another type than the operator's.
            ColumnNotFoundError: There is no such column.
            ConditionError: ``where`` is wrong, or uses a missing column.
            ValueError: An option has an impossible value; or a function has no schema, or options
                that it does not take.
            TypeError: An option has a wrong type, such as one key instead of a list.

        Example:
            >>> savepoint.read_keyed_state("summarize", where="total > 100").show()
            >>> savepoint.read_keyed_state("summarize", Totals(), schema="key INT, total DOUBLE")
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        if reader is not None or schema is not None:
            return self._by_function(KeyedReaderJob, uid, reader, schema, asked)
        return read_rows(self, f"{self.operator(uid).name}.{KEYED_STATE}", asked)

    @with_old_keywords
    def read_local_state(  # noqa: PLR0913  # the options of a read
        self,
        uid: str,
        merge: Mapping[str, ReadMerge] | None = None,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        where: str | None = None,
        flat: str | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        with_times: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
        split_size: int | None = None,
    ) -> DataFrame:
        """All local keyed state of an operator, a row per subtask and key.

        Options are those of ``read_keyed_state``, which explains them.

        Args:
            uid: The operator's uid, or its hash.
            merge: State -> how its instances in a row become one value: a rule (``sum``, ``min``,
                ``max``, ``concat``), a function of two values or an object with one called
                ``merge``, or an expression over the columns of the row.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only rows of these keys, from their key groups.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them.
            flat: A list or map state; each element or entry becomes a row.
            with_key_group: Adds the column ``key_group``.
            with_subtask: Adds the column ``subtask``.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            with_times: Makes values with TTL a struct of ``timestamp`` (last access) and ``value``.
            chunk_size: A larger key group is decoded this many bytes at a time.
            split_size: The approximate size in bytes of a Spark partition.

        Returns:
            Columns ``subtask`` and ``key``, then a column per state: an array of the instances of
            a value, reducing or aggregating state, the joined instances of a list, a map to
            arrays. Merged states have values instead of arrays.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists all operators.
            StateNotFoundError: The operator has no local state, or none of a name in ``merge``.
            ColumnTypeError: A rule cannot merge values of a state's type.
            ValueError: There is no such rule, or a list is in ``merge``.
            TypeError: As ``read_keyed_state``.

        Example:
            >>> savepoint.read_local_state("count_words", {"count": "sum"}).show()
        """
        asked = SourceOptions.of(self.forms.beside({**locals(), "merge": None}))
        return _read_merged(self, f"{self.operator(uid).name}.{KEYED_STATE}", merge or {}, asked)

    @with_old_keywords
    def read_window_state(  # noqa: PLR0913  # the options of a read
        self,
        uid: str,
        reader: WindowReaderFunction | None = None,
        *,
        schema: StructType | str | None = None,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        where: str | None = None,
        flat: str | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        with_times: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
        split_size: int | None = None,
    ) -> DataFrame:
        """Keyed state with a namespace, such as that of windows: a row per key and namespace.

        Options are those of ``read_keyed_state``, which explains them.

        Args:
            uid: The operator's uid, or its hash.
            reader: A function that is called for each key and window; its only other option is ``keys``.
            schema: The columns of the function's rows, as DDL or a ``StructType``.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only rows of these keys, from their key groups.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them.
            flat: A list or map state; each element or entry becomes a row.
            with_key_group: Adds the column ``key_group``.
            with_subtask: Adds the column ``subtask``.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            with_times: Makes values with TTL a struct of ``timestamp`` (last access) and ``value``.
            chunk_size: A larger key group is decoded this many bytes at a time.
            split_size: The approximate size in bytes of a Spark partition.

        Returns:
            Columns ``key`` and ``namespace`` (for a time window ``start`` and ``end`` in ms, the
            end exclusive), then a column per state, as for ``read_keyed_state``. Elements of a
            window with an evictor are a struct of ``timestamp`` (null if the record has none)
            and ``value``. With a function: the columns of ``schema``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists all operators.
            StateNotFoundError: The operator has no state of windows, or none that the function
                asks for.
            KeyTypeError, ValueError, TypeError: As ``read_keyed_state``.

        Example:
            >>> savepoint.read_window_state("tumbling").show()
            >>> savepoint.read_window_state("session", Sizes(), schema="key STRING, elements INT")
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        if reader is not None or schema is not None:
            return self._by_function(WindowReaderJob, uid, reader, schema, asked)
        return read_rows(self, f"{self.operator(uid).name}.{WINDOW_STATE}", asked)

    def initial_state(self, uid: str, *, key: Sequence[str] = ()) -> DataFrame:
        """The keyed state of an operator as the initial state of a streaming query of Spark.

        Args:
            uid: The operator's uid, or its hash.
            key: Names for the columns of the key, in order, as the query groups by them; by default
                the one column ``key``.

        Returns:
            A row per key: its columns, a column per state as in ``read_keyed_state``, and the timers in
            ms since the epoch as the array ``event_time`` or ``processing_time``, if it has any.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: The operator has neither keyed state nor timers.
            RefusedError: It has state of windows, or timers in both time domains.
            ColumnTypeError: The key has another number of columns.

        Example:
            >>> initial = savepoint.initial_state("summarize", key=["account"]).groupBy("account")
        """
        from savepoint_extensions.spark_streams.starting_rows import starting_rows  # noqa: PLC0415  # loads no extension before it is used

        return starting_rows(self, uid, key)

    def _by_function(
        self,
        job: type[KeyedReaderJob | WindowReaderJob],
        uid: str,
        reader: ReaderFunction | None,
        schema: StructType | str | None,
        asked: SourceOptions,
    ) -> DataFrame:
        if reader is None:
            raise ValueError("schema= describes the rows of a reader function: add the function")
        keys = keys_of_function(asked)
        row_type, arrow_schema = row_types(schema, reader)
        plan = ReaderPlan(self, self.operator(uid), reader, keys)
        reading = job.of(plan, arrow_schema)
        splits = reading.scan.splits()
        size = bytes_of_splits(splits)
        return rows_of_tasks(self.spark, reading.run, splits, row_type, size)

    @with_old_keywords
    def read_timers(  # noqa: PLR0913  # the options of a read
        self,
        uid: str,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        where: str | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
        split_size: int | None = None,
    ) -> DataFrame:
        """The timers of an operator.

        Options are those of ``read_keyed_state``, which explains them.

        Args:
            uid: The operator's uid, or its hash.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only rows of these keys, from their key groups.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them.
            with_key_group: Adds the column ``key_group``.
            with_subtask: Adds the column ``subtask``.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            chunk_size: A larger key group is decoded this many bytes at a time.
            split_size: The approximate size in bytes of a Spark partition.

        Returns:
            Columns ``key``, ``namespace`` if they have one, ``timestamp`` (ms), ``time_domain``
            (``EVENT_TIME`` or ``PROCESSING_TIME``) and ``service``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists all operators.
            StateNotFoundError: The operator has no timers.
            KeyTypeError, ConditionError, TypeError, ValueError: As ``read_keyed_state``.

        Example:
            >>> savepoint.read_timers("stateful").groupBy("time_domain").count().show()
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        return read_rows(self, f"{self.operator(uid).name}.{TIMERS}", asked)


def _read_merged(
    savepoint: SparkTables, name: str, merge: Mapping[str, ReadMerge], asked: SourceOptions
) -> DataFrame:
    """The rows of a table of local state; see ``SparkSavepoint.read_local_state``."""
    operator, table = savepoint.table(name)
    states = mergeable_states(table.states, merge, name)
    expressions = {state: value for state, value in merge.items() if isinstance(value, Column)}
    functions = {state: value for state, value in merge.items() if not isinstance(value, Column)}
    merges = {state: merge_instances(states[state], value) for state, value in functions.items()}
    rules = {state: value for state, value in functions.items() if isinstance(value, str)}
    if len(rules) == len(functions):
        rows = read_rows(
            savepoint, name, replace(asked, read=replace(asked.read, merge=rules or None))
        )
    else:
        if asked.where is not None:
            raise ValueError("where goes with rules that merge, not with functions: leave it out")
        scan = operator.scan(table, replace(asked.read, merge=merges))
        rows = TableRows(scan).to_dataframe(savepoint.spark)
    return _with_expressions(rows, expressions)


def _with_expressions(rows: DataFrame, expressions: Mapping[str, Column]) -> DataFrame:
    for name in expressions:
        if name not in rows.columns:
            known = ", ".join(rows.columns)
            raise StateNotFoundError(f"there is no column of state {name!r}; there are: {known}")
    return rows.withColumns(dict(expressions))
