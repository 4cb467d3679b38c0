"""A snapshot as a database: its operators, their tables, and their files.

``Savepoint``, the class for users, can also be written anew.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.snapshot.description import (
    ColumnDescription,
    FileDescription,
    SavepointDescription,
    TableDescription,
    describe_files,
)
from savepoint_database.snapshot.opening import (
    QUERY_NODES,
    OpeningOptions,
    given_plan,
    given_types,
    kryo_of,
    opening_of,
    read_metadata,
)
from savepoint_database.snapshot.operator import Operator, id_called, names_by_id, short_ids
from savepoint_database.snapshot.retained import read_newest
from savepoint_database.snapshot.sql_tables import SqlTables
from savepoint_database.snapshot.value_forms import DEFAULT_FORMS, ValueForms, with_old_keywords
from savepoint_formats.errors import OperatorNotFoundError, PlanError
from savepoint_formats.key_groups import CHUNK_SIZE
from savepoint_formats.lazy_names import named
from savepoint_formats.locations import PathRules, is_live, path_text
from savepoint_formats.printable import html_records, without_secrets
from savepoint_formats.savepoint_warnings import UnreadTableWarning
from savepoint_formats.scan import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.snapshot.key_types import GivenType, StateTypes
    from savepoint_database.snapshot.opening import QueryNode, QueryPlan
    from savepoint_database.types.class_library import DescribedClasses
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations import PathText, SnapshotDirectory
    from savepoint_formats.metadata import CheckpointMetadata
    from savepoint_formats.scan import MergeInstances, TableScan, UndescribedSubclasses
    from savepoint_formats.tables import Table
    from savepoint_formats.values import KryoDialect, Nanoseconds


_OPENS_LATEST = "savepoint_extensions.live_jobs.live_jobs:open_latest"
"""Opens the newest snapshot of a running job; HTTP is slow to import."""


@dataclass(frozen=True, repr=False)
class Snapshot:
    """A savepoint or checkpoint; holds no data, and needs no Spark.

    Attributes:
        path: The user's path.
        metadata: Content of the ``_metadata`` file.
        directory: Directory of its files.
        kryo: Dialect of Kryo's bytes: its version, and the classes that the user described.
        plan: The compiled plan of the job, if the user gave it.
        metadata_bytes: The ``_metadata`` file as it was when it was opened.
        forms: The forms of values that have no exact column, see ``with_forms``.
    """

    path: str
    metadata: CheckpointMetadata
    directory: SnapshotDirectory
    kryo: KryoDialect
    _operators: tuple[Operator, ...]
    plan: QueryPlan | None
    metadata_bytes: bytes
    forms: ValueForms = field(default=DEFAULT_FORMS, kw_only=True)

    @classmethod
    def open(
        cls,
        path: PathText,
        *,
        uids: Iterable[str] = (),
        kryo_classes: DescribedClasses = (),
        allow_paths: Iterable[PathText] = (),
        strict_paths: bool = False,
        key_types: Mapping[str, GivenType] | None = None,
        plan: PathText | None = None,
        types: StateTypes | None = None,
    ) -> Self:
        """Opens a savepoint or checkpoint of any Flink release from 1.8 on.

        Args:
            path: Its directory or ``_metadata`` file: a local path as text or ``Path``, or a URI of a file system
                that pyarrow knows (``file:``, ``s3:``, ``gs:``, ``hdfs:``...). A directory of checkpoints or
                savepoints stands for its newest complete one, ``flink://host:8081/JOB`` for the newest of a
                running job.
            uids: Uids of operators. Flink 1.x stores only their hashes; an operator gets its name from here.
                All uids of a job are allowed, even if the savepoint lacks some operators.
            kryo_classes: Classes of the job that Kryo wrote, because no savepoint knows their fields; see
                ``kryo_class``. State of such a class is then a struct. Or a file of YAML or JSON that
                describes them.
            allow_paths: Local directories and URIs. Files of the savepoint on another store
                (scheme and host, or bucket) are followed only below these.
            strict_paths: Follow no other path out of the directories of the savepoint and of its
                checkpoint, not even on its own store.
            key_types: Uid or hash of an operator -> the type of its keys, as ``Types.STRING()`` or ``"STRING"``. Only
                used if no file has it: if a changelog was never materialized and has no timers.
            plan: File with the compiled plan of a SQL job, as ``COMPILE PLAN`` writes it. Operators get
                their uids, and rows the names of the query's columns.
            types: Uid or hash of an operator of a PyFlink job -> state -> its type in the words of
                PyFlink, such as ``"ListState(Types.LONG())"``; ``"key"`` -> the type of its keys.
                Or a YAML file of the same, as ``savepoint types`` prints it. States without a type
                are shown as pickles.

        Raises:
            SavepointNotFoundError: Nothing is there, or a directory without ``_metadata``.
            JobNotFoundError, AmbiguousJobError: The cluster has no such job, or several.
            ClusterError: The cluster refuses, or does not answer as Flink does.
            NotASavepointError: A file of another kind is there.
            FormatError: The ``_metadata`` file is damaged, or of an unknown version.
            DescriptionError: ``types`` has a text that is not a type.
            TypeError: The path or a uid is not a text, or ``uids`` is not a list.
            ValueError: A uid is empty.
            PlanError: The file is not a compiled plan, or none of its operators is in the savepoint.

        Warns:
            NewestSnapshotWarning: The path holds several snapshots; the message and the attribute
                ``path`` name the chosen one.
            UnknownUidWarning: No operator has one of the uids.

        Example:
            >>> Savepoint.open("sample_savepoints/currency-1.20.5-hashmap-canonical")
        """
        opening = opening_of(
            uids=uids,
            kryo_classes=kryo_classes,
            allow_paths=allow_paths,
            strict_paths=strict_paths,
            key_types=key_types,
            plan=plan,
            types=types,
        )
        opened = partial(cls._opened, opening)
        path = path_text(path)
        rules = PathRules.of(allow_paths, is_strict=strict_paths)
        if is_live(path):
            latest: Self = named(_OPENS_LATEST)(path, rules, opened)
            return latest
        return opened(*read_newest(path, rules), {})

    @classmethod
    def _opened(
        cls,
        opening: OpeningOptions,
        path: str,
        directory: SnapshotDirectory,
        data: bytes,
        vertices: Mapping[str, str],
    ) -> Self:
        metadata = read_metadata(directory, data, vertices)
        names = names_by_id(metadata, opening["uids"], path)
        kryo = kryo_of(metadata, opening["kryo_classes"])
        compiled, planned = given_plan(opening["plan"], metadata, path)
        keys, texts = given_types(opening["key_types"], opening["types"], metadata, path)
        operators = tuple(
            Operator(
                record,
                names.get(record.operator_id) or record.uid or uid,
                directory,
                replace(kryo, python_types=texts.get(record.operator_id, ())),
                keys.get(record.operator_id),
                rows,
            )
            for record in metadata.operators
            for uid, rows in (planned.get(record.operator_id, (None, None)),)
        )
        return cls(path, metadata, directory, kryo, operators, compiled, data)

    def with_forms(
        self,
        *,
        nanoseconds: Nanoseconds | None = None,
        undescribed_subclasses: UndescribedSubclasses | None = None,
    ) -> Self:
        """Shows values that have no exact column in other forms.

        All reads, queries and changes of the returned savepoint show values in these forms, and
        expressions see them so. A form that is None stays as it is.

        Args:
            nanoseconds: Times with digits below the microseconds of Spark and files; Arrow has all digits.
                ``refuse``, the default, raises ``InexactTimeError`` if such a digit is not 0. ``struct``
                (``seconds`` and ``nanos`` since the epoch) and ``text`` have all digits and can be
                written again. ``truncate`` cuts them off.
            undescribed_subclasses: POJOs whose subclass no snapshot describes. ``refuse``, the default,
                raises ``UndecodableError``. ``bytes`` shows the bytes and the reason in a field
                ``$undecoded``; fields that it hides are null. Such a value is written back as its bytes.
                ``rest`` also leaves out elements and entries that it hides.

        Raises:
            ValueError: There is no such form.

        Example:
            >>> exact = Savepoint.load(spark, "s3://jobs/savepoint-1a2b").with_forms(nanoseconds="struct")
            >>> exact.read_keyed_state("orders").select("at.seconds", "at.nanos").show()
        """
        forms = self.forms.changed(
            nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses
        )
        return replace(self, forms=forms)

    def operators(self) -> tuple[Operator, ...]:
        """The operators, in the order of the file."""
        return self._operators

    def operator(self, uid: str) -> Operator:
        """The operator with this uid, hash or name, or with a hash that begins with these digits.

        Args:
            uid: The uid, the hash, four or more of the first digits of the hash, or the name of the
                operator in the job, which Flink 2 stores.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            AmbiguousOperatorError: Several hashes begin so, or several operators have this name; the
                message lists them.
        """
        names = {operator.id: operator.record.name for operator in self._operators}
        operator_id = id_called(uid, self._uids, names, self.path)
        return next(operator for operator in self._operators if operator.id == operator_id)

    def short_ids(self) -> dict[str, str]:
        """Hash of each operator -> its shortest unique beginning, of 8 digits or more."""
        return short_ids(self._uids)

    @property
    def _uids(self) -> dict[str, str | None]:
        return {operator.id: operator.uid for operator in self._operators}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({without_secrets(self.path)!r}, checkpoint {self.metadata.checkpoint_id},"
            f" {len(self._operators)} operators)"
        )

    def _repr_html_(self) -> str:
        tables = self.tables()
        problems = ["problems"] * any(table.problems for table in tables)
        return html_records(repr(self), tables, ("table", "columns", "kinds", *problems))

    def describe(self) -> SavepointDescription:
        """The savepoint on one page. Reads the headers of all state files."""
        size = len(self.metadata_bytes)
        return SavepointDescription.of(self.path, self.metadata, self._operators, size)

    def query(self) -> list[QueryNode]:
        """The query's operators as a tree, from its sinks to its sources. Counts all rows.

        Raises:
            PlanError: The savepoint was opened without the plan of its job.
        """
        if self.plan is None:
            raise PlanError("only a plan tells a query's operators: open the savepoint with plan=")
        return list(named(QUERY_NODES)(self.plan, self._operators))

    def tables(self) -> list[TableDescription]:
        """All tables, operator by operator. Reads the headers of all state files.

        Tables whose files are missing or damaged are included, with their problems.
        """
        names = {table.full_name: table.sql for table in SqlTables(self._operators)}
        return [
            described
            for operator in self._operators
            for described in TableDescription.of_operator(operator, names)
        ]

    def schema(self, table: str | None = None) -> list[ColumnDescription]:
        """Columns of one table, or of all.

        Args:
            table: ``<operator>.<table>``, the operator by its uid or hash.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: The operator has no such table; the message lists its tables.

        Warns:
            UnreadTableWarning: A table is left out because its files can't be read.
        """
        if table is not None:
            operator, shown = self.table(table)
            return list(ColumnDescription.of_table(operator, shown))
        self.warn_of_unread_tables()
        return [
            column
            for operator in self._operators
            for shown in operator.readable_tables
            for column in ColumnDescription.of_table(operator, shown)
        ]

    def warn_of_unread_tables(self) -> None:
        """Warns of each table that is left out because its files are missing or damaged."""
        for described in self.tables():
            if not described.columns:
                others = len(described.problems) - 1
                more = f" (and {others} more)" if others else ""
                problem = f"{described.problems[0]}{more}"
                message = f"table {described.table} could not be read: {problem}"
                warnings.warn(message, UnreadTableWarning, stacklevel=3)

    def table(self, name: str) -> tuple[Operator, Table]:
        """The operator and the table of a full name, ``<operator>.<table>``.

        Uids and names of states may contain dots: the longest uid that fits decides.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: The operator has no such table; the message lists its tables.
        """
        operator, shown = self._named(name)
        return operator, operator.table(shown)

    def _named(self, name: str) -> tuple[Operator, str]:
        """The operator of a full name, and the rest of the name."""
        if not isinstance(name, str):
            raise TypeError(f"a table is {name!r}, expected a text such as 'summarize.keyed_state'")
        dots = [position for position, letter in enumerate(name) if letter == "."]
        for dot in filter(None, reversed(dots)):
            with suppress(OperatorNotFoundError):
                return self.operator(name[:dot]), name[dot + 1 :]
        with suppress(OperatorNotFoundError):
            raise self.operator(name).without_table()
        names = (operator.name for operator in self._operators)
        raise OperatorNotFoundError.among(self.path, name.partition(".")[0], names)

    @with_old_keywords
    def scan(  # noqa: PLR0913  # the options of a read
        self,
        table: str,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        flat: str | None = None,
        merge: Mapping[str, str | MergeInstances] | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        with_times: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
    ) -> TableScan:
        """The scan of a table, which reads Arrow without Spark.

        Args:
            table: Its full name, ``<operator>.<table>``, the operator by its uid or hash.
            columns: Names of columns in the desired order; all by default.
            keys: Reads only rows of these keys, from their key groups. A key has the form of
                ``to_pylist``, a struct is a dict, or is the text that ``savepoint key`` takes.
            key_groups: Reads only rows of these key groups: ``3`` or ``"0-15"``.
            flat: The name of a list or map state. A row is then an element (``list_index``, ``list_value``) or an
                entry (``map_key``, ``map_value``), not a key.
            merge: State -> how its instances of local state are merged: a rule (``sum``, ``min``, ``max``,
                ``concat``), or a function from an Arrow array of lists to a value per list.
            with_key_group: Adds the column ``key_group``, also to ``columns``.
            with_subtask: Adds the column ``subtask``; each copy of broadcast state is then read.
            with_scope: Adds the column ``scope``: ``keyed`` or ``local``.
            with_times: Makes values with TTL a struct of ``timestamp``, the time of their last access, and ``value``.
            chunk_size: The size in bytes beyond which a key group is decoded chunk by chunk; None never
                divides one.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: The operator has no such table; the message lists its tables. Or ``flat``
                names no list or map.
            ColumnNotFoundError: There is no such column.
            KeyTypeError: A key does not fit the table's keys.
            TypeError: An option has a wrong type, such as a text for a list of keys.
            ValueError: An option has an invalid value.

        Example:
            >>> scan = savepoint.scan("summarize.keyed_state", columns=["key", "total"])
            >>> for batch in scan.batches():
            ...     print(batch.num_rows)
        """
        options = ReadOptions.of(self.forms.beside(locals()))
        operator, name = self._named(table)
        return operator.look_up(name, options)

    def files(self) -> list[FileDescription]:
        """Every file of the savepoint, its references, and whether it is missing."""
        return list(describe_files(self.directory, self._operators))
