"""Changes of states and their types: a changed job finds its state again.

Names change only in headers. Values and all other state are copied as bytes. Where fields
change, values are decoded and encoded anew.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from savepoint_database.snapshot import with_old_keywords
from savepoint_formats.errors import ClassNotNamedError
from savepoint_formats.snapshots import ClassRename, dropped_field, renamed_field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Self

    from pyspark.sql import Column

    from savepoint_database.types import TypeInformation
    from savepoint_formats.locations import PathText
    from savepoint_formats.scan import UndescribedSubclasses
    from savepoint_formats.values import Nanoseconds
    from savepoint_spark.changing import Merge
    from state_processor.savepoint.value_changes import ValueChanges
    from state_processor.savepoint.writer import SavepointWriter


class StateChanges:
    """Changes of states; each returns a writer, and later ones see the results of earlier ones."""

    __slots__ = ()

    @abstractmethod
    def writer(self) -> SavepointWriter:
        """The writer of the savepoint, as changed so far."""

    @abstractmethod
    def with_forms(
        self,
        *,
        nanoseconds: Nanoseconds | None = None,
        undescribed_subclasses: UndescribedSubclasses | None = None,
    ) -> Self:
        """See ``Snapshot.with_forms``."""

    def rename_class(self, old: str, new: str, *, uid: str | None = None) -> SavepointWriter:
        """Gives a Java class another name wherever serializers and values name it.

        Kryo writes the names of classes that are not registered into values, and so does Flink for
        subclasses of POJOs. If no serializer of an operator names the class, its values are read up
        to the first that does. Key groups stay, because the hash code of a key does not depend on
        the name of its class.

        ``write`` raises ``SchemaChangeError`` if a value contains the name in bytes that can't be
        parsed: those of Java's serialization, or of a class that must be described.

        Args:
            old: The present name, as ``Class.getName`` gives it: inner classes with ``$``. Inner
                classes are renamed one by one.
            new: The name of the class in the new job.
            uid: The operator; all by default.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            ClassNotNamedError: Neither a serializer nor a value names the class; the message lists
                the classes that serializers name.
            SchemaChangeError: A serializer names it where it can't change, as in a Java object.

        Example:
            >>> savepoint.rename_class("shop.Customer", "shop.Client").write("s3://jobs/renamed")
        """
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

        writer, rename = self.writer().ready_for(StageRule.CLASSES, uid), ClassRename(old, new)
        operators = writer.changes_of(uid)
        # Tries all of them, because each may have the name where it cannot be changed.
        named = [name for name, operator in operators.items() if operator.renames(rename)]
        if not named:
            names = (operator.class_names() for operator in operators.values())
            known = ", ".join(sorted(frozenset().union(*names))) or "none"
            raise ClassNotNamedError(
                f"no serializer or value names class {old}; serializers name: {known}"
            )
        for name in named:
            writer = writer.changed(name, lambda operator: operator.with_class(rename))
        return writer

    def rename_state(self, uid: str, old: str, new: str) -> SavepointWriter:
        """Gives a state another name.

        Args:
            uid: The operator's uid, or the hash of one.
            old: The state.
            new: The name of its descriptor in the new job.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: It has no such state; the message lists its states.
            StateExistsError: Another state has the new name.

        Example:
            >>> savepoint.rename_state("summarize", "total", "sum").write("s3://jobs/renamed")
        """
        return self.writer().changed(uid, lambda operator: operator.with_name(old, new))

    @with_old_keywords
    def rename_field(
        self,
        uid: str,
        state: str,
        old: str,
        new: str,
    ) -> SavepointWriter:
        """Gives a field of the POJOs in a state another name.

        Fields are stored in the order of their names: if that order changes, values are encoded anew.

        Args:
            uid: The operator's uid, or the hash of one.
            state: The state: its values, elements, or the values of its map are the POJOs.
            old: The field, after the fields around its POJO: ``address.zip``. Elements of
                collections and values of maps have no name in this path, which has ``f0`` and
                ``f1`` of tuples, and ``left`` and ``right`` of ``Either``.
            new: The new name, without a path.

        Raises:
            OperatorNotFoundError, StateNotFoundError: As ``rename_state``.
            FieldNotFoundError: There is no such field; the message lists all fields.
            SchemaChangeError: The values are not POJOs, have values of subclasses among them, or
                have a field of the new name.

        Example:
            >>> savepoint.rename_field("stateful", "customer", "address.zip", "postcode")
        """
        values = self._values(uid, state)
        return values.edited(old, lambda snapshot, path: renamed_field(snapshot, path, new))

    @with_old_keywords
    def add_field(
        self,
        uid: str,
        state: str,
        name: str,
        field_type: TypeInformation | str,
        value: Column | Any = None,
        *,
        before: str | None = None,
    ) -> SavepointWriter:
        """Adds a field to the POJOs, or to the rows of SQL, in a state.

        Args:
            uid: The operator's uid, or the hash of one.
            state: The state.
            name: The field, as in ``rename_field``; for a row of SQL the next one, ``f<n>``, or
                any name if the savepoint is opened with the plan.
            field_type: The type of a POJO's field, or its name: ``"LONG"``; for a row the words of
                SQL: ``"BIGINT"``.
            value: The field's value: a value of Python, or an expression over the columns of the
                state's table; null by default, which a primitive field of Java can't be.
            before: The column of the query that the new column of a row comes before; by default it is
                the last one.

        Raises:
            OperatorNotFoundError, StateNotFoundError, FieldNotFoundError: As ``rename_field``.
            SchemaChangeError: The field exists, or the values are neither POJOs nor rows.
            ColumnTypeError: The value does not fit the type.
            TypeError: Such a field can't have this type.
            ValueError: The text is not a type for such a field.

        Example:
            >>> savepoint.add_field("stateful", "customer", "vip", Types.BOOLEAN(), False)
        """
        values = self._values(uid, state, has_expressions=value is not None)
        return values.with_field(name, field_type, value, before)

    @with_old_keywords
    def drop_field(
        self,
        uid: str,
        state: str,
        name: str,
    ) -> SavepointWriter:
        """Leaves out a field of the POJOs, or of the rows of SQL, in a state.

        Arguments and errors are those of ``rename_field``. Later fields of a row move up.

        Example:
            >>> savepoint.drop_field("stateful", "customer", "tags").write("s3://jobs/smaller")
        """
        values = self._values(uid, state)
        return values.edited(name, dropped_field)

    @with_old_keywords
    def widen_field(
        self,
        uid: str,
        state: str,
        name: str,
        field_type: TypeInformation | str,
    ) -> SavepointWriter:
        """Gives a field a type that holds all values of the present one.

        ``name`` and the options are those of ``rename_field``. ``field_type`` is written as for
        ``add_field``: ``LONG`` for ``INT``, ``DOUBLE`` for ``FLOAT``, a ``DECIMAL`` of more digits.

        Raises:
            OperatorNotFoundError, StateNotFoundError, FieldNotFoundError: As ``rename_field``.
            SchemaChangeError: The type does not hold all values.

        Example:
            >>> savepoint.widen_field("stateful", "customer", "purchases", Types.LONG())
        """
        values = self._values(uid, state)
        return values.with_widened_field(name, field_type)

    @with_old_keywords
    def update_state(
        self,
        uid: str,
        state: str,
        expression: Column | str,
        *,
        where: Column | str | None = None,
        last_access: Column | str | None = None,
    ) -> SavepointWriter:
        """Gives a state other values of its type; values with a time to live keep their time.

        Elements of a list and entries of a map keep their own times: entries by their keys, elements
        by their values if others are added, removed or moved, and by their places if values change.

        ``write`` raises ``SchemaChangeError`` if Spark can't hold a value of the state exactly,
        such as nanoseconds unless ``with_forms`` says how they are shown. It raises
        ``UnencodableError`` if a POJO that was not decoded has changed.

        Args:
            uid: The operator's uid, or the hash of one.
            state: The state: keyed, list, union or broadcast.
            expression: The new value, over the columns of the state's table: ``key`` and all
                states of the key, or ``value``. A key whose new value is null has nothing in the
                state any more.
            where: Condition for the rows to change; all by default.
            last_access: The last access of values with a time to live that are new: an expression
                that gives a timestamp, or milliseconds. For a list it may also give an array with a
                time per element, for a map a map with a time per key; then a time that is not null
                replaces an old one. By default it is the time of this call.

        Raises:
            OperatorNotFoundError, StateNotFoundError: As ``rename_state``.
            ColumnTypeError: The expression does not fit the type of the state, or ``last_access``
                gives no times.
            ValueError: ``last_access`` is given, but the state has no time to live.
            AnalysisException: Spark can't evaluate it over the columns.

        Example:
            >>> from pyspark.sql.functions import abs
            >>> savepoint.update_state("summarize", "total", abs("total"), where="count > 1")
        """
        values = self._values(uid, state, has_expressions=True)
        return values.with_values(expression, where, last_access)

    @with_old_keywords
    def delete_keys(
        self,
        uid: str,
        where: Column | str,
    ) -> SavepointWriter:
        """Leaves keys of an operator out: all their states, windows and timers.

        ``write`` raises ``UnencodableError`` if keys have a type that can't be written, and
        ``UnstableHashError`` if the end of a key is not known.

        Args:
            uid: The operator's uid, or the hash of one.
            where: A condition. It deletes a key if a row of the key fulfils it, in any table of the
                operator that has its columns.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            ColumnNotFoundError: No table of the operator's keyed state has the columns.

        Example:
            >>> savepoint.delete_keys("summarize", "total = 0").write("s3://jobs/cleaned")
        """
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

        writer = self.writer().ready_for(StageRule.CONDITION, uid)
        spark = writer.session()
        return writer.changed(
            uid, lambda operator: operator.without_keys(spark, where, writer.forms)
        )

    def merge_local(self, uid: str, merge: Mapping[str, Merge] | None = None) -> SavepointWriter:
        """Makes the local state of an operator ordinary keyed state, which Flink can restore.

        The instances of a key in all subtasks become one, in the subtask that owns its key group.
        Lists are appended. ``write`` raises ``MergeError`` if instances can't be merged, such as
        longs with too large a sum.

        Args:
            uid: The operator's uid, or the hash of one.
            merge: State -> how two instances become one, for each state that is not a list: a rule
                by its name (``sum``, ``min``, ``max``, ``concat``), a function of two values, or an
                object with such a function ``merge``, like an ``AggregateFunction``. A reducing state
                takes its reduce function; for a map state, the values are those of a user key.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: It has no local state, or none of a name in ``merge``.
            MergeError: A state that is not a list is not in ``merge``.
            ColumnTypeError: A rule cannot merge values of a state's type.
            ValueError: There is no such rule, or a list is in ``merge``.

        Example:
            >>> merged = savepoint.merge_local("count_words", {"count": "sum"})
            >>> merged.write("s3://jobs/for-flink")
        """
        return self.writer().changed(uid, lambda operator: operator.with_merged(merge or {}))

    def sql_migrate(
        self,
        new_plan: PathText,
        *,
        matches: PathText | Mapping[int, int | None] | None = None,
        allow_loss: bool = False,
        accept: Collection[str] = (),
        renames: Mapping[str, str] | None = None,
    ) -> SavepointWriter:
        """Gives the state of a SQL job the form that a changed query restores.

        The savepoint must be opened with the plan of the job that wrote it. Operators get the uids
        of the new plan. Columns of keys and values get their new order; new columns are null,
        others are removed or get wider types. Accumulators go to their aggregate calls; new
        aggregates begin empty. Values get a time of access if they now live for a limited time.
        Timers and windows come along.

        Args:
            new_plan: File with the compiled plan of the new query.
            matches: As for ``sql_diff``.
            allow_loss: Leaves out state that the new query can't use, and lets operators that need
                history begin empty.
            accept: Names of new aggregates that may begin empty, and of new columns without which
                old rows can't be taken back.
            renames: New names of columns of tables, by their old names; ``orders.id`` is the column
                of one table, ``id`` that of all tables.

        Returns:
            A writer; its ``sql_changes`` say what becomes of each operator.

        Raises:
            PlanError: The savepoint was opened without a plan, or a file is not a plan.
            MigrationError: State would be lost, or an operator would lack its history; the message
                names all such operators.
            NotAcceptedError: An aggregate begins empty, or rows with a new column can't be taken
                back, and ``accept`` doesn't name it.
            SavepointError: A state file can't be read.

        Example:
            >>> old = Savepoint.load(spark, "s3://jobs/orders/savepoint-1a2b", plan="orders-v1.json")
            >>> old.sql_migrate("orders-v2.json").write("s3://jobs/orders/for-v2")
        """
        from savepoint_extensions.sql_jobs.sql_migration import SqlMigration  # noqa: PLC0415  # comparing plans is slow to import

        migration = SqlMigration.of(self.writer(), new_plan, matches, renames or {})
        return migration.migrated(allow_loss=allow_loss, accept=accept)

    def _values(
        self,
        uid: str,
        state: str,
        *,
        has_expressions: bool = False,
    ) -> ValueChanges:
        """Changes of the values of a state; only expressions need a session."""
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow
        from state_processor.savepoint.value_changes import ValueChanges  # noqa: PLC0415  # Spark is slow

        rule = StageRule.VALUES if has_expressions else StageRule.FIELDS
        writer = self.writer().ready_for(rule, uid)
        spark = writer.session() if has_expressions else writer.spark
        return ValueChanges(writer, spark, uid, state)
