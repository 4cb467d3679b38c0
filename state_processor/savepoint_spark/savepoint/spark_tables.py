"""A savepoint in a Spark session: its tables as DataFrames, and as tables of Spark SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_database.rows.filtered_scan import FilteredScan
from savepoint_database.snapshot.key_types import key_types_json
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.key_groups.ranges import PORTION_SIZE
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.kryo.descriptions import kryo_classes_json
from savepoint_spark.reading.data_source import FORMAT, SavepointDataSource, path_options
from savepoint_spark.reading.metadata_function import register_metadata_function
from savepoint_spark.reading.source_options import SourceOptions
from savepoint_spark.savepoint.registered_views import RegisteredViews, unread_views
from savepoint_spark.savepoint.savepoint import Savepoint
from savepoint_spark.savepoint.spark_verbs import SparkAuditVerbs
from savepoint_spark.savepoint.writer import SavepointWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.scan.read_options import UndescribedSubclasses
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds


@dataclass(frozen=True, repr=False)
class SparkTables(SparkAuditVerbs, Savepoint):
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
        # The others were warned of, once.
        known = tuple(
            operator.uid
            for operator in opened.operators()
            if operator.uid and not operator.record.uid
        )
        spark.dataSource.register(SavepointDataSource)
        register_metadata_function(spark)
        parts = (opened.path, opened.metadata, opened.directory, opened.kryo, opened.operators())
        return cls(*parts, spark, known)

    def writer(self) -> SavepointWriter:
        """What writes a savepoint that is based on this one; as yet a copy of it."""
        return SavepointWriter.of(self, self.spark)

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
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        portion_size: int | None = PORTION_SIZE,
        split_size: int | None = None,
    ) -> DataFrame:
        """The rows of any table.

        Args:
            table: Its full name, ``<operator>.<table>``, the operator by its uid or hash.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only rows of these keys, out of their key groups alone. A key is as Python
                has it: a struct is a dict.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL, by which tasks choose rows before these go to Java.
                It may be about columns that are not wanted. To it, times are timestamps, whatever
                ``nanoseconds`` says.
            flat: The name of a list or map state. A row is then an element (``list_index``,
                ``list_value``) or an entry (``map_key``, ``map_value``), not a key.
            merge: State -> the rule by which its instances of local state become one value:
                ``sum``, ``min``, ``max`` or ``concat``.
            with_key_group: Adds the column ``key_group``, also to ``columns``.
            with_subtask: Adds the column ``subtask``; each copy of broadcast state is then read.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            with_times: Makes values with TTL a struct of ``timestamp``, the time of their last
                access, and ``value``.
            nanoseconds: What times become that have digits below Spark's microseconds. ``refuse``
                raises ``InexactTimeError`` where such a digit is not 0. ``struct`` (``seconds`` and
                ``nanos`` since the epoch) and ``text`` have all digits and can be written again.
                ``truncate`` cuts them off.
            undescribed_subclasses: What a POJO becomes whose subclass no snapshot describes.
                ``refuse`` raises ``UndecodableError``. ``bytes`` shows its bytes and the reason in
                a field ``$undecoded``; fields that it hides are null. ``rest`` also leaves out
                elements and entries that it hides.
            portion_size: The size in bytes beyond which a key group is decoded in portions of that
                size; None never divides one.
            split_size: The approximate size in bytes that a Spark partition reads; None lets the
                scan choose it.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: The operator has no such table; the message lists its tables.
            ColumnNotFoundError: A column is wanted that there is not.
            ConditionError: ``where`` can't be understood, or is about a column that there is not.
            KeyTypeError: A key is none of the table's.
            TypeError: An option has a wrong type, such as a text for a list of keys.
            ValueError: An option has a value that it can't have.

        Example:
            >>> savepoint.read_table("summarize.keyed_state", with_key_group=True).show()
        """
        asked = SourceOptions.of(locals())
        return read_rows(self, table, asked)

    def read_list_state(
        self,
        uid: str,
        name: str,
        *,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        with_subtask: bool = False,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        split_size: int | None = None,
    ) -> DataFrame:
        """A list state of an operator, a row per element.

        Args:
            uid: The operator's uid, or its hash.
            name: The state.
            columns: Names of columns, in the order wanted; all by default.
            where: A condition in DuckDB's SQL, by which tasks choose rows before these go to Java.
            with_subtask: Adds the column ``subtask``.
            nanoseconds: As ``read_table``: ``refuse`` (an error), ``struct``, ``text`` or
                ``truncate``.
            undescribed_subclasses: As ``read_table``: ``refuse`` (an error), ``bytes`` or ``rest``.
            split_size: The approximate size in bytes that a Spark partition reads.

        Returns:
            Column ``value`` of the element's type.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: It has no such state, or one of another kind.
            ColumnNotFoundError, ConditionError, TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.read_list_state("buffer", "elements").show()
        """
        asked = SourceOptions.of(locals())
        return self._operator_state(uid, name, StateKind.OPERATOR_LIST, asked)

    def read_union_state(
        self,
        uid: str,
        name: str,
        *,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        with_subtask: bool = False,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        split_size: int | None = None,
    ) -> DataFrame:
        """A union list state of an operator, a row per element, each once.

        Arguments, columns and errors are those of ``read_list_state``.

        Example:
            >>> savepoint.read_union_state("buffer", "offsets").show()
        """
        asked = SourceOptions.of(locals())
        return self._operator_state(uid, name, StateKind.UNION_LIST, asked)

    def read_broadcast_state(  # noqa: PLR0913  # the options of a read
        self,
        uid: str,
        name: str,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        where: str | None = None,
        with_subtask: bool = False,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        split_size: int | None = None,
    ) -> DataFrame:
        """A broadcast state of an operator, a row per entry of one of its copies.

        Args:
            uid: The operator's uid, or its hash.
            name: The state.
            columns: Names of columns, in the order wanted; all by default.
            keys: Reads only the entries of these keys.
            where: A condition in DuckDB's SQL, by which tasks choose rows before these go to Java.
            with_subtask: Reads the copy of each subtask, and adds the column ``subtask``.
            nanoseconds: As ``read_table``: ``refuse`` (an error), ``struct``, ``text`` or
                ``truncate``.
            undescribed_subclasses: As ``read_table``: ``refuse`` (an error), ``bytes`` or ``rest``.
            split_size: The approximate size in bytes that a Spark partition reads.

        Returns:
            Columns ``key`` and ``value``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: It has no such state, or one of another kind.
            ColumnNotFoundError, ConditionError, TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.read_broadcast_state("currency_converter", "rates").show()
        """
        asked = SourceOptions.of(locals())
        return self._operator_state(uid, name, StateKind.BROADCAST, asked)

    def _operator_state(
        self, uid: str, name: str, kind: StateKind, asked: SourceOptions
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
        return read_rows(self, f"{operator.name}.{table}", asked)

    def register(
        self,
        *,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        times: Times = "numbers",
    ) -> dict[str, str]:
        """Makes each operator a database of Spark SQL, and each table a view in it.

        That reads what the files tell of their types, and no state: a view is planned when a
        query uses it.

        Spark's names consist of letters, digits and ``_``; what else a uid or a state's name has
        becomes ``_``, and a number behind it tells apart what would be the same. Databases of
        these names are used if they are there; views of these names are replaced.

        Args:
            nanoseconds: As for ``read_keyed_state``.
            undescribed_subclasses: As for ``read_keyed_state``.
            times: ``dates`` makes the times of timers timestamps; ``numbers`` are milliseconds.

        Returns:
            Name in SQL -> full name of the table.

        Warns:
            UnreadTableWarning: A table is left out, as its files are missing or damaged.

        Example:
            >>> savepoint.register()
            >>> spark.sql("SELECT key, total FROM summarize.keyed_state").show()
        """
        asked = ReadOptions(nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses)
        self.warn_of_unread_tables()
        return RegisteredViews(self, asked, times).show_all()

    def unread_views(self) -> dict[str, str]:
        """Name in SQL -> why ``register`` left it out."""
        return unread_views(self)

    def source_options(self, table: str, options: SourceOptions) -> dict[str, str]:
        """The options of the data source that reads a table as it is read here, as texts."""
        given = {"table": table, **path_options(self.directory.rules)}
        if self.uids:
            given["uids"] = json.dumps(self.uids)
        if self.kryo.classes:
            given["kryoClasses"] = kryo_classes_json(self.kryo.classes)
        keys = {
            operator.id: operator.key_type
            for operator in self.operators()
            if operator.key_type is not None
        }
        if keys:
            given["keyTypes"] = key_types_json(keys)
        return {**given, **options.texts()}


def read_rows(savepoint: SparkTables, table: str, asked: SourceOptions) -> DataFrame:
    """The rows of a table of a savepoint.

    Args:
        savepoint: The savepoint.
        table: The full name of the table.
        asked: The options of the read.

    Raises:
        SavepointError: As ``SparkTables.read_table``.
    """
    operator, shown = savepoint.table(table)
    # Raised here, an error is what it is; from the data source it comes as one of Spark's.
    scan = operator.scan(shown, asked.read)
    scan.check()
    if asked.where is not None:
        FilteredScan.of(scan, asked.where)
    given = savepoint.source_options(table, asked)
    reader = savepoint.spark.read.format(FORMAT).options(**given)
    return reader.load(savepoint.directory.absolute_uri)
