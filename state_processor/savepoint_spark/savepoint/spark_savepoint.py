"""The state of a savepoint as DataFrames: keyed, local and window state, timers, operator states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from savepoint_database.types.listed_options import lists
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.tables import KEYED_STATE, TIMERS, WINDOW_STATE
from savepoint_spark.reading.keyed_reader import KeyedReaderJob
from savepoint_spark.reading.per_key import ReaderPlan, keys_of_function, row_types, to_dataframe
from savepoint_spark.reading.source_options import RowArguments, SourceOptions
from savepoint_spark.reading.window_reader import WindowReaderJob
from savepoint_spark.savepoint.merged_rows import read_merged
from savepoint_spark.savepoint.spark_tables import SparkTables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_spark.reading.functions import (
        KeyedStateReaderFunction,
        ReaderFunction,
        WindowReaderFunction,
    )
    from savepoint_spark.savepoint.merged_rows import ReadMerge


@dataclass(frozen=True, repr=False)
class SparkSavepoint(SparkTables):
    """A savepoint whose tables are read as DataFrames.

    Attributes:
        spark: The session.
        uids: The uids that the user gave and the savepoint lacks.
    """

    @lists(RowArguments)
    def read_list_state(self, uid: str, name: str, **options: Unpack[RowArguments]) -> DataFrame:
        """A list state of an operator, a row per element.

        Args:
            uid: The operator's uid, or its hash.
            name: The state.
            options: As for ``read_table``; ``with_subtask`` adds the column ``subtask``.

        Returns:
            Column ``value`` of the element's type.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: It has no such state, or one of another kind.
            TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.read_list_state("buffer", "elements").show()
        """
        return self._operator_state(uid, name, StateKind.OPERATOR_LIST, options)

    @lists(RowArguments)
    def read_union_state(self, uid: str, name: str, **options: Unpack[RowArguments]) -> DataFrame:
        """A union list state of an operator, a row per element, each once.

        Arguments, columns and errors are those of ``read_list_state``.

        Example:
            >>> savepoint.read_union_state("buffer", "offsets").show()
        """
        return self._operator_state(uid, name, StateKind.UNION_LIST, options)

    @lists(RowArguments)
    def read_broadcast_state(
        self, uid: str, name: str, **options: Unpack[RowArguments]
    ) -> DataFrame:
        """A broadcast state of an operator, a row per entry.

        Every subtask has a copy; one of them is read, or ``with_subtask`` each of them. Arguments
        and errors are those of ``read_list_state``.

        Returns:
            Columns ``key`` and ``value``.

        Example:
            >>> savepoint.read_broadcast_state("currency_converter", "rates").show()
        """
        return self._operator_state(uid, name, StateKind.BROADCAST, options)

    def _operator_state(
        self, uid: str, name: str, kind: StateKind, options: RowArguments
    ) -> DataFrame:
        operator = self.operator(uid)
        states = [state for state in operator.catalog.states if not state.kind.is_keyed]
        wanted = next((state for state in states if state.name == name), None)
        if wanted is None or wanted.kind is not kind:
            what = f"is a {wanted.kind.value} state" if wanted else "does not exist"
            known = ", ".join(f"{state.name} ({state.kind.value})" for state in states) or "none"
            raise StateNotFoundError(
                f"{kind.value} state {name!r} of {operator.name} {what}; it has: {known}"
            )
        table = next(t.name for t in operator.tables if t.states == (wanted,))
        return self.read_table(f"{operator.name}.{table}", **options)

    @lists(RowArguments)
    def read_keyed_state(
        self,
        uid: str,
        reader: KeyedStateReaderFunction | None = None,
        *,
        schema: StructType | str | None = None,
        **options: Unpack[RowArguments],
    ) -> DataFrame:
        """All keyed state of an operator as one table, a row per key; or what a function makes of it.

        Local state has a row per subtask and key: see ``read_local_state``.

        Args:
            uid: The operator's uid, or its hash.
            reader: A function that is called for each key. Of the options it takes ``keys``
                alone: what it reads it says itself.
            schema: The columns that the function gives, as DDL or a ``StructType``.
            options: As for ``read_table``: ``columns``, in the order wanted; ``keys``, which reads
                no key groups but theirs; ``where``, a condition in SQL, by which rows are chosen
                before they go to Java; ``key_groups``; ``flat``, a list or map state of which
                there is a row per element (``list_index``, ``list_value``) or entry (``map_key``,
                ``map_value``) instead of one per key; ``with_key_group`` adds the column
                ``key_group``; ``with_times`` makes values with TTL a struct of ``timestamp``, the
                time of their last access, and ``value``. ``nanoseconds`` says what becomes of
                times with more digits than Spark's, of microseconds: ``refuse`` raises
                ``InexactTimeError`` where such a digit is not 0, ``struct`` (``seconds`` and
                ``nanos`` since the epoch) and ``text`` have all of them and can be written again,
                ``truncate`` cuts them off. ``undescribed_subclasses="bytes"`` shows POJOs of
                subclasses that no snapshot describes as bytes and the reason, in a field
                ``$undecoded``, and fields that another value hides as null; ``rest`` also leaves
                out elements and entries that are hidden; ``refuse`` raises ``UndecodableError``.

        Returns:
            Column ``key``, then a column per state: a value, reducing or aggregating state has
            its value's (accumulator's) type, a list state is an array, a map state a map. Null
            where a key has nothing in that state. Of a function: the columns of ``schema``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: The operator has no keyed state, or none that the function asks for.
            KeyTypeError: A key is none of the operator's.
            ConditionError: ``where`` can't be understood, or is about a column that there is not.
            ValueError: A function without a schema, or with arguments that it does not take.
            TypeError: There is no such option, or it has a wrong type: one key instead of a list.

        Example:
            >>> savepoint.read_keyed_state("summarize", where="total > 100").show()
            >>> savepoint.read_keyed_state("summarize", Totals(), schema="key INT, total DOUBLE")
        """
        if reader is not None or schema is not None:
            return self._by_function(KeyedReaderJob, uid, reader, schema, options)
        return self.read_table(f"{self.operator(uid).name}.{KEYED_STATE}", **options)

    @lists(RowArguments)
    def read_local_state(
        self,
        uid: str,
        merge: Mapping[str, ReadMerge] | None = None,
        **options: Unpack[RowArguments],
    ) -> DataFrame:
        """All local keyed state of an operator as one table, a row per subtask and key.

        Args:
            uid: The operator's uid, or its hash.
            merge: State -> how its instances in a row become one value: by a rule (``sum``,
                ``min``, ``max``, ``concat``), by a function of two values or an object with one
                called ``merge``, or by an expression over the columns of the row.
            options: As for ``read_keyed_state``.

        Returns:
            Columns ``subtask`` and ``key``, then a column per state: an array of the instances of
            a value, reducing or aggregating state, the array that the instances of a list make, a
            map to arrays. What is merged has values instead of arrays.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: The operator has no local state, or none that is to be merged.
            ColumnTypeError: A rule cannot merge values of a state's type.
            ValueError: There is no such rule, or a list is to be merged.
            TypeError: As ``read_keyed_state``.

        Example:
            >>> savepoint.read_local_state("count_words", {"count": "sum"}).show()
        """
        return read_merged(self, f"{self.operator(uid).name}.{KEYED_STATE}", merge or {}, options)

    @lists(RowArguments)
    def read_window_state(
        self,
        uid: str,
        reader: WindowReaderFunction | None = None,
        *,
        schema: StructType | str | None = None,
        **options: Unpack[RowArguments],
    ) -> DataFrame:
        """Keyed state that has a namespace, as that of windows: a row per key and namespace.

        Args:
            uid: The operator's uid, or its hash.
            reader: A function that is called for each key and window.
            schema: The columns that the function gives, as DDL or a ``StructType``.
            options: As for ``read_keyed_state``.

        Returns:
            Columns ``key`` and ``namespace`` (of a time window: ``start`` and ``end`` in ms, the
            end exclusive), then a column per state, as ``read_keyed_state`` has them. Elements
            that a window with an evictor keeps are a struct of ``timestamp`` (null if the record
            has none) and ``value``. Of a function: the columns of ``schema``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: The operator has no state of windows, or none that the function
                asks for.
            KeyTypeError, ValueError, TypeError: As ``read_keyed_state``.

        Example:
            >>> savepoint.read_window_state("tumbling").show()
            >>> savepoint.read_window_state("session", Sizes(), schema="key STRING, elements INT")
        """
        if reader is not None or schema is not None:
            return self._by_function(WindowReaderJob, uid, reader, schema, options)
        return self.read_table(f"{self.operator(uid).name}.{WINDOW_STATE}", **options)

    def _by_function(
        self,
        job: type[KeyedReaderJob | WindowReaderJob],
        uid: str,
        reader: ReaderFunction | None,
        schema: StructType | str | None,
        options: RowArguments,
    ) -> DataFrame:
        if reader is None:
            raise ValueError("a schema is that of the rows a reader function gives: add the reader")
        keys = keys_of_function(SourceOptions.of(options))
        row_type, arrow_schema = row_types(schema, reader)
        plan = ReaderPlan(self, self.operator(uid), reader, keys)
        return to_dataframe(self.spark, job.of(plan, arrow_schema), row_type)

    @lists(RowArguments)
    def read_timers(self, uid: str, **options: Unpack[RowArguments]) -> DataFrame:
        """The timers of an operator.

        Args:
            uid: The operator's uid, or its hash.
            options: As for ``read_table``.

        Returns:
            Columns ``key``, ``namespace`` if they have one, ``timestamp`` (ms), ``time_domain``
            (``EVENT_TIME`` or ``PROCESSING_TIME``) and ``service``.

        Example:
            >>> savepoint.read_timers("stateful").groupBy("time_domain").count().show()
        """
        return self.read_table(f"{self.operator(uid).name}.{TIMERS}", **options)
