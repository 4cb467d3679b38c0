"""A savepoint in a Spark session: its tables as DataFrames, and as tables of Spark SQL."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from savepoint_formats.catalog import StateKind
from savepoint_formats.columns.arrow_types import spark_type_name
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.tables import KEYED_STATE, TIMERS, WINDOW_STATE
from state_processor.data_source import FORMAT, SavepointDataSource
from state_processor.jobs.keyed_reader import KeyedReaderJob
from state_processor.jobs.per_key import ReaderPlan, row_types, to_dataframe
from state_processor.jobs.window_reader import WindowReaderJob
from state_processor.metadata_function import register_metadata_function
from state_processor.savepoint import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from state_processor.functions import (
        KeyedStateReaderFunction,
        ReaderFunction,
        WindowReaderFunction,
    )

_BASE_DATABASE = "savepoint_tables"

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@dataclass(frozen=True, repr=False)
class SparkSavepoint(Savepoint):
    """A savepoint whose tables are read as DataFrames.

    Attributes:
        spark: The session.
        uids: The uids that the user gave.
    """

    spark: SparkSession
    uids: tuple[str, ...]

    @classmethod
    def of(cls, spark: SparkSession, path: str, uids: Iterable[str]) -> Self:
        """Opens a savepoint for a session; see ``Savepoint.load``."""
        uids = tuple(uids)
        found = Savepoint.open(path, uids=uids)
        spark.dataSource.register(SavepointDataSource)
        register_metadata_function(spark)
        return cls(found.path, found.metadata, found.directory, found.operators(), spark, uids)

    def read_table(self, table: str, **options: Any) -> DataFrame:
        """Any table by its full name.

        Args:
            table: ``<operator>.<table>``, the operator by its uid or hash.
            options: Options of the data source, by their names there.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: The operator has no such table; the message lists its tables.

        Example:
            >>> savepoint.read_table("summarize.keyed_state", withKeyGroup=True).show()
        """
        self.table(table)
        reader = self.spark.read.format(FORMAT)
        for name, value in self._options(table, options).items():
            reader = reader.option(name, value)
        return reader.load(self.path)

    def _options(self, table: str, options: dict[str, Any]) -> dict[str, str]:
        """The options of the data source as text; those that are None are left out."""
        given = {name: _text(value) for name, value in options.items() if value is not None}
        uids = {"uids": json.dumps(self.uids)} if self.uids else {}
        return {
            **uids,
            "table": table,
            "filterPushdown": str(self.spark.conf.get(PUSHDOWN, "false")),
            **given,
        }

    def read_list_state(self, uid: str, name: str, *, with_subtask: bool = False) -> DataFrame:
        """A list state of an operator, a row per element.

        Args:
            uid: The operator's uid, or its hash.
            name: The state.
            with_subtask: Adds the column ``subtask``.

        Returns:
            Column ``value`` of the element's type.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: It has no such state, or one of another kind.

        Example:
            >>> savepoint.read_list_state("buffer", "elements").show()
        """
        return self._operator_state(uid, name, StateKind.OPERATOR_LIST, with_subtask)

    def read_union_state(self, uid: str, name: str, *, with_subtask: bool = False) -> DataFrame:
        """A union list state of an operator, a row per element, each once.

        Arguments, columns and errors are those of ``read_list_state``.

        Example:
            >>> savepoint.read_union_state("buffer", "offsets").show()
        """
        return self._operator_state(uid, name, StateKind.UNION_LIST, with_subtask)

    def read_broadcast_state(self, uid: str, name: str, *, with_subtask: bool = False) -> DataFrame:
        """A broadcast state of an operator, a row per entry.

        Every subtask has a copy; one of them is read, or each of them with its ``subtask``.

        Returns:
            Columns ``key`` and ``value``.

        Example:
            >>> savepoint.read_broadcast_state("currency_converter", "rates").show()
        """
        return self._operator_state(uid, name, StateKind.BROADCAST, with_subtask)

    def _operator_state(
        self, uid: str, name: str, kind: StateKind, with_subtask: bool
    ) -> DataFrame:
        operator = self.operator(uid)
        states = [state for state in operator.catalog.states if not state.kind.is_keyed]
        found = next((state for state in states if state.name == name), None)
        if found is None or found.kind is not kind:
            what = f"is a {found.kind.value} state" if found else "does not exist"
            known = ", ".join(f"{state.name} ({state.kind.value})" for state in states) or "none"
            raise StateNotFoundError(
                f"{kind.value} state {name!r} of {operator.name} {what}; it has: {known}"
            )
        table = next(t.name for t in operator.tables if t.states == (found,))
        return self.read_table(f"{operator.name}.{table}", withSubtask=with_subtask)

    def read_keyed_state(
        self,
        uid: str,
        reader: KeyedStateReaderFunction | None = None,
        *,
        schema: StructType | str | None = None,
        columns: Sequence[str] | None = None,
        keys: Sequence[Any] | None = None,
        flat: str | None = None,
        with_key_group: bool = False,
        with_times: bool = False,
    ) -> DataFrame:
        """All keyed state of an operator as one table, a row per key; or what a function makes of it.

        Args:
            uid: The operator's uid, or its hash.
            reader: A function that is called for each key. Of the arguments below it takes
                ``schema`` and ``keys``: what it reads it says itself.
            schema: The columns that the function gives, as DDL or a ``StructType``.
            columns: Names of columns, in the order wanted; all by default.
            keys: Only rows of these keys; reads no key groups but theirs.
            flat: Name of a list or map state: a row per element (``list_index``,
                ``list_value``) or entry (``map_key``, ``map_value``) instead of one per key.
            with_key_group: Adds the column ``key_group``.
            with_times: Values with TTL are a struct of ``timestamp``, the time of their last
                access, and ``value``.

        Returns:
            Column ``key``, then a column per state: a value, reducing or aggregating state has
            its value's (accumulator's) type, a list state is an array, a map state a map. Null
            where a key has nothing in that state. Of a function: the columns of ``schema``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: The operator has no keyed state, or none that the function asks for.
            ValueError: A function without a schema, or with arguments that it does not take.

        Example:
            >>> savepoint.read_keyed_state("summarize").where("total > 100").show()
            >>> savepoint.read_keyed_state("summarize", Totals(), schema="key INT, total DOUBLE")
        """
        if reader is not None or schema is not None:
            others = columns is not None or flat is not None or with_key_group or with_times
            return self._by_function(KeyedReaderJob, uid, reader, schema, keys, others)
        return self.read_table(
            f"{self.operator(uid).name}.{KEYED_STATE}",
            columns=columns,
            keys=keys,
            flat=flat,
            withKeyGroup=with_key_group,
            withTimes=with_times,
        )

    def read_window_state(
        self,
        uid: str,
        reader: WindowReaderFunction | None = None,
        *,
        schema: StructType | str | None = None,
        with_key_group: bool = False,
    ) -> DataFrame:
        """Keyed state that has a namespace, as that of windows: a row per key and namespace.

        Args:
            uid: The operator's uid, or its hash.
            reader: A function that is called for each key and window.
            schema: The columns that the function gives, as DDL or a ``StructType``.
            with_key_group: Adds the column ``key_group``; not with a function.

        Returns:
            Columns ``key`` and ``namespace`` (of a time window: ``start`` and ``end`` in ms, the
            end exclusive), then a column per state, as ``read_keyed_state`` has them. Of a
            function: the columns of ``schema``.

        Raises:
            OperatorNotFoundError: No operator has this uid; the message lists those there are.
            StateNotFoundError: The operator has no state of windows, or none that the function
                asks for.
            ValueError: A function without a schema, or with arguments that it does not take.

        Example:
            >>> savepoint.read_window_state("tumbling").show()
            >>> savepoint.read_window_state("session", Sizes(), schema="key STRING, elements INT")
        """
        if reader is not None or schema is not None:
            return self._by_function(WindowReaderJob, uid, reader, schema, None, with_key_group)
        table = f"{self.operator(uid).name}.{WINDOW_STATE}"
        return self.read_table(table, withKeyGroup=with_key_group)

    def _by_function(
        self,
        job: type[KeyedReaderJob | WindowReaderJob],
        uid: str,
        reader: ReaderFunction | None,
        schema: StructType | str | None,
        keys: Sequence[Any] | None,
        has_others: bool,
    ) -> DataFrame:
        if reader is None:
            raise ValueError("a schema is that of the rows a reader function gives: add the reader")
        if has_others:
            raise ValueError("a reader function takes no arguments but 'schema' and 'keys'")
        row_type, arrow_schema = row_types(schema, reader)
        wanted = None if keys is None else tuple(keys)
        plan = ReaderPlan(self, self.operator(uid), reader, wanted)
        return to_dataframe(self.spark, job.of(plan, arrow_schema), row_type)

    def read_timers(self, uid: str) -> DataFrame:
        """The timers of an operator.

        Returns:
            Columns ``key``, ``namespace`` if they have one, ``timestamp`` (ms), ``time_domain``
            (``EVENT_TIME`` or ``PROCESSING_TIME``) and ``service``.

        Example:
            >>> savepoint.read_timers("stateful").groupBy("time_domain").count().show()
        """
        return self.read_table(f"{self.operator(uid).name}.{TIMERS}")

    def register(self) -> dict[str, str]:
        """Makes each operator a database of Spark SQL, and each table a view in it.

        Spark's names consist of letters, digits and ``_``; what else a uid or a state's name has
        becomes ``_``, and a number behind it tells apart what would be the same. Databases of
        these names are used if they are there; views of these names are replaced.

        Returns:
            Name in SQL -> full name of the table.

        Example:
            >>> savepoint.register()
            >>> spark.sql("SELECT key, total FROM summarize.keyed_state").show()
        """
        names: dict[str, str] = {}
        for operator in self.operators():
            for table in operator.tables:
                full = f"{operator.name}.{table.name}"
                name = _unused(f"{sql_name(operator.name)}.{sql_name(table.name)}", names)
                self._create_view(name, full)
                names[name] = full
        return names

    def _create_view(self, name: str, full: str) -> None:
        """A view of a table of the savepoint.

        Spark forgets the options of a table whose source is written in Python; those that a query
        gives it remembers. So the view is such a query, over a table that has but the schema.
        """
        database, _, _ = name.partition(".")
        base = f"{_BASE_DATABASE}.{sql_name(name)}"
        options = {**self._options(full, {}), "savepoint": self.path}
        given = ", ".join(f"`{name}` = {_literal(value)}" for name, value in options.items())
        columns = ", ".join(
            f"{_quoted(field.name)} {spark_type_name(field.type)}"
            for field in self.scan(full).schema
        )
        for statement in (
            f"CREATE DATABASE IF NOT EXISTS {_BASE_DATABASE}",
            f"CREATE DATABASE IF NOT EXISTS {database}",
            f"DROP TABLE IF EXISTS {base}",
            f"CREATE TABLE {base} ({columns}) USING {FORMAT}",
            f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {base} WITH ({given})",
        ):
            self.spark.sql(statement)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = "".join(
            f"<tr><td>{escape(table.table)}</td><td>{escape(', '.join(table.columns))}</td>"
            f"<td>{escape(', '.join(table.kinds))}</td></tr>"
            for table in self.tables()
        )
        head = "<tr><th>table</th><th>columns</th><th>kind of state</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table>"


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case _:
            return json.dumps(list(value), default=_plain)


def _plain(value: Any) -> str:
    """What JSON has no word for, as the option ``keys`` takes it."""
    return value.hex() if isinstance(value, bytes) else str(value)


def sql_name(name: str) -> str:
    """A name that Spark's catalog takes; in quotes if SQL needs them."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if plain.isidentifier() else f"`{plain}`"


def _unused(name: str, names: Iterable[str]) -> str:
    """The name, or the first with a number behind it that is not among ``names``."""
    taken = {one.casefold() for one in names}
    quote = "`" if name.endswith("`") else ""
    numbered = (f"{name.removesuffix(quote)}_{number}{quote}" for number in count(2))
    return next(one for one in chain([name], numbered) if one.casefold() not in taken)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
