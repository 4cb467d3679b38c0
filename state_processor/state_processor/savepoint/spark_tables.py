"""A savepoint in a Spark session: its tables as DataFrames, and as tables of Spark SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_database.snapshot import SqlTables, key_types_json, with_old_keywords
from savepoint_database.sql import TableCache
from savepoint_database.types import sql_name
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.key_groups import CHUNK_SIZE
from savepoint_formats.locations import path_text
from savepoint_formats.scan import ReadOptions
from savepoint_formats.state_files import StateKind
from savepoint_formats.values import kryo_classes_json
from savepoint_spark.reading import (
    SourceOptions,
    TableRead,
    path_options,
    register_metadata_function,
)
from state_processor.savepoint.savepoint import Savepoint
from state_processor.savepoint.spark_privacy_verbs import SparkPrivacyVerbs
from state_processor.savepoint.spark_verbs import SparkAuditVerbs
from state_processor.savepoint.writer import SavepointWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.types import Times
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations import PathText


@dataclass(frozen=True, repr=False)
class SparkTables(SparkAuditVerbs, SparkPrivacyVerbs, Savepoint):
    """A savepoint whose tables and operator states are read as DataFrames.

    Attributes:
        spark: The session.
        uids: The uids that the user gave and the savepoint lacks.
    """

    spark: SparkSession
    uids: tuple[str, ...]

    @classmethod
    def of(cls, spark: SparkSession, opened: Savepoint) -> Self:
        """A savepoint in a session; see ``Savepoint.load``."""
        # Uids without an operator are left out: opening has warned of them.
        known = tuple(
            operator.uid
            for operator in opened.operators()
            if operator.uid and not operator.record.uid
        )
        register_metadata_function(spark)
        values = (opened.path, opened.metadata, opened.directory, opened.kryo, opened.operators())
        return cls(*values, opened.plan, opened.metadata_bytes, spark, known, forms=opened.forms)

    def writer(self) -> SavepointWriter:
        """A writer of a copy of this savepoint."""
        return SavepointWriter.of(self, self.spark)

    @with_old_keywords
    def read_table(  # noqa: PLR0913  # the options of a read
        self,
        table: str,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        where: str | None = None,
        flat: str | None = None,
        merge: Mapping[str, str] | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        with_times: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
        split_size: int | None = None,
    ) -> DataFrame:
        """The rows of any table.

        Options are those of ``read_keyed_state``, which explains them.

        Args:
            table: Its full name, ``<operator>.<table>``, with the operator's uid or hash.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only rows of these keys, from their key groups.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them.
            flat: A list or map state; each element or entry becomes a row.
            merge: State -> rule that merges its local instances: ``sum``, ``min``, ``max`` or ``concat``.
            with_key_group: Adds the column ``key_group``.
            with_subtask: Adds the column ``subtask``; each copy of broadcast state is then read.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            with_times: Makes values with TTL a struct of ``timestamp`` (last access) and ``value``.
            chunk_size: A larger key group is decoded this many bytes at a time.
            split_size: The approximate size in bytes of a Spark partition.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: The operator has no such table; the message lists its tables.
            ColumnNotFoundError: There is no such column.
            ConditionError: ``where`` is wrong, or uses a missing column.
            KeyTypeError: A key has another type than the table's.
            TypeError: An option has a wrong type, such as a text for a list of keys.
            ValueError: An option has an impossible value.

        Example:
            >>> savepoint.read_table("summarize.keyed_state", with_key_group=True).show()
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        return read_rows(self, table, asked)

    @with_old_keywords
    def read_list_state(
        self,
        uid: str,
        name: str,
        *,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        with_subtask: bool = False,
        split_size: int | None = None,
    ) -> DataFrame:
        """A list state of an operator, a row per element.

        Options are those of ``read_keyed_state``, which explains them.

        Args:
            uid: The operator's uid, or its hash.
            name: The state.
            columns: Names of columns, in the order wanted; all by default.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them.
            with_subtask: Adds the column ``subtask``.
            split_size: The approximate size in bytes of a Spark partition.

        Returns:
            Column ``value`` of the element's type.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists all operators.
            StateNotFoundError: It has no such state, or one of another kind.
            ColumnNotFoundError, ConditionError, TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.read_list_state("buffer", "elements").show()
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        return self._operator_state(uid, name, StateKind.OPERATOR_LIST, asked)

    @with_old_keywords
    def read_union_state(
        self,
        uid: str,
        name: str,
        *,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        with_subtask: bool = False,
        split_size: int | None = None,
    ) -> DataFrame:
        """A union list state of an operator, a row per element, each once.

        Arguments, columns and errors are those of ``read_list_state``.

        Example:
            >>> savepoint.read_union_state("buffer", "offsets").show()
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        return self._operator_state(uid, name, StateKind.UNION_LIST, asked)

    @with_old_keywords
    def read_broadcast_state(  # the options of a read
        self,
        uid: str,
        name: str,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        where: str | None = None,
        with_subtask: bool = False,
        split_size: int | None = None,
    ) -> DataFrame:
        """A broadcast state of an operator, a row per entry of one of its copies.

        Options are those of ``read_keyed_state``, which explains them.

        Args:
            uid: The operator's uid, or its hash.
            name: The state.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only the entries of these keys.
            where: A condition in DuckDB's SQL; tasks choose rows by it before Java gets them.
            with_subtask: Reads the copy of each subtask, and adds the column ``subtask``.
            split_size: The approximate size in bytes of a Spark partition.

        Returns:
            Columns ``key`` and ``value``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists all operators.
            StateNotFoundError: It has no such state, or one of another kind.
            ColumnNotFoundError, ConditionError, TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.read_broadcast_state("currency_converter", "rates").show()
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        return self._operator_state(uid, name, StateKind.BROADCAST, asked)

    def _operator_state(
        self, uid: str, name: str, kind: StateKind, asked: SourceOptions
    ) -> DataFrame:
        operator = self.operator(uid)
        states = [state for state in operator.catalog.states if not state.kind.is_keyed]
        wanted = next((state for state in states if name in (state.name, state.job_name)), None)
        if wanted is None or wanted.kind is not kind:
            what = f"is a {wanted.kind.value} state" if wanted else "does not exist"
            known = (
                ", ".join(f"{state.job_name} ({state.kind.value})" for state in states) or "none"
            )
            raise StateNotFoundError(
                f"{kind.value} state {name!r} of {operator.name} {what}; it has: {known}"
            )
        table = next(t.name for t in operator.readable_tables if t.states == (wanted,))
        return read_rows(self, f"{operator.name}.{table}", asked)

    @with_old_keywords
    def register(
        self,
        *,
        times: Times = "numbers",
        cache: PathText | None = None,
    ) -> dict[str, str]:
        """Makes each operator a database of Spark SQL, and each table a view in it.

        This reads the types in the files, but no state: a view is planned when a query uses it.

        Spark's names consist of letters, digits and ``_``. Any other character of a uid or state
        becomes ``_``, and a number is appended to names that would be equal. Existing databases of
        these names are used, existing views are replaced.

        Args:
            times: ``dates`` makes the times of timers timestamps; ``numbers`` are milliseconds.
            cache: Folder or URI that all machines reach. All tables are converted to Parquet there,
                now and once; views read those files, to which Spark passes columns and conditions.
                Nothing in it is ever removed.

        Returns:
            Name in SQL -> full name of the table.

        Warns:
            UnreadTableWarning: A table is left out because its files are missing or damaged.

        Example:
            >>> savepoint.register()
            >>> spark.sql("SELECT key, total FROM summarize.keyed_state").show()
        """
        from state_processor.savepoint.spark_database import RegisteredViews  # noqa: PLC0415  # sqlglot is slow

        asked = ReadOptions(**self.forms.options())
        self.warn_of_unread_tables()
        stored = None if cache is None else TableCache(path_text(cache))
        return RegisteredViews(self, asked, times, stored).show_all()

    def unread_views(self) -> dict[str, str]:
        """Name in SQL -> reason why ``register`` left it out."""
        tables = SqlTables(self.operators())
        unread = {
            table.spark_sql: str(table.problem) for table in tables if table.problem is not None
        }
        ambiguous = {
            f"{sql_name(database)}.{sql_name(name)}": str(tables.unknown(database, name))
            for database, name in sorted(tables.without_table())
        }
        return {**unread, **ambiguous}

    def source_options(self, table: str, options: SourceOptions) -> dict[str, str]:
        """The options of the data source for reading a table, as texts."""
        texts = {"table": table, **path_options(self.directory.rules)}
        if self.uids:
            texts["uids"] = json.dumps(self.uids)
        if self.kryo.classes:
            texts["kryoClasses"] = kryo_classes_json(self.kryo.classes)
        keys = {
            operator.id: operator.key_type
            for operator in self.operators()
            if operator.key_type is not None
        }
        if keys:
            texts["keyTypes"] = key_types_json(keys)
        if self.plan is not None:
            texts["plan"] = self.plan.path
        types = {
            operator.id: dict(operator.kryo.python_types)
            for operator in self.operators()
            if operator.kryo and operator.kryo.python_types
        }
        if types:
            texts["types"] = json.dumps(types)
        return {**texts, **options.texts()}


def read_rows(savepoint: SparkTables, table: str, asked: SourceOptions) -> DataFrame:
    """The rows of a table; raises what ``SparkTables.read_table`` raises."""
    operator, shown = savepoint.table(table)
    return TableRead.of(operator.scan(shown, asked.read), asked).to_dataframe(savepoint.spark)
